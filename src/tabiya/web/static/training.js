// The training runs: every figure of their logs as a curve.

import { emptyState } from "./analysis.js";
import { ask } from "./api.js";
import { lineChart } from "./chart.js";
import { h, replace } from "./dom.js";
import { field } from "./picker.js";

const lasting = (seconds) => (seconds < 120 ? `${Math.round(seconds)} seconds` : `${Math.round(seconds / 60)} minutes`);

export async function mount(root, key) {
  const { runs } = await ask("results/training");
  if (!runs.length) {
    replace(root, h("h1", {}, "Training"), emptyState("There is no training run in this server's folders. A run writes its ",
      h("code", {}, "log.jsonl"), "; start the server with ", h("code", {}, "tabiya serve --results RUN"), " to see it here."));
    return null;
  }
  const select = h("select", { onchange: () => show(select.value) }, runs.map((run) =>
    h("option", { value: run.key }, `${run.name}, ${run.step.toLocaleString("en")} steps`)));
  const about = h("p", { class: "said" });
  const charts = h("div", { class: "charts" });
  replace(root, h("h1", {}, "Training"), field("Run", select), about, charts);

  async function show(name) {
    const run = runs.find((each) => each.key === name);
    replace(charts, h("p", { class: "said", role: "status" }, "Reading the log…"));
    try {
      const found = await ask(`results/curves/${name}`);
      about.textContent = [run.note, run.seconds ? lasting(run.seconds) : null, run.loss ? `last loss ${run.loss.toFixed(4)}` : null].filter(Boolean).join(" · ");
      // A figure and the same on held-out positions belong into one picture.
      const names = Object.keys(found.curves).filter((name) => !(name.startsWith("validation_") && name.slice(11) in found.curves));
      replace(charts, names.map((figure) => {
        const series = [figure, `validation_${figure}`].filter((name) => name in found.curves)
          .map((name) => ({ name: name.replaceAll("_", " "), points: found.curves[name] }));
        return lineChart({ title: figure.replaceAll("_", " "), series, xName: "steps" });
      }));
    } catch (error) {
      replace(charts, h("p", { class: "problem", role: "alert" }, error.message));
    }
  }

  if (runs.some((run) => run.key === key)) select.value = key;
  await show(select.value);
  return null;
}
