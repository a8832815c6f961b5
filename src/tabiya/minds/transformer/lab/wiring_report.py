"""What an evolution of feedback found: the best wirings, the noise, and whether any beats no feedback at all.

The wirings were tried with one seed, and the best of many tries is partly the
luckiest. So the best are trained again with other seeds, and only these
trainings answer, each told from the base with the same seed and data.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tabiya.arena.provenance import provenance
from tabiya.errors import UserError
from tabiya.learn.config import config_to_dict
from tabiya.learn.lab.folder import LabFolder, Record
from tabiya.minds.transformer.lab.gains import Gain
from tabiya.minds.transformer.lab.journal import JOURNAL, Journal, Trial
from tabiya.minds.transformer.lab.wiring_plan import WiringLab
from tabiya.minds.transformer.lab.wirings import spelt
from tabiya.reports.drawing import sheet
from tabiya.reports.lab_table import expected_sentence, page, table

SHOWN = 15
"""Wirings in the table."""


def write_wiring_report(lab: WiringLab, folder: LabFolder) -> Record:
    """Make report.json and report.md, and report.png where matplotlib is installed; the record."""
    record = make_wiring_record(lab, Journal(folder.path / JOURNAL).trials)
    return folder.write_report(record, wiring_markdown, _plot)


def make_wiring_record(lab: WiringLab, trials: Sequence[Trial]) -> Record:
    """All that is known after these trials."""
    plan = lab.evolution
    base = {trial.order.seed: trial for trial in trials if trial.order.born == "base"}
    if not base:
        raise UserError("no network without feedback was trained yet: run the stage evolve first")
    first = base.get(plan.base_seeds[0])
    losses = [trial.loss for trial in base.values()]
    middle = sum(losses) / len(losses)
    sigma = math.sqrt(sum((loss - middle) ** 2 for loss in losses) / max(1, len(losses) - 1))
    bred = [t for t in trials if t.order.born not in ("base", "confirmation")]
    ranked = sorted(bred, key=lambda trial: (trial.loss, trial.number))
    rows = [_row(trial, first) for trial in ranked if math.isfinite(trial.loss)]
    confirmed = _confirmed(plan.base_seeds[1:], trials, base)
    ahead = sum(row["loss"] < middle - 2 * sigma for row in rows)
    record = {
        "kind": "lab",
        "experiment": "wiring",
        "question": "Does any feedback from later to earlier blocks learn better than none?",
        "expected": lab.expected or None,
        "base": {
            "losses": {str(seed): trial.loss for seed, trial in base.items()},
            "mean": middle,
            "sigma": sigma,
        },
        "base_blocks": lab.shape.layers,
        "tried": len(bred),
        "without_a_loss": len(bred) - len(rows),
        "wanted": plan.tries,
        "ahead": ahead,
        "rows": rows,
        "confirmed": confirmed,
        "negligible": plan.negligible,
        "settings": config_to_dict(lab),
        **provenance(),
    }
    return record | {"answer": _answer(record)}


def _row(trial: Trial, base: Trial | None) -> Record:
    order = trial.order
    return {
        "number": trial.number,
        "wiring": spelt(order.wiring),
        "wires": [vars(wire) for wire in order.wiring],
        "born": order.born,
        "parents": list(order.parents),
        "loss": trial.loss,
        "difference": None if base is None else trial.loss - base.loss,
        "blocks_run": trial.details["blocks_run"],
        "seconds": trial.details["seconds"],
    }


def _confirmed(seeds: Sequence[int], trials: Sequence[Trial], base: dict[int, Trial]) -> list[Record]:
    """The wirings that were trained again, told from the base seed by seed."""
    found: dict[Any, list[float]] = {}
    for trial in trials:
        seed = trial.order.seed
        if trial.order.born == "confirmation" and seed in seeds and seed in base:
            found.setdefault(trial.order.wiring, []).append(trial.loss - base[seed].loss)
    rows = []
    for wiring, differences in found.items():
        count = len(differences)
        mean = sum(differences) / count
        ends: list[float | None] = [None, None]
        if count > 1:
            spread = math.sqrt(sum((each - mean) ** 2 for each in differences) / (count - 1))
            ends = list(Gain(mean, spread / math.sqrt(count)).ends(count - 1))
        rows.append({"wiring": spelt(wiring), "seeds": count, "difference": mean, "difference_95": ends})
    return rows


RULE = (
    "yes: of a wiring that was trained again, the 95 % interval of its loss less the base's with the same "
    "seed lies below 0. no: every such interval ends above 0 and begins above −{negligible:g}. Otherwise not "
    "decided."
)


def _answer(record: Record) -> str:
    ends = [row["difference_95"] for row in record["confirmed"] if row["difference_95"][0] is not None]
    if any(high < 0 for _, high in ends):
        return "yes"
    return "no" if ends and all(low > -record["negligible"] for low, _ in ends) else "not decided"


def wiring_markdown(record: Record) -> str:
    """The record as text to read."""
    base = record["base"]
    seeds = ", ".join(f"{loss:.4f}" for loss in base["losses"].values())
    budget = record["settings"]["budget"]
    shape = record["settings"]["shape"]
    again = table(
        ["trained again", "other seeds", "loss less the base's"],
        [[row["wiring"], str(row["seeds"]), _ends(row)] for row in record["confirmed"]],
    )
    best = table(
        ["try", "wiring", "born", "of", "loss", "less the base's", "blocks run", "seconds"],
        [
            [
                str(row["number"]),
                row["wiring"],
                row["born"],
                ", ".join(map(str, row["parents"])) or "–",
                f"{row['loss']:.4f}",
                "–" if row["difference"] is None else _signed(row["difference"]),
                str(row["blocks_run"]),
                f"{row['seconds']:.1f}",
            ]
            for row in record["rows"][:SHOWN]
        ],
    )
    parts = [
        f"**{record['answer']}**. The rule. {RULE.format(negligible=record['negligible'])}",
        expected_sentence(record),
        f"{record['tried']} of {record['wanted']} wirings tried, each a network of {shape['layers']} blocks "
        f"of {shape['width']}, {budget['steps']:,} steps of {budget['batch']:,} positions, with one seed and "
        f"the same batches. Without feedback, by seed: {seeds}; mean {base['mean']:.4f}, standard deviation "
        f"{base['sigma']:.4f}. {record['ahead']} wirings lie more than two standard deviations below that "
        f"mean; one in forty would by luck. The base runs {record['base_blocks']} blocks; a wiring that runs "
        "more of them takes that much longer for a position."
        + (f" {lost} ran away and have no loss." if (lost := record["without_a_loss"]) else ""),
        again if record["confirmed"] else "No wiring was trained again yet.",
        "The best of those tried, with the first seed:" if record["rows"] else "",
        best if record["rows"] else "",
    ]
    return page(record, parts)


def _ends(row: Record) -> str:
    low, high = row["difference_95"]
    ends = "" if low is None else f" ({_signed(low)} to {_signed(high)})"
    return _signed(row["difference"]) + ends


def _signed(value: float) -> str:
    return f"{value:+.4f}".replace("-", "−")


def _plot(record: Record, path: Path) -> None:
    """Every wiring's loss in the order it was tried, beside the base's."""
    base = record["base"]
    with sheet(path, 9, 5) as figure:
        axes = figure.subplots()
        axes.axhspan(base["mean"] - 2 * base["sigma"], base["mean"] + 2 * base["sigma"], color="0.9")
        axes.axhline(base["mean"], color="0.5", label="no feedback: mean and two standard deviations")
        for number, born in enumerate(("founder", "mutation", "crossover")):
            inside = [row for row in record["rows"] if row["born"] == born]
            numbers, losses = [row["number"] for row in inside], [row["loss"] for row in inside]
            axes.plot(numbers, losses, "o", color=f"C{number}", label=born)
        axes.set_xlabel("try")
        axes.set_ylabel("held-out loss")
        axes.set_title(record["question"])
        axes.grid(alpha=0.3)
        axes.legend(fontsize=8)
