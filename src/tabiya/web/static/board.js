// A chess board to look at and to move on, by drag, by click or by keyboard. It knows no rules: what may be
// moved is what the server called legal.

import { h, notice, replace, s } from "./dom.js";
import { drawPiece, pieceName } from "./pieces.js";

const FILES = "abcdefgh";

/** The letters on the squares of a FEN, by name. */
export function placement(fen) {
  const found = {};
  fen.split(" ")[0].split("/").forEach((rank, row) => {
    let file = 0;
    for (const letter of rank) {
      if (letter >= "1" && letter <= "8") file += Number(letter);
      else found[FILES[file++] + (8 - row)] = letter;
    }
  });
  return found;
}

const colourOf = (letter) => (letter === letter.toUpperCase() ? "white" : "black");

export class Board {
  /**
   * `onmove(uci)` is told of a chosen move, `onpremove(from, to)` of one chosen ahead (null: taken away),
   * `onsquare(name)` of a click where squares are the matter and not moves.
   */
  constructor({ label = "Chess board", onmove = null, onpremove = null, onsquare = null } = {}) {
    Object.assign(this, { onmove, onpremove, onsquare });
    this.pieces = {};
    this.view = { legal: {}, last: null, check: null, premoves: null, arrows: [], heat: null, blank: [] };
    this.flipped = false;
    this.selected = null;
    this.premove = null;
    this.focused = "e1";
    this.cells = {};
    this.grid = h("div", { class: "squares", role: "grid", "aria-label": label });
    this.overlay = s("svg", { class: "overlay", viewBox: "0 0 8 8", "aria-hidden": "true" });
    // A board that is only looked at must not catch the finger that scrolls.
    this.element = h("div", { class: onmove || onsquare ? "board" : "board still" }, this.grid, this.overlay);
    this.grid.addEventListener("pointerdown", (event) => this.pressed(event));
    this.grid.addEventListener("keydown", (event) => this.key(event));
    this.grid.addEventListener("contextmenu", (event) => {
      event.preventDefault();
      this.cancel();
    });
    this.lay();
  }

  lay() {
    const rows = [];
    for (let row = 0; row < 8; row++) {
      const cells = [];
      for (let column = 0; column < 8; column++) {
        const file = this.flipped ? 7 - column : column;
        const rank = this.flipped ? row + 1 : 8 - row;
        const name = FILES[file] + rank;
        const cell = h("div", { class: `square ${(file + rank) % 2 ? "light" : "dark"}`, role: "gridcell", tabIndex: -1 });
        cell.dataset.square = name;
        if (row === 7) cell.dataset.file = FILES[file];
        if (column === 0) cell.dataset.rank = rank;
        this.cells[name] = cell;
        cells.push(cell);
      }
      rows.push(h("div", { role: "row", class: "row" }, cells));
    }
    replace(this.grid, rows);
    for (const name of Object.keys(this.cells)) this.put(name, this.pieces[name] ?? null);
    this.focus(this.focused, false);
    this.mark();
  }

  flip(wanted = !this.flipped) {
    if (wanted !== this.flipped) {
      this.flipped = wanted;
      this.lay();
    }
  }

  /** Show a position; what is not given stays out of the picture. */
  set(fen, { legal = {}, last = null, check = null, premoves = null, arrows = [], heat = null, blank = [] } = {}) {
    const before = this.pieces;
    const now = placement(fen);
    this.pieces = now;
    for (const name of Object.keys(this.cells)) {
      if (before[name] !== now[name]) this.put(name, now[name] ?? null);
    }
    const moved = last && last.join() !== this.view.last?.join() && before[last[0]] && !now[last[0]];
    this.view = { legal, last, check, premoves, arrows, heat, blank };
    if (this.selected && !this.targets(this.selected).length && !this.mayPremove(this.selected)) this.selected = null;
    if (!premoves) this.premove = null;
    this.mark();
    if (moved && !this.dropped) this.glide(...last);
    this.dropped = false;
  }

  put(name, letter) {
    const cell = this.cells[name];
    replace(cell, letter ? drawPiece(letter) : null);
    this.label(name);
  }

  label(name) {
    const letter = this.pieces[name];
    const words = [name, letter ? pieceName(letter) : "empty"];
    if (this.selected && this.targets(this.selected).includes(name)) words.push("can be reached");
    if (this.view.blank.includes(name)) words.push("blanked");
    const cell = this.cells[name];
    cell.setAttribute("aria-label", words.join(", "));
    cell.setAttribute("aria-selected", String(this.selected === name));
  }

