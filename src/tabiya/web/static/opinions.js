// The same position, every mind's opinion side by side, and where they part.

import { Analysis, outlookBar } from "./analysis.js";
import { ask, minds } from "./api.js";
import { h, percent, replace, shownScore, store } from "./dom.js";

export async function mount(root) {
  const { minds: listing } = await minds();
  const atHand = listing.filter((mind) => !mind.missing);
  const missing = listing.filter((mind) => mind.missing);
  const hidden = new Set(store.read("silent", ["random"]));
  let asking = new AbortController();
  let opinions = {};
  let current = null;

  const summary = h("p", { class: "status", role: "status", "aria-live": "polite" });
  const cards = h("div", { class: "minds" });
  const analysis = new Analysis({ onposition: consult });
  const chips = h("div", { class: "chips", role: "group", "aria-label": "Minds to ask" }, atHand.map((mind) => {
    const box = h("input", { type: "checkbox", checked: !hidden.has(mind.name), onchange: () => {
      if (box.checked) hidden.delete(mind.name);
      else hidden.add(mind.name);
      store.write("silent", [...hidden]);
      consult(current);
    } });
    return h("label", { class: "check" }, box, h("span", { class: "dot", css: { background: mind.colour } }), mind.title);
  }));
  replace(root, h("h1", {}, "Opinions"),
    h("div", { class: "table" },
      h("section", { class: "left", "aria-label": "Board" }, analysis.board.element),
      h("section", { class: "right", "aria-label": "Position" }, summary, chips, analysis.controls)),
    h("h2", {}, "Side by side"), cards,
    missing.length ? h("p", {}, h("small", {}, missing.map((mind) => `${mind.title}: ${mind.missing}. `))) : null);

  function consult(asked) {
    if (!asked) return;
    current = asked;
    asking.abort();
    asking = new AbortController();
    opinions = {};
    replace(cards);
    analysis.decorate({ arrows: [] });
    const over = asked.position.outcome;
    if (over && !Object.keys(asked.position.legal).length) {
      summary.textContent = `${over[0]}, ${over[1]}.`;
      return;
    }
    summary.textContent = "Asking.";
    const signal = asking.signal;
    for (const mind of atHand.filter((each) => !hidden.has(each.name))) {
      const card = h("article", { class: "opinion", css: { borderLeftColor: mind.colour }, "aria-busy": "true", "data-mind": mind.name },
        h("h3", {}, mind.title), h("p", { class: "said" }, "thinking…"));
      cards.append(card);
      ask("opinion", { mind: { name: mind.name }, fen: asked.fen, moves: asked.moves }, signal)
        .then((opinion) => {
          if (signal.aborted) return;
          opinions[mind.name] = opinion;
          show(card, mind, opinion, asked.position.white_to_move);
          part();
        })
        .catch((error) => {
          if (error.name === "AbortError") return;
          card.removeAttribute("aria-busy");
          replace(card, h("h3", {}, mind.title), h("p", { class: "problem" }, error.message));
        });
    }
  }

  function show(card, mind, opinion, whiteToMove) {
    card.removeAttribute("aria-busy");
    const worth = (move) => (move.p !== null ? percent(move.p) : move.score !== null ? shownScore(move.score) : "");
    const rows = opinion.moves.slice(0, 5).map((move) => h("tr", {}, h("td", {}, move.san), h("td", {}, worth(move))));
    const words = [];
    if (opinion.score !== null) words.push(`score ${shownScore(opinion.score)}`);
    if (opinion.nodes) words.push(`${opinion.nodes.toLocaleString("en")} ${opinion.nodes === 1 ? "look" : "nodes"}`);
    words.push(`${Math.round(opinion.ms)} ms`);
    replace(card,
      h("h3", {}, mind.title, h("b", {}, opinion.san)),
      outlookBar(opinion, whiteToMove) ?? h("p", { class: "said" }, "It has no opinion of who stands better."),
      rows.length > 1 ? h("table", { "aria-label": `Moves of ${mind.title}` }, h("tbody", {}, rows)) : null,
      opinion.line.length > 1 ? h("p", { class: "said" }, `Line: ${opinion.line.join(" ")}`) : null,
      h("p", { class: "said" }, words.join(" · ")));
  }

  /** Arrows, and one sentence on who is for what. */
  function part() {
    const known = atHand.filter((mind) => opinions[mind.name]);
    analysis.decorate({ arrows: known.map((mind) => ({ move: opinions[mind.name].move, colour: mind.colour, name: mind.name })) });
    const votes = {};
    for (const mind of known.filter((each) => each.name !== "random")) (votes[opinions[mind.name].san] ??= []).push(mind.title);
    const sides = Object.entries(votes).sort((a, b) => b[1].length - a[1].length);
    if (!sides.length) summary.textContent = "";
    else if (sides.length === 1) summary.textContent = sides[0][1].length > 1 ? `All agree on ${sides[0][0]}.` : `${sides[0][1][0]}: ${sides[0][0]}.`;
    else summary.textContent = `They part: ${sides.map(([san, names]) => `${san} (${names.join(", ")})`).join(", ")}.`;
  }

  await analysis.open();
  return () => {
    asking.abort();
    analysis.close();
  };
}
