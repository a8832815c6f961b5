// A board without an opponent: any position, any legal move, and back again. Opinions and Why stand on it.

import { ask } from "./api.js";
import { Board } from "./board.js";
import { h, store } from "./dom.js";
import { Moves } from "./moves.js";
import { startField } from "./picker.js";

export class Analysis {
  /** `onposition({fen, moves, position})` is told of every position that is looked at. */
  constructor({ onposition, onsquare = null }) {
    this.onposition = onposition;
    this.board = new Board({ label: "Chess board; arrow keys walk, Enter chooses", onmove: (move) => this.play(move), onsquare });
    this.moves = new Moves(() => this.walked());
    this.problem = h("p", { class: "problem", role: "alert", hidden: true });
    this.position = null;
    this.extras = {};
    const start = startField();
    const set = h("form", { class: "set", onsubmit: (event) => {
      event.preventDefault();
      this.load({ start: start.area.value });
    } }, start.element, h("div", { class: "buttons" },
      h("button", { type: "submit" }, "Set up"),
      h("button", { type: "button", onclick: () => this.load({ start: "" }) }, "Usual start"),
      h("button", { type: "button", onclick: () => this.board.flip() }, "Flip")));
    this.controls = h("div", {}, this.problem, this.moves.element, set);
  }

  open() {
    const kept = store.read("position", { fen: "", moves: [] });
    return this.load({ fen: kept.fen, moves: kept.moves }).then((done) => done || this.load({ start: "" }));
  }

  /** Ask the server for a line; what is wrong with it is said, and the old one stays. */
  async load(wish) {
    this.problem.hidden = true;
    try {
      const found = await ask("position", wish);
      this.moves.set(found.start_fen, found.moves);
      this.moves.at = found.moves.length;
      this.show(found.position);
      return true;
    } catch (error) {
      this.problem.textContent = error.message;
      this.problem.hidden = false;
      return false;
    }
  }

  get line() {
    return { fen: this.moves.start, moves: this.moves.moves.slice(0, this.moves.at).map((each) => each.move) };
  }

  async walked() {
    const line = this.line;
    try {
      const found = await ask("position", line);
      if (JSON.stringify(line) === JSON.stringify(this.line)) this.show(found.position);
    } catch (error) {
      this.problem.textContent = error.message;
      this.problem.hidden = false;
    }
  }

  play(move) {
    const { fen, moves } = this.line;
    return this.load({ fen, moves: [...moves, move] });
  }

  show(position) {
    this.position = position;
    store.write("position", this.line);
    this.extras = {};
    this.draw();
    this.onposition({ ...this.line, position });
  }

  /** Arrows, heat and the like, over the position. */
  decorate(extras) {
    this.extras = { ...this.extras, ...extras };
    this.draw();
  }

  draw() {
    if (!this.position) return;
    const { fen, legal, check } = this.position;
    this.board.set(fen, { legal, check, last: this.moves.last, ...this.extras });
  }

  close() {
    this.moves.close();
  }
}

/** Win, draw and loss as a bar with White on the left, whoever is to move. */
export function outlookBar(opinion, whiteToMove) {
  let shares = null;
  if (opinion.wdl) shares = whiteToMove ? opinion.wdl : [...opinion.wdl].reverse();
  else if (opinion.points !== null) {
    const white = whiteToMove ? opinion.points : 1 - opinion.points;
    shares = [white, 0, 1 - white];
  }
  if (!shares) return null;
  const text = (share) => (share > 0.12 ? `${Math.round(100 * share)}` : "");
  const parts = ["white", "draw", "black"].map((name, at) =>
    h("span", { class: name, css: { width: `${100 * shares[at]}%` } }, text(shares[at])));
  const label = `White ${Math.round(100 * shares[0])} %, draw ${Math.round(100 * shares[1])} %, Black ${Math.round(100 * shares[2])} %`;
  return h("div", { class: "bar", role: "img", "aria-label": label, title: label }, parts);
}

export const emptyState = (...words) => h("p", { class: "empty" }, words);
