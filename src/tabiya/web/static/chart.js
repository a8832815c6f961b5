// Curves: a few series over a common axis, as SVG that follows the page's colours.

import { h, s } from "./dom.js";

const PALETTE = ["#1f77c9", "#d1495b", "#2a9d4a", "#8e5bc7", "#c77700", "#0f8b8d", "#76808a", "#b5559c", "#5b7b2d", "#3d5a80", "#a05a2c", "#4f86c6"];
const [WIDTH, HEIGHT, LEFT, BOTTOM, TOP, RIGHT] = [560, 240, 46, 26, 10, 10];

const short = (value) => {
  const size = Math.abs(value);
  if (size >= 1e6) return `${+(value / 1e6).toPrecision(3)} M`;
  if (size >= 1e4) return `${+(value / 1e3).toPrecision(3)} k`;
  return String(+value.toPrecision(3));
};

/** Labels that differ where the ticks do. */
const labels = (values) => {
  for (let digits = 3; digits < 8; digits++) {
    const texts = values.map((value) => (Math.abs(value) >= 1e4 ? short(value) : String(+value.toPrecision(digits))));
    if (new Set(texts).size === texts.length) return texts;
  }
  return values.map(String);
};

function ticks(low, high, about) {
  const raw = (high - low) / about || 1;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((each) => each * power).find((each) => each >= raw);
  const found = [];
  for (let at = Math.ceil(low / step) * step; at <= high + step * 1e-6; at += step) found.push(at);
  return found;
}

/** `series`: [{name, colour?, points: [[x, y], …]}]; `range`: [low, high] of y, or what the points need. */
export function lineChart({ title, series, range = null, xName = "", mark = null, onpick = null }) {
  const drawn = series.map((each, at) => ({ colour: PALETTE[at % PALETTE.length], ...each, points: each.points.filter(([, y]) => y !== null) }));
  const xs = drawn.flatMap((each) => each.points.map(([x]) => x));
  const ys = drawn.flatMap((each) => each.points.map(([, y]) => y));
  let [x0, x1] = xs.length ? [Math.min(...xs), Math.max(...xs)] : [0, 1];
  let [y0, y1] = range ?? (ys.length ? [Math.min(...ys), Math.max(...ys)] : [0, 1]);
  if (x0 === x1) [x0, x1] = [x0 - 0.5, x1 + 0.5];
  if (y0 === y1) [y0, y1] = [y0 - 0.5, y1 + 0.5];
  const px = (x) => LEFT + ((x - x0) / (x1 - x0)) * (WIDTH - LEFT - RIGHT);
  const py = (y) => HEIGHT - BOTTOM - ((Math.min(y1, Math.max(y0, y)) - y0) / (y1 - y0)) * (HEIGHT - BOTTOM - TOP);
  const heights = ticks(y0, y1, 4);
  const grid = [
    ...heights.map((y, at) => s("g", {}, s("line", { x1: LEFT, x2: WIDTH - RIGHT, y1: py(y), y2: py(y), class: "grid" }),
      s("text", { x: LEFT - 5, y: py(y) + 4, "text-anchor": "end" }, labels(heights)[at]))),
    ...ticks(x0, x1, 6).map((x) => s("text", { x: px(x), y: HEIGHT - 8, "text-anchor": "middle" }, short(x))),
  ];
  const lines = drawn.map((each) => {
    const path = each.points.map(([x, y], at) => `${at ? "L" : "M"}${px(x).toFixed(1)} ${py(y).toFixed(1)}`).join("");
    const dots = each.points.length < 3 ? each.points.map(([x, y]) => s("circle", { cx: px(x), cy: py(y), r: 3, fill: each.colour })) : [];
    return s("g", {}, s("path", { d: path, class: "curve", stroke: each.colour }), dots);
  });
  const marks = mark === null ? [] : [s("line", { x1: px(mark), x2: px(mark), y1: TOP, y2: HEIGHT - BOTTOM, class: "mark" })];
  const last = drawn.map((each) => (each.points.length ? `${each.name} ${short(each.points.at(-1)[1])}` : `${each.name}: none`));
  const picture = s("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": `${title}. At the end: ${last.slice(0, 12).join(", ")}` }, grid, marks, lines);
  if (onpick) {
    picture.addEventListener("click", (event) => {
      const box = picture.getBoundingClientRect();
      onpick(x0 + (((event.clientX - box.x) / box.width) * WIDTH - LEFT) / (WIDTH - LEFT - RIGHT) * (x1 - x0));
    });
  }
  const legend = drawn.length > 1
    ? h("ul", { class: "legend" }, drawn.map((each) => h("li", {}, h("span", { class: "dot", css: { background: each.colour } }), each.name)))
    : null;
  return h("figure", { class: "chart" }, h("figcaption", {}, title, xName ? h("small", {}, ` over ${xName}`) : null), picture, legend);
}
