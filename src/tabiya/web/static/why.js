// Why this move: the lens's squares, pairs and sentences on the board, and squares to blank by hand.

import { Analysis, outlookBar } from "./analysis.js";
import { ask, minds } from "./api.js";
import { h, replace } from "./dom.js";
import { field } from "./picker.js";

export async function mount(root) {
  const { minds: listing, lens } = await minds();
  const atHand = listing.filter((mind) => !mind.missing && mind.name !== "random");
  let blank = [];
  let current = null;
  let before = {};
  let asking = new AbortController();

  const select = h("select", {}, atHand.map((mind) => h("option", { value: mind.name }, mind.title)));
  const claims = h("ul", { class: "claims" });
  const said = h("p", { class: "said", role: "status" });
  const problem = h("p", { class: "problem", role: "alert", hidden: true });
  const table = h("div", { class: "wide" });
  const analysis = new Analysis({ onposition: arrived, onsquare: toggle });
  const go = h("button", { type: "button", class: "main", disabled: !lens, onclick: explain }, "Ask why");
  const clear = h("button", { type: "button", onclick: () => blanked([]) }, "Put all back");
  replace(root, h("h1", {}, "Why"),
    h("div", { class: "table" },
      h("section", { class: "left", "aria-label": "Board" }, analysis.board.element),
      h("section", { class: "right", "aria-label": "Reasons" },
        h("p", {}, "Choose a square, by click or with Enter, to blank it: each mind is asked again without what stands there."),
        h("div", { class: "buttons" }, clear), problem, table,
        field("Look into", select), go,
        lens ? said : h("p", { class: "empty" }, "There is no lens in this installation yet, so no heat map; blanking squares works without one."),
        claims, analysis.controls)));

  function arrived(asked) {
    current = asked;
    before = {};
    replace(claims);
    said.textContent = "";
    blanked([]);
  }

  function toggle(square) {
    blanked(blank.includes(square) ? blank.filter((each) => each !== square) : [...blank, square]);
  }

  async function blanked(squares) {
    asking.abort();
    asking = new AbortController();
    const signal = asking.signal;
    problem.hidden = true;
    clear.disabled = !squares.length;
    const wish = { fen: current.fen, moves: current.moves, blank: squares };
    let position;
    try {
      position = squares.length ? (await ask("position", wish, signal)).position : current.position;
    } catch (error) {
      if (error.name === "AbortError") return;
      problem.textContent = error.message;
      problem.hidden = false;
      return;
    }
    blank = squares;
    analysis.position = position;
    analysis.decorate({ blank, arrows: [], heat: null, last: null });
    const now = {};
    draw(now);
    if (!Object.keys(position.legal).length) {
      problem.textContent = "There is no move in this position.";
      problem.hidden = false;
      return;
    }
    for (const mind of atHand) {
      ask("opinion", { mind: { name: mind.name }, ...wish }, signal).then((opinion) => {
        now[mind.name] = opinion;
        if (!squares.length) before[mind.name] = opinion;
        draw(now);
        analysis.decorate({ arrows: atHand.filter((each) => now[each.name]).map((each) => ({ move: now[each.name].move, colour: each.colour, name: each.name })) });
      }).catch((error) => {
        if (error.name === "AbortError") return;
        now[mind.name] = { problem: error.message };
        draw(now);
      });
    }
  }

  function draw(now) {
    const rows = atHand.map((mind) => {
      const [old, fresh] = [before[mind.name], now[mind.name]];
      const changed = blank.length && old && fresh?.san && old.move !== fresh.move;
      return h("tr", { "data-mind": mind.name },
        h("th", { scope: "row" }, h("span", { class: "dot", css: { background: mind.colour } }), ` ${mind.title}`),
        h("td", {}, old?.san ?? "…"),
        h("td", {}, !blank.length ? "" : (fresh?.problem ?? fresh?.san ?? "…"), changed ? " (changed)" : ""),
        h("td", {}, fresh && !fresh.problem ? outlookBar(fresh, analysis.position.white_to_move) : null));
    });
    const head = ["Mind", "Whole", blank.length ? `Without ${blank.join(", ")}` : "Blanked", "White, draw, Black"];
    replace(table, h("table", { class: "grid-table" }, h("thead", {}, h("tr", {}, head.map((each) => h("th", { scope: "col" }, each)))), h("tbody", {}, rows)));
  }

  async function explain() {
    go.disabled = true;
    problem.hidden = true;
    said.textContent = "Looking.";
    try {
      const found = await ask("why", { mind: { name: select.value }, fen: current.fen, moves: current.moves });
      const strongest = Math.max(...Object.values(found.squares), 1e-9);
      const heat = Object.fromEntries(Object.entries(found.squares).map(([square, weight]) => [square, weight / strongest]));
      const colour = atHand.find((mind) => mind.name === select.value).colour;
      const pairs = found.pairs.map((pair) => ({ move: pair.from + pair.to, colour, opacity: 0.35 + 0.6 * Math.min(1, pair.weight), width: 0.07 }));
      const own = found.move ? [{ move: found.move, colour, name: select.value }] : [];
      analysis.decorate({ heat, arrows: [...pairs, ...own] });
      said.textContent = "The warmer a square, the more the move hangs on it.";
      replace(claims, found.claims.map((claim) =>
        h("li", { class: claim.holds ? "" : "falls" }, claim.text, claim.intervention ? h("small", {}, ` (${claim.intervention})`) : null)));
    } catch (error) {
      said.textContent = "";
      problem.textContent = error.message;
      problem.hidden = false;
    } finally {
      go.disabled = !lens;
    }
  }

  await analysis.open();
  return () => {
    asking.abort();
    analysis.close();
  };
}
