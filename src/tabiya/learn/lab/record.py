"""The record of an experiment: what every mind's report.json has alike."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tabiya.arena.provenance import provenance
from tabiya.learn.config import config_to_dict
from tabiya.learn.lab.comparison import Comparison, Variant
from tabiya.learn.lab.folder import LabFolder, Record
from tabiya.learn.lab.plan import LabPlan
from tabiya.learn.lab.standings import Row, Standings
from tabiya.reports.lab_table import verdict

Manifest = Mapping[str, Any]


def comparison_record(
    lab: LabPlan,
    folder: LabFolder,
    compared: Comparison[Variant],
    own_row: Callable[[Variant, Manifest], Row],
    **own: Any,
) -> Record:
    """Of an experiment that tells its networks from a baseline; `own` is what only its mind has to tell."""
    manifests = folder.manifests(compared.names)
    standings = Standings.of(folder, compared.baseline, lab.measures.anchors)
    rows = [
        {
            "name": variant.name,
            "title": variant.title,
            **trained_row(manifests[variant.name]),
            **standings.row(variant.name),
            **own_row(variant, manifests[variant.name]),
        }
        for variant in compared.variants
    ]
    notes = [*compared.left_out, *standings.notes(lab.measures.expected_games(len(rows)))]
    own = {"baseline": compared.baseline, **own}
    record = lab_record(lab, compared.question, standings, rows, notes, own)
    return record | {"verdict": verdict(record)}


def lab_record(
    lab: LabPlan,
    question: str,
    standings: Standings,
    rows: Sequence[Row],
    notes: Sequence[str],
    own: Mapping[str, Any],
) -> Record:
    """All that was measured of an experiment, as it stands in report.json."""
    return {
        "kind": "lab",
        "experiment": lab.experiment,
        "question": question,
        "expected": lab.expected or None,
        **own,
        "scale": standings.known,
        "budget": config_to_dict(lab.budget),
        "games": standings.games,
        "rows": rows,
        "anchors": standings.anchor_rows(lab.measures.anchors),
        "notes": notes,
        "settings": config_to_dict(lab),
        **provenance(),
    }


def trained_row(manifest: Manifest) -> Row:
    """What a network's line in the table says of its training."""
    trained_on = manifest["trained_on"]
    return {
        "parameters": manifest["parameters"],
        **{key: trained_on[key] for key in ("positions", "seen", "seconds", "device")},
        "network": manifest["sha256"],
        "data": trained_on["sha256"],
    }


def validation(manifest: Manifest) -> Row:
    """The held-out losses that a network ended with."""
    return {key: value for key, value in manifest["measured"].items() if key.startswith("validation_")}
