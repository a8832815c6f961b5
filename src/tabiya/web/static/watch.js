// Two minds play each other, live, with the course of their opinions.

import { ask, Followed, keptGame, minds } from "./api.js";
import { Board } from "./board.js";
import { lineChart } from "./chart.js";
import { h, replace, store } from "./dom.js";
import { Moves } from "./moves.js";
import { field, Picker, startField } from "./picker.js";

export async function mount(root, id) {
  const { minds: listing } = await minds();
  const form = store.read("watch", {});
  let state = null;
  let followed = null;

  const board = new Board({ label: "Chess board of the game" });
  const moves = new Moves(() => draw());
  const status = h("p", { class: "status", role: "status", "aria-live": "polite" });
  const problem = h("p", { class: "problem", role: "alert", hidden: true });
  const graph = h("div", {});
  const [top, bottom] = [h("div", { class: "player" }), h("div", { class: "player" })];
  const pause = h("button", { type: "button", disabled: true, onclick: () => act(state.paused ? "resume" : "pause") }, "Pause");
  const save = h("a", { class: "button", download: "tabiya.pgn" }, "Save PGN");
  const flip = h("button", { type: "button", onclick: () => { board.flip(); draw(); } }, "Flip");

  const white = new Picker(listing, "White", form.white);
  const black = new Picker(listing, "Black", form.black ?? { name: "turing" });
  const pace = h("select", {}, [["0.3", "fast"], ["1", "a move a second"], ["3", "slow"]].map(([value, text]) =>
    h("option", { value, selected: value === (form.pace ?? "1") }, text)));
  const start = startField();
  const go = h("button", { type: "submit", class: "main" }, "Let them play");
  const begin = h("form", { class: "new", onsubmit: async (event) => {
    event.preventDefault();
    problem.hidden = true;
    go.disabled = true;
    store.write("watch", { white: white.value, black: black.value, pace: pace.value });
    try {
      if (state && state.result === "*" && !state.paused) await followed.act("pause");
      const game = await ask("games", { new: { start: start.area.value, white: white.value, black: black.value, pace: Number(pace.value) } });
      follow(game.id);
    } catch (error) {
      say(error.message);
    } finally {
      go.disabled = false;
    }
  } }, white.element, black.element, field("Pace", pace), start.element, go);

  replace(root, h("h1", {}, "Watch"),
    h("div", { class: "table" },
      h("section", { class: "left", "aria-label": "Board" }, top, board.element, bottom),
      h("section", { class: "right", "aria-label": "Game" }, status, problem, graph, moves.element,
        h("div", { class: "buttons" }, pause, flip, save), h("div", { class: "card" }, begin))));

  function say(sentence) {
    problem.textContent = sentence;
    problem.hidden = !sentence;
  }

  async function act(action) {
    say("");
    try {
      await followed.act(action);
    } catch (error) {
      say(error.message);
    }
  }

  function follow(name) {
    followed?.close();
    history.replaceState(null, "", `#watch/${name}`);
    store.write("watched", name);
    followed = new Followed(name, (fresh, sentence) => {
      if (!fresh) {
        say(sentence);
        return;
      }
      state = fresh;
      moves.set(state.start_fen, state.moves);
      draw();
    });
  }

  function draw() {
    if (!state) return;
    board.set(moves.fen, { last: moves.last, check: moves.atEnd ? state.position.check : null });
    const seat = (place, side) => {
      const mind = listing.find((each) => each.name === state[side].mind);
      replace(place, h("span", { class: "dot", css: { background: mind?.colour ?? "gray" } }), h("strong", {}, state[side].title), h("span", { class: "said" }, side));
    };
    seat(top, board.flipped ? "white" : "black");
    seat(bottom, board.flipped ? "black" : "white");
    const over = state.result !== "*";
    status.textContent = over ? `${state.result}, ${state.reason}.` : state.paused ? (state.note ? `Stopped: ${state.note}.` : "Paused.") : `Move ${Math.floor(state.moves.length / 2) + 1}: ${state.position.white_to_move ? state.white.title : state.black.title} is thinking.`;
    pause.disabled = over;
    pause.textContent = state.paused ? "Go on" : "Pause";
    save.href = `/api/games/${state.id}/pgn`;
    const first = state.start_fen.split(" ")[1] === "w" ? 0 : 1;
    const series = ["white", "black"].map((side, at) => ({
      name: `${state[side].title} (${side})`,
      colour: listing.find((each) => each.name === state[side].mind)?.colour,
      points: state.shares.map((share, ply) => [ply + 1, share]).filter(([ply, share]) => share !== null && (ply - 1 + first) % 2 === at),
    }));
    if (series[0].colour === series[1].colour) series[1].colour = "#c77700";
    replace(graph, lineChart({ title: "White's expected points, as each mind sees them", series, range: [0, 1], xName: "half-moves", mark: moves.atEnd ? null : moves.at, onpick: (ply) => moves.walk(Math.round(ply)) }));
  }

  const wanted = id || store.read("watched", null);
  if (wanted && (id || keptGame(wanted))) follow(wanted);
  else {
    board.set("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1");
    status.textContent = "Choose two minds and let them play.";
  }
  return () => {
    followed?.close();
    moves.close();
  };
}
