// What a page owes to everyone, as far as it can be read from the page: names, roles, contrast. Returns the faults.
() => {
  const faults = [];
  const shown = (element) => element.getClientRects().length > 0 && getComputedStyle(element).visibility !== "hidden";

  const named = (element) => {
    if (element.getAttribute("aria-label")?.trim()) return true;
    if (element.labels && [...element.labels].some((label) => label.textContent.trim())) return true;
    if (["BUTTON", "A", "SUMMARY"].includes(element.tagName)) return Boolean(element.textContent.trim());
    return Boolean(element.title);
  };
  const controls = "button, a[href], input, select, textarea, summary, [role=gridcell], [role=grid], [role=img]";
  for (const each of document.querySelectorAll(controls)) {
    if (shown(each) && !named(each)) faults.push(`no name: ${each.outerHTML.slice(0, 120)}`);
  }

  const numbers = (text) => text.match(/[\d.]+/g).map(Number);
  const part = (value) => (value / 255 <= 0.03928 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4);
  const light = ([r, g, b]) => 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
  const ground = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const colour = numbers(getComputedStyle(at).backgroundColor);
      if (colour.length < 4 || colour[3] > 0.99) return colour;
    }
    return [255, 255, 255];
  };
  for (const each of document.querySelectorAll("body *")) {
    const speaks = [...each.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.textContent.trim());
    if (!speaks || !shown(each) || each instanceof SVGElement || each.closest(":disabled, option")) continue;
    const [a, b] = [light(numbers(getComputedStyle(each).color)), light(ground(each))];
    const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (contrast < 4.5) faults.push(`contrast ${contrast.toFixed(2)}: ${each.outerHTML.slice(0, 90)}`);
  }

  const count = (selector) => document.querySelectorAll(selector).length;
  if (document.documentElement.lang !== "en") faults.push("no language");
  if (count("h1") !== 1) faults.push(`${count("h1")} first headings`);
  if (count("main") !== 1) faults.push("not one main part");
  if (count("img:not([alt])")) faults.push("an image without alt");
  if (count("[aria-hidden=true] button, [aria-hidden=true] a")) faults.push("a control that is hidden from some");
  const ids = [...document.querySelectorAll("[id]")].map((each) => each.id);
  if (new Set(ids).size !== ids.length) faults.push("an id is used twice");
  for (const each of document.querySelectorAll("[tabindex]")) if (each.tabIndex > 0) faults.push("a forced tab order");
  for (const cell of document.querySelectorAll("[role=gridcell]")) {
    if (!cell.closest("[role=row]")?.closest("[role=grid]")) faults.push("a cell out of its grid");
  }
  for (const table of document.querySelectorAll("table.grid-table")) {
    if (!table.querySelector("th[scope]")) faults.push("a table without headings");
  }
  return faults;
}
