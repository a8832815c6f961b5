// Playing a mind: a new game, the game itself, and everything a person may do in it.

import { ask, Followed, keptGame, minds } from "./api.js";
import { Board } from "./board.js";
import { h, notice, percent, replace, shownScore, store } from "./dom.js";
import { Moves } from "./moves.js";
import { field, Picker, startField } from "./picker.js";
import { playSound } from "./sound.js";

const CLOCKS = [["No clock", null], ["1 minute", [60, 0]], ["3 + 2", [180, 2]], ["5 + 3", [300, 3]], ["10 + 5", [600, 5]], ["30 + 20", [1800, 20]]];

export async function mount(root, id) {
  const page = new Play(root);
  await page.open(id);
  return () => page.close();
}

class Play {
  constructor(root) {
    this.root = root;
    this.board = new Board({
      label: "Chess board; arrow keys walk, Enter chooses",
      onmove: (move) => this.move(move),
      onpremove: (from, to) => (this.premove = from ? from + to : null),
    });
    this.moves = new Moves(() => this.draw());
    this.premove = null;
    this.ticking = setInterval(() => this.tick(), 200);
    this.keys = (event) => {
      if (event.key === "f" && !event.target.closest?.("input, textarea, select") && !event.ctrlKey && !event.metaKey) this.flip();
    };
    document.addEventListener("keydown", this.keys);
  }

  async open(id) {
    const { minds: listing } = await minds();
    this.listing = listing;
    this.build();
    const wanted = id || store.read("last", null);
    if (wanted && (id || keptGame(wanted))) this.follow(wanted);
    else this.empty();
    if (this.invited) this.details.scrollIntoView({ block: "nearest" });
  }

  build() {
    this.top = h("div", { class: "player" });
    this.bottom = h("div", { class: "player" });
    this.status = h("p", { class: "status", role: "status", "aria-live": "polite" });
    this.problem = h("p", { class: "problem", role: "alert", hidden: true });
    const button = (text, action, label) => h("button", { type: "button", onclick: action, "aria-label": label }, text);
    this.buttons = {
      takeback: button("Take back", () => this.act("takeback")),
      draw: button("Offer draw", () => this.act("draw")),
      resign: button("Resign", () => this.act("resign")),
      resume: button("Go on", () => this.act("resume")),
    };
    this.save = h("a", { class: "button", download: "tabiya.pgn" }, "Save PGN");
    this.typed = h("input", { type: "text", autocomplete: "off", spellcheck: false, maxLength: 10, placeholder: "Nf3" });
    const typing = h("form", { class: "typing", onsubmit: (event) => {
      event.preventDefault();
      const text = this.typed.value.trim();
      this.typed.value = "";
      if (text) this.move(text);
    } }, field("Type a move", this.typed), h("button", { type: "submit" }, "Play it"));
    const sound = h("input", { type: "checkbox", checked: store.read("sound", false), onchange: () => store.write("sound", sound.checked) });
    replace(this.root, h("h1", { class: "hidden" }, "Play"),
      h("div", { class: "table" },
        h("section", { class: "left", "aria-label": "Board" }, this.top, this.board.element, this.bottom),
        this.right = h("section", { class: "right fresh", "aria-label": "Game" },
          this.status, this.problem, this.moves.element,
          h("div", { class: "buttons" }, Object.values(this.buttons),
            button("Flip", () => this.flip(), "Flip the board"), this.save,
            button("Opinions", () => this.opinions(), "What all minds think of this position")),
          typing,
          h("label", { class: "check" }, sound, " Sounds"),
          this.newGame())));
  }

  newGame() {
    const form = store.read("form", {});
    const asked = sessionStorage.getItem("tabiya.opponent");
    sessionStorage.removeItem("tabiya.opponent");
    this.invited = Boolean(asked);
    this.picker = new Picker(this.listing, "Opponent", asked ? JSON.parse(asked) : form.mind);
    const radio = (value, text) => {
      const input = h("input", { type: "radio", name: "colour", value, checked: (form.colour ?? "white") === value });
      return h("label", { class: "check" }, input, ` ${text}`);
    };
    const clock = h("select", {}, CLOCKS.map(([text], at) => h("option", { value: at, selected: at === (form.clock ?? 0) }, text)));
    const start = startField();
    const problem = h("p", { class: "problem", role: "alert", hidden: true });
    const go = h("button", { type: "submit", class: "main" }, "Start a new game");
    const begin = async (event) => {
      event.preventDefault();
      problem.hidden = true;
      go.disabled = true;
      const colour = element.querySelector("input[name=colour]:checked").value;
      const white = colour === "white" || (colour === "random" && Math.random() < 0.5);
      const time = CLOCKS[clock.value][1];
      const mind = this.picker.value;
      store.write("form", { mind, colour, clock: Number(clock.value) });
      try {
        const game = await ask("games", { new: {
          start: start.area.value, white: white ? null : mind, black: white ? mind : null,
          clock: time && { seconds: time[0], increment: time[1] },
        } });
        start.area.value = "";
        this.details.open = false;
        this.follow(game.id);
        this.board.flip(!white);
        this.root.scrollIntoView({ block: "start" });
      } catch (error) {
        problem.textContent = error.message;
        problem.hidden = false;
      } finally {
        go.disabled = false;
      }
    };
    const element = h("form", { class: "new", onsubmit: begin },
      this.picker.element,
      h("fieldset", {}, h("legend", {}, "You play"), radio("white", "White"), radio("black", "Black"), radio("random", "either")),
      field("Clock", clock), start.element, problem, go);
    this.details = h("details", { class: "card", open: Boolean(asked) }, h("summary", {}, "New game"), element);
    return this.details;
  }

