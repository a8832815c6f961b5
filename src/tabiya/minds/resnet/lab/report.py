"""The last stage: one record of an experiment, out of its manifests, games and exams."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tabiya.arena.provenance import provenance
from tabiya.learn.config import config_to_dict
from tabiya.learn.lab.folder import LabFolder
from tabiya.learn.lab.standings import Standings
from tabiya.minds.resnet.lab.exams import figures
from tabiya.minds.resnet.lab.games import expected_games
from tabiya.minds.resnet.lab.plan import Lab
from tabiya.minds.resnet.lab.variants import comparison
from tabiya.reports.lab_table import markdown, verdict

Row = dict[str, Any]


def write_report(lab: Lab, folder: LabFolder) -> dict[str, Any]:
    """Make report.json and report.md, and report.png where matplotlib is installed; the record."""
    record = make_record(lab, folder)
    folder.write_report(record, markdown(record))
    try:
        import matplotlib  # noqa: F401 - without it there is a table and no picture
    except ImportError:
        return record
    from tabiya.reports.lab_plot import plot_lab

    plot_lab(record, folder.report(".png"))
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
            "differs": variant.differs,
            **_trained(manifests[variant.name]),
            **standings.row(variant.name),
            "exams": figures(lab, folder, variant.name),
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
        "budget": {**config_to_dict(lab.budget), "positions": lab.budget.positions},
        "games": standings.games,
        "rows": rows,
        "anchors": standings.anchor_rows(anchors),
        "notes": [*compared.left_out, *standings.notes(expected_games(lab, compared))],
        "settings": config_to_dict(lab),
        **provenance(),
    }
    return record | {"verdict": verdict(record)}


def _trained(manifest: Mapping[str, Any]) -> Row:
    trained_on = manifest["trained_on"]
    return {
        "parameters": manifest["parameters"],
        "positions": trained_on["positions"],
        "seen": trained_on["seen"],
        "seconds": trained_on["seconds"],
        "device": trained_on["device"],
        "network": manifest["sha256"],
        "data": trained_on["sha256"],
        "validation": {
            key: value for key, value in manifest["measured"].items() if key.startswith("validation_")
        },
    }
