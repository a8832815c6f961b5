// A gene pool's run: priorities over time, the family of a player, and any ancestor to play against.

import { emptyState } from "./analysis.js";
import { ask } from "./api.js";
import { lineChart } from "./chart.js";
import { h, replace, s } from "./dom.js";
import { field } from "./picker.js";

function tree(family, show) {
  const rows = [];
  for (const each of family.ancestors) (rows[each.generation] ??= []).push(each);
  const widest = Math.max(...rows.map((row) => row.length));
  const [width, step, wide, high] = [Math.max(520, widest * 84), 70, 74, 38];
  const height = rows.length * step;
  const place = {};
  rows.forEach((row, generation) => row.forEach((each, at) => {
    place[each.id] = [((at + 0.5) / row.length) * width, height - (generation + 0.5) * step];
  }));
  const lines = family.ancestors.flatMap((each) => each.parents.filter((id) => place[id]).map((id) =>
    s("line", { x1: place[each.id][0], y1: place[each.id][1], x2: place[id][0], y2: place[id][1] })));
  const won = (each) => `${each.wins} win${each.wins === 1 ? "" : "s"}`;
  const boxes = family.ancestors.map((each) => {
    const [x, y] = place[each.id];
    const link = s("a", { tabindex: 0, role: "button", "aria-label": `Genome ${each.id}, ${won(each)}${each.new_blood ? ", new blood" : ""}` },
      s("rect", { x: x - wide / 2, y: y - high / 2, width: wide, height: high, rx: 8 }),
      s("text", { x, y: y - 2, "text-anchor": "middle" }, String(each.id)),
      s("text", { x, y: y + 13, "text-anchor": "middle" }, `${won(each)}${each.new_blood ? " *" : ""}`));
    link.addEventListener("click", () => show(each));
    link.addEventListener("keydown", (event) => (event.key === "Enter" || event.key === " ") && (event.preventDefault(), show(each)));
    return link;
  });
  return s("svg", { viewBox: `0 0 ${width} ${height}`, class: "tree", role: "group", "aria-label": `Ancestors of ${family.id}` }, lines, boxes);
}

export async function mount(root, key) {
  const { pools } = await ask("results/evolution");
  if (!pools.length) {
    replace(root, h("h1", {}, "Evolution"), emptyState("There is no gene pool in this server's folders. ",
      h("code", {}, "tabiya evolve POOL.conf --out runs/pool"), " evolves one; it is shown here while it grows."));
    return null;
  }
  const select = h("select", { onchange: () => show(select.value, null) }, pools.map((pool) =>
    h("option", { value: pool.key }, pool.broken ? `${pool.name} (damaged)` : `${pool.name}, ${(pool.games ?? 0).toLocaleString("en")} games`)));
  const place = h("div", {});
  replace(root, h("h1", {}, "Evolution"), field("Gene pool", select), place);

  function play(pool, genome) {
    sessionStorage.setItem("tabiya.opponent", JSON.stringify({ name: "genetic", pool, genome }));
    location.hash = "#play";
  }

  async function show(pool, genome) {
    replace(place, h("p", { class: "said", role: "status" }, "Reading the genomes…"));
    try {
      const found = await ask(`results/pool/${pool}${genome === null ? "" : `?number=${genome}`}`);
      const chosen = h("div", { class: "buttons" });
      const choose = (each) => replace(chosen,
        h("button", { type: "button", class: "main", onclick: () => play(pool, each.id) }, `Play against ${each.id}`),
        h("button", { type: "button", onclick: () => show(pool, each.id) }, `Family of ${each.id}`));
      choose({ id: found.family.id });
      const living = h("div", { class: "buttons" }, found.living.slice(0, 64).map((id) =>
        h("button", { type: "button", onclick: () => choose({ id }) }, String(id))));
      replace(place,
        h("p", { class: "said" }, `${found.births.toLocaleString("en")} were born, ${found.living.length} are alive.`),
        h("div", { class: "charts" },
          lineChart({ title: "Priorities of the genes", series: Object.entries(found.priorities).map(([name, points]) => ({ name, points })), xName: "births" }),
          lineChart({ title: "Worth of the pieces, as shares of an army", series: Object.entries(found.pieces).map(([name, points]) => ({ name, points })), xName: "births" })),
        h("h2", {}, `Family of ${found.family.id}`),
        h("p", { class: "said" }, "The player at the foot, its parents above; an asterisk marks new blood."), chosen,
        h("div", { class: "wide", tabIndex: 0, role: "region", "aria-label": "Family tree" }, tree(found.family, choose)),
        h("h2", {}, "The living"), living);
    } catch (error) {
      replace(place, h("p", { class: "problem", role: "alert" }, error.message));
    }
  }

  if (pools.some((pool) => pool.key === key)) select.value = key;
  await show(select.value, null);
  return null;
}
