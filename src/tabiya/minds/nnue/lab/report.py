"""The last stage: one record of an experiment, out of its manifests, games and exams, and its pictures."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tabiya.arena.provenance import provenance
from tabiya.learn.config import config_to_dict
from tabiya.learn.lab.exams import answers
from tabiya.learn.lab.folder import LabFolder, read_json
from tabiya.learn.lab.standings import Standings
from tabiya.minds.nnue.lab.choices import shown_choices
from tabiya.minds.nnue.lab.plan import Lab
from tabiya.minds.nnue.lab.play import expected_games, kinds
from tabiya.minds.nnue.lab.variants import Variant, comparison
from tabiya.reports.lab_table import verdict
from tabiya.reports.nnue_lab_table import markdown

Row = dict[str, Any]


def write_report(lab: Lab, folder: LabFolder) -> dict[str, Any]:
    """Make report.json and report.md and, where matplotlib is installed, the pictures; the record."""
    record = make_record(lab, folder)
    folder.write_report(record, markdown(record))
    if record["pictures"]:
        _draw(folder, record)
    return record


def make_record(lab: Lab, folder: LabFolder) -> dict[str, Any]:
    """All that was measured of an experiment, as it stands in report.json."""
    compared = comparison(lab)
    manifests = folder.manifests(variant.name for variant in compared.variants)
    anchors = lab.measures.anchors
    standings = Standings.of(folder, compared.baseline, anchors)
    rows = [
        {
            "name": variant.name,
            "title": variant.title,
            **_shape(variant, manifests[variant.name]["config"]["shape"]),
            **_trained(manifests[variant.name]),
            **standings.row(variant.name),
            "exams": answers(folder, variant.name, kinds(lab)),
            **{key: value for key, value in _inside(folder, variant.name).items() if key != "weights"},
        }
        for variant in compared.variants
    ]
    record = {
        "kind": "lab",
        "experiment": lab.experiment,
        "question": compared.question,
        "expected": lab.expected or None,
        "baseline": compared.baseline,
        "scale": standings.known,
        "budget": config_to_dict(lab.budget),
        "pace": lab.measures.pace().words(),
        "games": standings.games,
        "rows": rows,
        "anchors": standings.anchor_rows(anchors),
        "choices": shown_choices(folder),
        "notes": standings.notes(expected_games(lab, compared)),
        "pictures": _pictures([variant.name for variant in compared.variants]),
        "settings": config_to_dict(lab),
        **provenance(),
    }
    return record | {"verdict": verdict(record)}


def _shape(variant: Variant, shape: Mapping[str, Any]) -> Row:
    chosen, features = variant.choice, shape["features"]
    if chosen is not None:
        # The expression itself names every single one.
        features = f"ALL + {chosen.count:,} of PIECE-PIECE by {chosen.by}"
    sizes = {key: shape[key] for key in ("l1", "l2", "extra")}
    return {"features": features, **sizes, "method": variant.method, "after": variant.after}


def _trained(manifest: Mapping[str, Any]) -> Row:
    trained_on, measured = manifest["trained_on"], manifest["measured"]
    own = [value for key, value in measured.items() if key.startswith("validation_") and value is not None]
    return {
        "parameters": manifest["parameters"],
        "positions": trained_on["positions"],
        "seen": trained_on["seen"],
        "steps": trained_on["steps"],
        "seconds": trained_on["seconds"],
        "positions_per_second": trained_on["positions_per_second"],
        "device": trained_on["device"],
        "network": manifest["sha256"],
        "data": trained_on["sha256"],
        "loss": measured["evaluation_loss"],
        "train_loss": measured.get("loss"),
        "own_loss": sum(own) / len(own) if own else None,
        "prefers_played": measured.get("prefers_played"),
    }


def _inside(folder: LabFolder, name: str) -> dict[str, Any]:
    found = read_json(folder.network(name).with_name(f"{name}.inside.json"))
    return {"inputs": found["features"], **{key: found[key] for key in ("neurons", "curve", "weights")}}


def _pictures(names: list[str]) -> dict[str, str]:
    """The pictures of a report by what they show; none without matplotlib."""
    try:
        import matplotlib  # noqa: F401 - without it there are tables and no pictures
    except ImportError:
        return {}
    return {"report": "report.png", **{name: f"weights/{name}.png" for name in names}}


def _draw(folder: LabFolder, record: dict[str, Any]) -> None:
    from tabiya.reports.nnue_lab_plot import plot_nnue_lab, plot_weights

    plot_nnue_lab(record, folder.path / record["pictures"]["report"])
    for row in record["rows"]:
        weights = _inside(folder, row["name"])["weights"]
        target: Path = folder.path / record["pictures"][row["name"]]
        plot_weights(f"{row['name']}: {row['title']}", weights, target)
