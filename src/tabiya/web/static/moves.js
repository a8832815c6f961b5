// A game's moves as a list to walk through, by click and by the keys ← → Home End.

import { h, replace } from "./dom.js";

export class Moves {
  /** `onwalk(ply)` is told which position is looked at: 0 is the start, the number of moves the end. */
  constructor(onwalk) {
    this.onwalk = onwalk;
    this.moves = [];
    this.start = "";
    this.at = 0;
    this.list = h("ol", { class: "moves", "aria-label": "Moves", tabIndex: 0 });
    const button = (text, label, to) =>
      h("button", { type: "button", class: "quiet", "aria-label": label, onclick: () => this.walk(to()) }, text);
    this.buttons = h("div", { class: "walk" },
      button("«", "First position", () => 0),
      button("‹", "One move back", () => this.at - 1),
      button("›", "One move forward", () => this.at + 1),
      button("»", "Last position", () => this.moves.length));
    this.element = h("div", { class: "moves-box" }, this.list, this.buttons);
    this.key = (event) => this.pressed(event);
    document.addEventListener("keydown", this.key);
  }

  /** The moves so far; whoever looked at the last position goes on looking at the last. */
  set(start, moves) {
    const same = start === this.start && moves.length >= this.moves.length &&
      this.moves.every((each, at) => each.move === moves[at].move);
    const atEnd = this.at >= this.moves.length;
    const before = this.moves.length;
    this.start = start;
    this.moves = moves;
    this.at = same && !atEnd ? this.at : moves.length;
    if (same && before && moves.length === before) {
      this.show();
      return;
    }
    const fields = start.split(" ");
    const offset = (Number(fields[5]) - 1) * 2 + (fields[1] === "b" ? 1 : 0);
    const items = [];
    moves.forEach((each, at) => {
      const ply = offset + at;
      if (ply % 2 === 0 || at === 0) {
        items.push(h("li", { class: "number", "aria-hidden": "true" }, `${Math.floor(ply / 2) + 1}${ply % 2 ? "…" : "."}`));
        if (ply % 2) items.push(h("li", { "aria-hidden": "true" }));
      }
      items.push(h("li", {}, h("button", { type: "button", class: "san", onclick: () => this.walk(at + 1) }, each.san)));
    });
    replace(this.list, items);
    this.show();
  }

  show() {
    this.list.querySelectorAll(".san").forEach((button, at) => {
      if (at + 1 === this.at) {
        button.setAttribute("aria-current", "true");
        const [top, height] = [button.offsetTop - this.list.offsetTop, button.offsetHeight];
        if (top < this.list.scrollTop || top + height > this.list.scrollTop + this.list.clientHeight) {
          this.list.scrollTop = top - this.list.clientHeight + 2 * height;
        }
      } else button.removeAttribute("aria-current");
    });
  }

  walk(ply) {
    this.at = Math.max(0, Math.min(this.moves.length, ply));
    this.show();
    this.onwalk(this.at);
  }

  get fen() {
    return this.at ? this.moves[this.at - 1].fen : this.start;
  }

  /** The squares of the move that led here. */
  get last() {
    const move = this.at ? this.moves[this.at - 1].move : null;
    return move ? [move.slice(0, 2), move.slice(2, 4)] : null;
  }

  get atEnd() {
    return this.at === this.moves.length;
  }

  pressed(event) {
    if (event.target.closest?.("input, textarea, select, .squares, dialog") || event.ctrlKey || event.altKey || event.metaKey) return;
    const to = { ArrowLeft: this.at - 1, ArrowRight: this.at + 1, Home: 0, End: this.moves.length }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    this.walk(to);
  }

  close() {
    document.removeEventListener("keydown", this.key);
  }
}