  glide(from, to) {
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) return;
    const piece = this.cells[to].firstChild;
    if (!piece?.animate) return;
    const start = this.cells[from].getBoundingClientRect();
    const end = this.cells[to].getBoundingClientRect();
    piece.animate(
      [{ transform: `translate(${start.x - end.x}px, ${start.y - end.y}px)` }, { transform: "none" }],
      { duration: 130, easing: "ease-out" },
    );
  }

  targets(from) {
    return Object.keys(this.view.legal).filter((move) => move.startsWith(from)).map((move) => move.slice(2, 4));
  }

  mayPremove(name) {
    return Boolean(this.view.premoves && this.pieces[name] && colourOf(this.pieces[name]) === this.view.premoves);
  }

  movable(name) {
    return this.targets(name).length > 0 || this.mayPremove(name);
  }

  mark() {
    const targets = this.selected ? this.targets(this.selected) : [];
    const { last, check, heat, blank } = this.view;
    for (const [name, cell] of Object.entries(this.cells)) {
      cell.classList.toggle("selected", name === this.selected);
      cell.classList.toggle("target", targets.includes(name));
      cell.classList.toggle("taken", targets.includes(name) && name in this.pieces);
      cell.classList.toggle("last", Boolean(last?.includes(name)));
      cell.classList.toggle("check", name === check);
      cell.classList.toggle("premove", Boolean(this.premove?.includes(name)));
      cell.classList.toggle("blank", blank.includes(name));
      cell.classList.toggle("movable", this.onsquare ? true : this.movable(name));
      const warmth = heat?.[name] ?? 0;
      cell.classList.toggle("hot", warmth > 0.02);
      cell.style.setProperty("--heat", String(Math.min(1, warmth)));
      this.label(name);
    }
    this.drawArrows();
  }

  point(name) {
    const file = FILES.indexOf(name[0]);
    const rank = Number(name[1]) - 1;
    return this.flipped ? [7.5 - file, rank + 0.5] : [file + 0.5, 7.5 - rank];
  }

  /** Arrows of one move stand side by side, so that every mind's can be seen. */
  drawArrows() {
    const together = {};
    for (const arrow of this.view.arrows) (together[arrow.move.slice(0, 4)] ??= []).push(arrow);
    const drawn = [];
    for (const [move, arrows] of Object.entries(together)) {
      const [ax, ay] = this.point(move.slice(0, 2));
      const [bx, by] = this.point(move.slice(2, 4));
      const length = Math.hypot(bx - ax, by - ay) || 1;
      const [ux, uy] = [(bx - ax) / length, (by - ay) / length];
      arrows.forEach((arrow, at) => {
        const gap = Math.min(0.2, 0.62 / arrows.length);
        const aside = (at - (arrows.length - 1) / 2) * gap;
        const width = arrow.width ?? Math.min(0.13, gap * 0.8);
        const [ox, oy] = [-uy * aside, ux * aside];
        const head = Math.max(0.2, width * 2);
        const [sx, sy] = [ax + ox + ux * 0.18, ay + oy + uy * 0.18];
        const [ex, ey] = [bx + ox - ux * 0.1, by + oy - uy * 0.1];
        const [hx, hy] = [ex - ux * head, ey - uy * head];
        drawn.push(
          s("g", { opacity: arrow.opacity ?? 0.85, fill: arrow.colour, stroke: arrow.colour, "data-mind": arrow.name ?? "" },
            s("line", { x1: sx, y1: sy, x2: hx, y2: hy, "stroke-width": width }),
            s("path", { d: `M${ex} ${ey}L${hx - uy * head * 0.5} ${hy + ux * head * 0.5}L${hx + uy * head * 0.5} ${hy - ux * head * 0.5}z`, stroke: "none" })),
        );
      });
    }
    replace(this.overlay, drawn);
  }

  // moving

  cancel() {
    this.selected = null;
    if (this.premove) {
      this.premove = null;
      this.onpremove?.(null);
    }
    this.mark();
  }

  select(name) {
    this.selected = name;
    this.mark();
  }

  /** A square was chosen by click or key: the second one makes the move. */
  choose(name) {
    if (this.onsquare) {
      this.onsquare(name);
      return;
    }
    if (this.selected && this.selected !== name) {
      const from = this.selected;
      if (this.targets(from).includes(name)) {
        this.move(from, name);
        return;
      }
      if (this.mayPremove(from) && !this.movable(name)) {
        this.ahead(from, name);
        return;
      }
    }
    if (this.premove) this.cancel();
    this.select(this.selected !== name && this.movable(name) ? name : null);
  }

  ahead(from, to) {
    this.selected = null;
    this.premove = [from, to];
    this.mark();
    this.onpremove?.(from, to);
    notice(`${from}${to} will be played as soon as it is your turn.`);
  }

  async move(from, to) {
    const moves = Object.keys(this.view.legal).filter((move) => move.startsWith(from + to));
    this.selected = null;
    this.mark();
    const chosen = moves.length > 1 ? await this.promotion(from, to, moves) : moves[0];
    if (chosen) this.onmove?.(chosen);
    else this.dropped = false;
  }

  /** Which piece a pawn becomes; null if the person thinks better of it. */
  promotion(from, to, moves) {
    const colour = colourOf(this.pieces[from]);
    return new Promise((settle) => {
      const dialog = h("dialog", { class: "promotion", "aria-label": `The pawn on ${to} becomes` });
      const button = (kind) => {
        const letter = colour === "white" ? kind.toUpperCase() : kind;
        const pick = () => dialog.close(from + to + kind);
        return h("button", { type: "button", "aria-label": pieceName(letter), onclick: pick }, drawPiece(letter));
      };
      dialog.append(h("p", {}, "Promote to"), h("div", {}, ["q", "n", "r", "b"].map(button)));
      dialog.addEventListener("click", (event) => event.target === dialog && dialog.close(""));
      dialog.addEventListener("close", () => {
        dialog.remove();
        this.cells[this.focused].focus({ preventScroll: true });
        settle(moves.includes(dialog.returnValue) ? dialog.returnValue : null);
      });
      this.element.append(dialog);
      dialog.showModal();
    });
  }

  pressed(event) {
    const cell = event.target.closest?.(".square");
    if (!cell || event.button !== 0 || !event.isPrimary) return;
    const name = cell.dataset.square;
    event.preventDefault();
    this.focus(name, true);
    const before = this.selected;
    if (this.onsquare || !this.movable(name) || (before && this.targets(before).includes(name))) {
      this.choose(name);
      return;
    }
    if (this.premove) this.cancel();
    this.select(name);
    this.drag(event, name, before === name);
  }

  drag(event, from, again) {
    const piece = this.cells[from].querySelector(".piece");
    const [startX, startY] = [event.clientX, event.clientY];
    let dragging = false;
    const over = (point) => document.elementFromPoint(point.clientX, point.clientY)?.closest(".square");
    const move = (point) => {
      const [dx, dy] = [point.clientX - startX, point.clientY - startY];
      if (!dragging && Math.hypot(dx, dy) < 5) return;
      dragging = true;
      piece.classList.add("dragged");
      piece.style.transform = `translate(${dx}px, ${dy}px)`;
    };
    const end = (point) => {
      window.removeEventListener("pointermove", move);
      window.removeEventListener("pointerup", end);
      window.removeEventListener("pointercancel", end);
      piece.classList.remove("dragged");
      piece.style.transform = "";
      if (!dragging) {
        if (again) this.select(null);
        return;
      }
      const cell = point.type === "pointerup" ? over(point) : null;
      const to = cell && this.grid.contains(cell) ? cell.dataset.square : null;
      if (!to || to === from) return;
      if (this.targets(from).includes(to)) {
        this.dropped = true;
        this.move(from, to);
      } else if (this.mayPremove(from)) this.ahead(from, to);
      else {
        notice(`${from} to ${to} is not a legal move.`);
        this.select(null);
      }
    };
    window.addEventListener("pointermove", move);
    window.addEventListener("pointerup", end);
    window.addEventListener("pointercancel", end);
  }

  // by keyboard

  focus(name, really) {
    this.cells[this.focused].tabIndex = -1;
    this.focused = name;
    this.cells[name].tabIndex = 0;
    if (really) this.cells[name].focus({ preventScroll: true });
  }

  key(event) {
    const steps = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
    const step = steps[event.key];
    if (step) {
      const turn = this.flipped ? -1 : 1;
      const file = FILES.indexOf(this.focused[0]) + turn * step[0];
      const rank = Number(this.focused[1]) + turn * step[1];
      if (file >= 0 && file < 8 && rank >= 1 && rank <= 8) this.focus(FILES[file] + rank, true);
    } else if (event.key === "Enter" || event.key === " ") this.choose(this.focused);
    else if (event.key === "Escape") this.cancel();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }
}
