// The rating lists, matches and evaluations that were measured, and their games to play through.

import { emptyState } from "./analysis.js";
import { ask } from "./api.js";
import { Board } from "./board.js";
import { h, percent, replace } from "./dom.js";
import { Moves } from "./moves.js";

const number = (value) => (value === null || value === undefined ? "" : Math.round(value).toLocaleString("en"));
const ends = (pair) => (Array.isArray(pair) && pair.some((end) => end !== null) ? pair.map((end) => (end === null ? "∞" : number(end))).join(" to ") : "");

function table(head, rows) {
  return h("div", { class: "wide", tabIndex: 0, role: "region", "aria-label": head[0] }, h("table", { class: "grid-table" },
    h("thead", {}, h("tr", {}, head.map((each, at) => h("th", { scope: "col", class: at ? "figure" : "" }, each)))),
    h("tbody", {}, rows.map((cells) => h("tr", {}, cells.map((cell, at) => h("td", { class: at ? "figure" : "" }, cell)))))));
}

export async function mount(root) {
  const found = await ask("results/ratings");
  const viewer = h("div", {});
  let moves = null;

  const games = (entry) => (entry.games_at_hand
    ? h("button", { type: "button", onclick: () => list(entry) }, "Games")
    : h("small", {}, "games not at hand"));

  async function list(entry, start = 0) {
    replace(viewer, h("p", { class: "said", role: "status" }, "Reading the games…"));
    try {
      const answer = await ask(`results/games/${entry.key}?number=${start}`);
      const select = h("select", { onchange: () => play(entry, select.value) }, answer.games.map((game) =>
        h("option", { value: game.number }, `${game.round} ${game.white} – ${game.black} ${game.result}`)));
      const leaf = (name, at, there) => h("button", { type: "button", disabled: !there, onclick: () => list(entry, at) }, name);
      const last = start + answer.games.length;
      const leaves = answer.total > answer.most ? h("p", { class: "buttons" },
        leaf("Earlier games", start - answer.most, start > 0), leaf("Later games", last, last < answer.total),
        h("small", {}, `${number(start + 1)} to ${number(last)} of ${number(answer.total)}`)) : null;
      replace(viewer, h("h2", {}, `Games of ${entry.name}`), h("label", {}, "Game ", select), leaves, h("div", { class: "shown" }));
      viewer.scrollIntoView({ block: "start" });
      if (answer.games.length) await play(entry, answer.games[0].number);
    } catch (error) {
      replace(viewer, h("p", { class: "problem", role: "alert" }, error.message));
    }
  }

  async function play(entry, at) {
    const place = viewer.querySelector(".shown");
    try {
      const game = await ask(`results/game/${entry.key}?number=${at}`);
      moves?.close();
      const board = new Board({ label: `${game.white} against ${game.black}` });
      moves = new Moves(() => board.set(moves.fen, { last: moves.last }));
      moves.set(game.start_fen, game.moves);
      moves.walk(0);
      replace(place, h("div", { class: "table" }, h("div", {}, board.element), h("div", { class: "right" },
        h("p", { class: "status" }, `${game.white} – ${game.black} ${game.result}`), moves.element)));
    } catch (error) {
      replace(place, h("p", { class: "problem", role: "alert" }, error.message));
    }
  }

  const standings = (each) => [h("p", {}, each.verdict ?? "", " ", games(each)),
    table(["Player", "Rating", "95 %", "Games", "Score"], each.players.map((player) => [
      player.name + (player.anchor ? " (anchor)" : ""), number(player.rating),
      player.anchor ? (player.as_if_free_95 ? `plays ${ends(player.as_if_free_95)}` : "given") : ends(player.rating_95), number(player.games),
      player.score_share === null || player.score_share === undefined ? "" : percent(player.score_share)]))];
  // The list that says most stands open; of the others one sees the question until one asks.
  const lists = found.lists.map((each, at) => (at
    ? h("details", {}, h("summary", {}, each.question ?? each.name), standings(each))
    : h("section", {}, h("h2", {}, each.question ?? each.name), standings(each))));
  const outcomes = (some) => table(["Match", "Elo", "95 %", "Games", "+ = −", ""], some.map((each) => [
    h("div", {}, h("strong", {}, each.players.join(" – ")), h("br"), h("small", {}, each.verdict ?? each.question ?? "")),
    number(each.elo), ends(each.elo_95), number(each.games), [each.wins, each.draws, each.losses].join(" "), games(each)]));
  // Matches that one experiment played lie in a folder together.
  const series = new Map();
  for (const each of found.matches) {
    const path = each.name.split("/");
    const name = path.length > 2 ? path[0] : "";
    series.set(name, [...(series.get(name) ?? []), each]);
  }
  const single = series.get("") ?? [];
  series.delete("");
  const matches = found.matches.length ? [h("h2", {}, "Matches"), single.length ? outcomes(single) : null,
    ...[...series].map(([name, some]) => h("details", {}, h("summary", {}, `${name}: ${some.length} matches`), outcomes(some)))] : [];
  const figures = (each) => Object.entries(each.figures).slice(0, 6).map(([name, value]) =>
    `${name.replaceAll("_", " ")} ${Number.isInteger(value) ? value.toLocaleString("en") : value.toFixed(3)}`).join(", ");
  const evaluations = found.evaluations.length ? [h("h2", {}, "Without games"), table(["Player", "Question", "Figures"], found.evaluations.map((each) => [
    each.player, each.question ?? "", h("span", { class: "figures" }, figures(each))]))] : [];
  const nothing = lists.length + matches.length + evaluations.length === 0;
  replace(root, h("h1", {}, "Ratings"),
    nothing ? emptyState("Nothing was measured yet. ", h("code", {}, "tabiya tournament resnet turing random --games 20 --out results/list"), " makes a rating list that is shown here.") : null,
    lists, !nothing && !lists.length ? emptyState("There is no rating list yet; ", h("code", {}, "tabiya tournament"), " makes one.") : null,
    matches, evaluations, viewer);
  return () => moves?.close();
}