  empty() {
    this.details.open = true;
    this.state = null;
    this.board.set("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1");
    this.status.textContent = "Choose an opponent and start a game.";
    this.enable();
  }

  follow(id) {
    this.followed?.close();
    this.first = true;
    this.premove = null;
    history.replaceState(null, "", `#play/${id}`);
    store.write("last", id);
    this.followed = new Followed(id, (state, problem) => this.show(state, problem));
  }

  show(state, problem) {
    if (!state) {
      this.empty();
      this.say(problem);
      return;
    }
    const before = this.state;
    this.state = state;
    if (this.first) {
      this.board.flip(state.white.mind !== null);
      this.first = false;
    }
    this.moves.set(state.start_fen, state.moves);
    if (before && state.moves.length > before.moves.length && store.read("sound", false)) playSound(state.position.check);
    this.draw();
    this.enable();
    if (state.your_turn && this.premove && before?.id === state.id) this.playAhead();
    if (state.result !== "*" && before && before.result === "*") notice(`${state.result}: ${state.reason}`);
  }

  playAhead() {
    const wanted = this.premove;
    this.premove = null;
    this.board.premove = null;
    const move = [wanted, `${wanted}q`].find((each) => each in this.state.position.legal);
    if (move) this.move(move);
    else notice("The move you chose ahead is not possible any more.");
  }

  flip() {
    this.board.flip();
    this.draw();
  }

  draw() {
    const state = this.state;
    if (!state) return;
    const now = this.moves.atEnd;
    const mine = state.white.mind === null ? "white" : "black";
    this.board.set(this.moves.fen, {
      legal: now && state.your_turn ? state.position.legal : {},
      last: this.moves.last,
      check: now ? state.position.check : null,
      premoves: now && state.thinking ? mine : null,
    });
    if (this.premove && state.thinking && now) {
      this.board.premove = [this.premove.slice(0, 2), this.premove.slice(2, 4)];
      this.board.mark();
    }
    this.status.textContent = this.sentence(state);
    this.seat(this.bottom, this.board.flipped ? "black" : "white");
    this.seat(this.top, this.board.flipped ? "white" : "black");
    this.tick();
  }

  sentence(state) {
    if (state.result !== "*") return `${state.result}, ${state.reason}.`;
    if (state.paused) return state.note ? `Stopped: ${state.note}.` : "Paused.";
    const check = state.position.check ? "Check! " : "";
    const note = state.note ? ` (${state.note})` : "";
    if (!this.moves.atEnd) return "Looking back; the last position is under ».";
    return check + (state.your_turn ? "Your turn." : `${this.opponent.title} is thinking.`) + note;
  }

  get opponent() {
    return this.state.white.mind === null ? this.state.black : this.state.white;
  }

  seat(place, colour) {
    const state = this.state;
    const mind = this.listing.find((each) => each.name === state[colour].mind);
    const last = state.last[colour];
    const words = [];
    if (last) {
      if (last.wdl) words.push(`win ${percent(last.wdl[0])}, draw ${percent(last.wdl[1])}, loss ${percent(last.wdl[2])}`);
      else if (last.score !== null) words.push(shownScore(last.score));
      if (last.nodes) words.push(`${last.nodes.toLocaleString("en")} ${last.nodes === 1 ? "look" : "nodes"}`);
      words.push(`${Math.round(last.ms)} ms`);
    }
    replace(place,
      h("span", { class: "dot", css: { background: mind?.colour ?? "var(--text)" } }),
      h("strong", {}, state[colour].title), h("span", { class: "said" }, words.join(" · ")),
      state.clock ? h("span", { class: "clock", "data-side": colour }) : null);
  }

  tick() {
    const clock = this.state?.clock;
    if (!clock) return;
    for (const place of this.root.querySelectorAll(".clock")) {
      const side = place.dataset.side;
      const passed = clock.running === side ? (performance.now() - this.state.received) / 1000 : 0;
      const left = Math.max(0, clock[side] - passed);
      place.textContent = left < 20 ? left.toFixed(1) : `${Math.floor(left / 60)}:${String(Math.floor(left % 60)).padStart(2, "0")}`;
      place.classList.toggle("running", clock.running === side);
    }
  }

  enable() {
    const state = this.state;
    const going = Boolean(state && state.result === "*");
    this.right.classList.toggle("fresh", !state);
    this.buttons.takeback.disabled = !state || !state.moves.length;
    this.buttons.draw.disabled = this.buttons.resign.disabled = !going;
    this.buttons.resume.hidden = !(going && state.paused);
    this.typed.disabled = !(state && state.your_turn);
    if (state) this.save.href = `/api/games/${state.id}/pgn`;
    else this.save.removeAttribute("href");
  }

  say(sentence) {
    this.problem.textContent = sentence ?? "";
    this.problem.hidden = !sentence;
  }

  async move(move) {
    this.say("");
    const state = this.state;
    if (!state) return;
    try {
      await this.followed.act("move", { move, ply: state.moves.length });
    } catch (error) {
      // Made while the server was away: it is played when the connection is back.
      if (error.status === 0 && move in state.position.legal) this.premove = move;
      this.say(error.message);
      this.draw();
    }
  }

  async act(action) {
    this.say("");
    this.premove = null;
    try {
      await this.followed.act(action);
    } catch (error) {
      this.say(error.message);
    }
  }

  opinions() {
    if (this.state) {
      const moves = this.state.moves.slice(0, this.moves.at).map((each) => each.move);
      store.write("position", { fen: this.state.start_fen, moves });
    }
    location.hash = "#opinions";
  }

  close() {
    clearInterval(this.ticking);
    this.followed?.close();
    this.moves.close();
    document.removeEventListener("keydown", this.keys);
  }
}
