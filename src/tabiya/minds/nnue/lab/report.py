"""The last stage: one record of an experiment, out of its manifests, games and exams, and its pictures."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from tabiya.learn.lab.exams import answers
from tabiya.learn.lab.folder import LabFolder, Record, read_json
from tabiya.learn.lab.record import Manifest, comparison_record, validation
from tabiya.learn.lab.standings import Row
from tabiya.minds.nnue.lab.choices import shown_choices
from tabiya.minds.nnue.lab.plan import Lab
from tabiya.minds.nnue.lab.play import kinds
from tabiya.minds.nnue.lab.variants import Variant, comparison
from tabiya.reports.drawing import can_draw
from tabiya.reports.nnue_lab_plot import plot_nnue_lab, plot_weights
from tabiya.reports.nnue_lab_table import markdown


def write_report(lab: Lab, folder: LabFolder) -> Record:
    """Make report.json and report.md and, where matplotlib is installed, the pictures; the record."""
    compared = comparison(lab)

    def own_row(variant: Variant, manifest: Manifest) -> Row:
        return {
            **_shape(variant, manifest["config"]["shape"]),
            **_trained(manifest),
            "exams": answers(folder, variant.name, kinds(lab)),
            **{key: value for key, value in _inside(folder, variant.name).items() if key != "weights"},
        }

    record = comparison_record(
        lab,
        folder,
        compared,
        own_row,
        pace=lab.measures.pace().words(),
        choices=shown_choices(folder),
        pictures=_pictures(compared.names),
    )
    return folder.write_report(record, markdown, partial(_draw, folder))


def _shape(variant: Variant, shape: Mapping[str, Any]) -> Row:
    chosen, features = variant.choice, shape["features"]
    if chosen is not None:
        # The expression itself names every single one.
        features = f"ALL + {chosen.count:,} of PIECE-PIECE by {chosen.by}"
    sizes = {key: shape[key] for key in ("l1", "l2", "extra")}
    return {"features": features, **sizes, "method": variant.method, "after": variant.after}


def _trained(manifest: Manifest) -> Row:
    trained_on, measured = manifest["trained_on"], manifest["measured"]
    own = [value for value in validation(manifest).values() if value is not None]
    return {
        "steps": trained_on["steps"],
        "positions_per_second": trained_on["positions_per_second"],
        "loss": measured["evaluation_loss"],
        "train_loss": measured.get("loss"),
        "own_loss": sum(own) / len(own) if own else None,
        "prefers_played": measured.get("prefers_played"),
    }


def _inside(folder: LabFolder, name: str) -> dict[str, Any]:
    found = read_json(folder.network(name).with_name(f"{name}.inside.json"))
    return {"inputs": found["features"], **{key: found[key] for key in ("neurons", "curve", "weights")}}


def _pictures(names: list[str]) -> dict[str, str]:
    """The pictures of a report by what they show; none where none can be drawn."""
    return {"report": "report.png", **{name: f"weights/{name}.png" for name in names}} if can_draw() else {}


def _draw(folder: LabFolder, record: Record, path: Path) -> None:
    plot_nnue_lab(record, path)
    for row in record["rows"]:
        weights = _inside(folder, row["name"])["weights"]
        plot_weights(f"{row['name']}: {row['title']}", weights, folder.path / record["pictures"][row["name"]])
