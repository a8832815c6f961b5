// Talking to the server: requests that end as a value or a sentence, and games whose news come by themselves.

import { notice, store } from "./dom.js";

export class Problem extends Error {
  constructor(sentence, status) {
    super(sentence);
    this.status = status;
  }
}

export async function ask(path, body, signal) {
  const options = { signal, headers: {} };
  if (body !== undefined) {
    options.method = "POST";
    options.body = JSON.stringify(body);
    options.headers["content-type"] = "application/json";
    if (options.body.length > 256 * 1024) throw new Problem("That is too large: at most 256 kB can be sent at once.", 413);
  }
  let answer;
  try {
    answer = await fetch(`/api/${path}`, options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem("The server cannot be reached; trying again.", 0);
  }
  const value = await answer.json().catch((error) => {
    // Given up while the answer was arriving: that is no answer, and nobody waits for it.
    if (error.name === "AbortError") throw error;
    throw new Problem("The server's answer could not be read.", answer.status);
  });
  if (!answer.ok) throw new Problem(sentence(value.error ?? "That did not work."), answer.status);
  return value;
}

const sentence = (text) => text.charAt(0).toUpperCase() + text.slice(1) + (/[.!?…]$/.test(text) ? "" : ".");

let listing = null;
/** The minds, asked for once; again after the server was away. */
export function minds(again = false) {
  if (again || !listing) {
    listing = ask("minds");
    listing.catch(() => (listing = null));
  }
  return listing;
}

const KEPT_GAMES = 12;

function keep(state) {
  const games = store.read("games", {});
  delete games[state.id];
  games[state.id] = state.kept;
  for (const old of Object.keys(games).slice(0, -KEPT_GAMES)) delete games[old];
  store.write("games", games);
}

export const keptGame = (id) => store.read("games", {})[id];

/**
 * One game of the server's, followed. `show(state)` is called with every change. A lost connection, or a server
 * that was started anew and knows nothing, is answered by bringing the game back from what this browser kept.
 */
export class Followed {
  constructor(id, show) {
    this.id = id;
    this.show = show;
    this.state = null;
    this.wait = 500;
    this.closed = false;
    this.online = true;
    this.seen = () => (document.visibilityState === "hidden" ? this.hush() : this.source || this.follow());
    // A hidden tab holds no connection: browsers allow only six to one server.
    document.addEventListener("visibilitychange", this.seen);
    this.follow();
  }

  follow() {
    if (this.closed) return;
    clearTimeout(this.timer);
    this.hush();
    const source = (this.source = new EventSource(`/api/games/${this.id}/news`));
    source.onmessage = (event) => {
      this.wait = 500;
      if (!this.online) notice("Connected again.");
      this.online = true;
      this.take(JSON.parse(event.data));
    };
    source.onerror = () => {
      if (this.source !== source) return;
      this.hush();
      this.timer = setTimeout(() => this.comeBack(), this.wait);
      this.wait = Math.min(5000, this.wait * 1.6);
    };
  }

  async comeBack() {
    const kept = keptGame(this.id);
    try {
      this.take(await (kept ? ask("games", { kept }) : ask(`games/${this.id}`)), true);
      this.follow();
    } catch (problem) {
      if (problem.status === 0) {
        this.online = false;
        notice("The server cannot be reached; trying again.", true);
        this.timer = setTimeout(() => this.comeBack(), this.wait);
        this.wait = Math.min(5000, this.wait * 1.6);
      } else {
        this.close();
        this.show(null, problem.message);
      }
    }
  }

  take(state, again = false) {
    // The answer to an action and the news of it are one and the same.
    if (this.closed || (!again && this.state?.version === state.version)) return;
    this.state = state;
    state.received = performance.now();
    keep(state);
    this.show(state);
  }

  async act(action, body = {}) {
    const state = await ask(`games/${this.id}/${action}`, body);
    if (!this.state || state.version >= this.state.version) this.take(state);
    return state;
  }

  hush() {
    this.source?.close();
    this.source = null;
  }

  close() {
    this.closed = true;
    clearTimeout(this.timer);
    this.hush();
    document.removeEventListener("visibilitychange", this.seen);
  }
}
