// Choosing a mind and how strong it shall be.

import { h, notice, replace } from "./dom.js";

let numbers = 0;
export const newId = (name) => `${name}-${++numbers}`;

/** A label with its field. */
export const field = (label, control, hint) => {
  control.id ||= newId("field");
  return h("div", { class: "field" }, h("label", { htmlFor: control.id }, label), control, hint ? h("small", {}, hint) : null);
};

const LARGEST_PASTE = 256 * 1024;
const NODES = [50, 200, 1000, 5000, 20000, 100000, 500000, 2000000];
const NAMED = { temperature: ["at its best", "with variety", "loose", "wild"] };

export class Picker {
  /** `minds`: the server's list; `label`: what is chosen; `chosen`: an earlier choice. */
  constructor(minds, label, chosen = null) {
    this.minds = minds;
    const options = minds.map((mind) =>
      h("option", { value: mind.name, disabled: Boolean(mind.missing) }, mind.missing ? `${mind.title} (not at hand)` : mind.title));
    this.select = h("select", { onchange: () => this.turned() }, options);
    this.knob = h("input", { type: "range", oninput: () => this.said() });
    this.said_ = h("output", { class: "said" });
    this.about = h("small", { class: "about" });
    this.strength = h("div", { class: "field" });
    this.ancestor = chosen?.genome !== undefined && chosen?.genome !== null ? { pool: chosen.pool, genome: chosen.genome } : null;
    this.element = h("div", { class: "picker" }, field(label, this.select), this.about, this.strength);
    const first = minds.find((mind) => mind.name === chosen?.name && !mind.missing) ?? minds.find((mind) => !mind.missing);
    if (this.ancestor) {
      this.select.append(h("option", { value: "ancestor" }, `Genetic ${this.ancestor.genome}, from its pool`));
      this.select.value = "ancestor";
    } else if (first) this.select.value = first.name;
    this.turned(chosen);
  }

  get mind() {
    const name = this.select.value === "ancestor" ? "genetic" : this.select.value;
    return this.minds.find((mind) => mind.name === name);
  }

  turned(chosen = null) {
    const mind = this.mind;
    if (!mind) return;
    const missing = this.minds.filter((each) => each.missing);
    this.about.textContent = mind.what + (missing.length ? `. Not at hand: ${missing.map((each) => each.title).join(", ")}` : "");
    this.about.title = missing.map((each) => `${each.title}: ${each.missing}`).join("\n");
    replace(this.strength);
    if (mind.knob === "none") return;
    this.knob.id ||= newId("strength");
    if (mind.knob === "temperature") {
      Object.assign(this.knob, { min: 0, max: 2, step: 0.1 });
      this.knob.value = chosen?.temperature ?? mind.standard;
    } else {
      Object.assign(this.knob, { min: 0, max: NODES.length - 1, step: 1 });
      const wanted = chosen?.nodes ?? mind.standard;
      this.knob.value = NODES.reduce((best, each, at) => (Math.abs(Math.log(each / wanted)) < Math.abs(Math.log(NODES[best] / wanted)) ? at : best), 0);
    }
    const name = mind.knob === "temperature" ? "Temperature" : "Nodes a move";
    this.strength.append(h("label", { htmlFor: this.knob.id }, name, " ", this.said_), this.knob);
    this.said();
  }

  said() {
    const text = this.mind.knob === "temperature"
      ? `${Number(this.knob.value).toFixed(1)}, ${NAMED.temperature[Math.min(3, Math.ceil(this.knob.value * 1.5))]}`
      : NODES[this.knob.value].toLocaleString("en");
    this.said_.textContent = text;
    this.knob.setAttribute("aria-valuetext", text);
  }

  /** As the server takes it. */
  get value() {
    const mind = this.mind;
    const choice = { name: mind.name };
    if (mind.knob === "temperature") choice.temperature = Number(this.knob.value);
    if (mind.knob === "nodes") choice.nodes = NODES[this.knob.value];
    return this.select.value === "ancestor" ? { ...choice, ...this.ancestor } : choice;
  }
}

/** A field for a FEN or a PGN. */
export function startField() {
  // Refused before the browser lays it out, which would take it many seconds.
  const pasted = (event) => {
    if ((event.clipboardData?.getData("text").length ?? 0) <= LARGEST_PASTE) return;
    event.preventDefault();
    notice("That is too large: at most 256 kB can be pasted.");
  };
  const area = h("textarea", { onpaste: pasted, rows: 2, spellcheck: false, autocomplete: "off", placeholder: "A FEN or a PGN; empty: the usual start" });
  return { area, element: field("From a position or a game", area) };
}
