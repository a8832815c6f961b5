// The pieces, drawn for this page in a square of 48. Colours come from the style sheet.

import { s } from "./dom.js";

const FOOT = "M12 42h24v-3.2c0-1.3-1-2.3-2.3-2.3H14.3c-1.3 0-2.3 1-2.3 2.3z";

// Each: outlines to fill, circles to fill, lines of detail.
const SHAPES = {
  p: {
    outlines: ["M17.6 36.5c1.7-4 3.5-7.3 3.8-12.5h5.2c.3 5.2 2.1 8.5 3.8 12.5z", "M17.8 24h12.4l-1.8-3.6h-8.8z", FOOT],
    circles: [[24, 14.8, 6.6]],
    lines: [],
  },
  r: {
    outlines: ["M17.6 19.4h12.8l1.8 17.1H15.8z", "M13.6 7.6h5v3.6h3V7.6h4.8v3.6h3V7.6h5v8.6l-3.6 3.2H17.2l-3.6-3.2z", FOOT],
    circles: [],
    lines: ["M17.4 32h13.2"],
  },
  n: {
    outlines: [
      "M15.4 36.5c-.5-6.6 2.4-10 6.2-13.6-2.6.2-4.6 1.4-6 3.2-1.5 1.9-3.8 2.2-5.1.8-1.2-1.3-.9-3.1.4-4.6l5.2-7.9c.8-2.4 2.2-4.1 4.4-5.3l.5-4.3 4.2 3.5c8.9.9 13.7 8.3 13.1 18.5-.2 3.8-.7 6.7-.5 9.7z",
      FOOT,
    ],
    circles: [],
    lines: ["M28.4 11.6c4 2.4 6 6.9 5.6 12.6", "M19.3 15.2l.9-.4", "M12.6 24.2l.7-.5"],
  },
  b: {
    outlines: [
      "M24 9.4c6 4.5 8.6 9 8.6 13.2 0 3-1.6 5.1-4 6.4h-9.2c-2.4-1.3-4-3.4-4-6.4 0-4.2 2.6-8.7 8.6-13.2z",
      "M17.6 29h12.8l1 3.4H16.6z",
      "M16.8 32.4h14.4l1.6 4.1H15.2z",
      FOOT,
    ],
    circles: [[24, 7.2, 2.6]],
    lines: ["M24 15.4v8.4", "M20.2 19.4h7.6"],
  },
  q: {
    outlines: [
      "M9.8 14.4l5.2 7.2 2.8-11.2 4 10.4L24 8.4l2.2 12.4 4-10.4L33 21.6l5.2-7.2-4.4 16.8H14.2z",
      "M14.2 31.2h19.6l1 5.3H13.2z",
      FOOT,
    ],
    circles: [[9.6, 12.8, 1.9], [17.6, 8.8, 1.9], [24, 6.8, 1.9], [30.4, 8.8, 1.9], [38.4, 12.8, 1.9]],
    lines: ["M16 33.9h16"],
  },
  k: {
    outlines: [
      "M22.4 3.4h3.2v3.2h3.2v3.1h-3.2v4h-3.2v-4h-3.2V6.6h3.2z",
      "M24 14.2c3.2-2.8 12.8-2.2 13.4 5.2.4 4.9-3.8 8.4-5.2 11.8H15.8c-1.4-3.4-5.6-6.9-5.2-11.8.6-7.4 10.2-8 13.4-5.2z",
      "M15.2 31.2h17.6l1.2 5.3H14z",
      FOOT,
    ],
    circles: [],
    lines: ["M24 15v16", "M16.4 33.9h15.2"],
  },
};

const NAMES = { p: "pawn", r: "rook", n: "knight", b: "bishop", q: "queen", k: "king" };

/** "white knight" for "N". */
export const pieceName = (letter) => `${letter === letter.toLowerCase() ? "black" : "white"} ${NAMES[letter.toLowerCase()]}`;

export function drawPiece(letter) {
  const shape = SHAPES[letter.toLowerCase()];
  const colour = letter === letter.toLowerCase() ? "black" : "white";
  return s(
    "svg",
    { viewBox: "0 0 48 48", class: `piece ${colour}`, "aria-hidden": "true" },
    shape.outlines.map((d) => s("path", { d })),
    shape.circles.map(([cx, cy, r]) => s("circle", { cx, cy, r })),
    shape.lines.map((d) => s("path", { d, class: "detail" })),
  );
}
