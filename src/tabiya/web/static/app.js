// The page as a whole: which part is shown, light or dark.

import { h, notice, replace, store } from "./dom.js";

const PAGES = ["play", "opinions", "why", "watch", "ratings", "evolution", "training"];
const main = document.getElementById("main");
let leave = null;
let turn = 0;

async function route() {
  const [name, ...rest] = location.hash.slice(1).split("/");
  const page = PAGES.includes(name) ? name : "play";
  const mine = ++turn;
  leave?.();
  leave = null;
  notice("");
  for (const link of document.querySelectorAll("nav a")) {
    if (link.hash === `#${page}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  document.title = `${page[0].toUpperCase()}${page.slice(1)} · Tabiya`;
  const root = h("div", { class: `page ${page}` });
  replace(main, root);
  try {
    const { mount } = await import(`./${page}.js`);
    const cleanup = await mount(root, rest.join("/"));
    if (mine === turn) leave = cleanup ?? null;
    else cleanup?.();
  } catch (problem) {
    if (mine !== turn) return;
    const again = h("button", { type: "button", onclick: route }, "Try again");
    replace(root, h("p", { class: "problem", role: "alert" }, problem.message), again);
    if (problem.status === 0) setTimeout(() => mine === turn && route(), 2000);
  }
}

function dress(theme) {
  if (theme) document.documentElement.dataset.theme = theme;
}

dress(store.read("theme", null));
document.getElementById("theme").addEventListener("click", () => {
  const now = document.documentElement.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  const theme = now === "dark" ? "light" : "dark";
  store.write("theme", theme);
  dress(theme);
});
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  main.querySelector(".squares [tabindex='0'], button, a")?.focus();
});
window.addEventListener("hashchange", route);
route();
