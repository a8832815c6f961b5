// Making elements: the one place that touches document.createElement, so that no text is ever taken for markup.

const SVG = "http://www.w3.org/2000/svg";

function fill(element, properties, children) {
  for (const [name, value] of Object.entries(properties ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "css") Object.assign(element.style, value);
    else if (name in element && !(element instanceof SVGElement) && name !== "list") element[name] = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter((each) => each !== null && each !== undefined && each !== false));
  return element;
}

export const h = (tag, properties, ...children) => fill(document.createElement(tag), properties, children);
export const s = (tag, properties, ...children) => fill(document.createElementNS(SVG, tag), properties, children);

export function replace(element, ...children) {
  element.replaceChildren(...children.flat().filter(Boolean));
  return element;
}

/** A sentence for everyone at the foot of the page; read out by screen readers, gone after a while. */
let fading = 0;
export function notice(sentence, lasting = false) {
  const place = document.getElementById("notice");
  place.textContent = sentence;
  place.classList.toggle("shown", Boolean(sentence));
  clearTimeout(fading);
  if (sentence && !lasting) fading = setTimeout(() => notice(""), 6000);
}

export const percent = (share) => `${Math.round(100 * share)} %`;

/** Centipawns as pawns, a mate as its moves; as `Decision.score` writes them. */
export function shownScore(score) {
  const moves = 30000 - Math.abs(score);
  if (moves < 1000) return `${score < 0 ? "−" : ""}#${Math.round(moves)}`;
  return `${score < 0 ? "−" : "+"}${Math.abs(score / 100).toFixed(2)}`;
}

export const store = {
  read(name, fallback) {
    try {
      return JSON.parse(localStorage.getItem(`tabiya.${name}`)) ?? fallback;
    } catch {
      return fallback;
    }
  },
  write(name, value) {
    try {
      localStorage.setItem(`tabiya.${name}`, JSON.stringify(value));
    } catch {
      // Private windows may have no room: the page works, it only forgets.
    }
  },
};
