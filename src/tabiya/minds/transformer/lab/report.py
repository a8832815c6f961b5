"""The last stage of `implicit`: one record out of manifests, games and answers; tables and a picture."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tabiya.arena.provenance import provenance
from tabiya.learn.config import config_to_dict
from tabiya.learn.lab.folder import LabFolder
from tabiya.learn.lab.standings import Standings
from tabiya.minds.transformer.lab.findings import Findings
from tabiya.minds.transformer.lab.hypotheses import answer_all, rule
from tabiya.minds.transformer.lab.implicit_table import markdown
from tabiya.minds.transformer.lab.plan import ImplicitLab, Size
from tabiya.minds.transformer.lab.play import expected_games
from tabiya.minds.transformer.lab.variants import entrants_of, variants_of

Row = dict[str, Any]
QUESTION = "Does the network that can look ahead play better, and does the gap grow with its size?"


def write_report(lab: ImplicitLab, folder: LabFolder) -> dict[str, Any]:
    """Make report.json and report.md, and report.png where matplotlib is installed; the record."""
    record = make_record(lab, folder)
    folder.write_report(record, markdown(record))
    try:
        import matplotlib  # noqa: F401 - without it there are tables and no picture
    except ImportError:
        return record
    from tabiya.minds.transformer.lab.implicit_plot import plot_implicit

    plot_implicit(record, folder.report(".png"))
    return record


def make_record(lab: ImplicitLab, folder: LabFolder) -> dict[str, Any]:
    """All that was measured, as it stands in report.json."""
    manifests = folder.manifests(variant.name for variant in variants_of(lab))
    findings = Findings(lab, folder)
    anchors = lab.measures.anchors
    standings = Standings.of(folder, entrants_of(lab, lab.sizes[0])[0].name, anchors)
    rows = [row for size in lab.sizes for row in _rows(findings, standings, manifests, size)]
    return {
        "kind": "lab",
        "experiment": lab.experiment,
        "question": QUESTION,
        "expected": lab.expected or None,
        "answers": answer_all(findings),
        "rule": rule(findings),
        "sizes": [size.name for size in lab.sizes],
        "noise": {measure: vars(noise) for measure, noise in findings.noise.items()},
        "scale": standings.known,
        "budget": config_to_dict(lab.budget),
        "games": standings.games,
        "rows": rows,
        "anchors": standings.anchor_rows(anchors),
        "notes": standings.notes(expected_games(lab)),
        "settings": config_to_dict(lab),
        **provenance(),
    }


def _rows(
    findings: Findings, standings: Standings, manifests: Mapping[str, Mapping[str, Any]], size: Size
) -> list[Row]:
    """A line for every network of a size, and for its first base looking twice."""
    told = findings.elo_from_base(size)
    rows = []
    for variant in variants_of(findings.lab):
        if variant.size == size:
            exams = {kind: _shown(figures) for kind, figures in findings.exams[variant.name].items()}
            rows.append(
                {
                    "name": variant.name,
                    "size": size.name,
                    "variant": variant.kind,
                    "title": variant.title,
                    "differs": variant.differs,
                    "passes": 1,
                    "seed": variant.seed,
                    **_trained(manifests[variant.name]),
                    "exams": exams,
                }
            )
    again = entrants_of(findings.lab, size)[-1]
    first = rows[0]
    twice = {"puzzles": first["exams"].get("puzzles-twice")} if "puzzles-twice" in first["exams"] else {}
    look = {"name": again.name, "title": "the base, looking twice", "differs": "passes = 2", "passes": 2}
    rows.append({**first, **look, "exams": twice})
    for row in rows:
        row["exams"].pop("puzzles-twice", None)
        row |= standings.row(row["name"])
        gain = told.get(row["name"])
        ends = None if gain is None else [gain.value - 1.96 * gain.error, gain.value + 1.96 * gain.error]
        row["difference"] = (
            0.0 if row["name"] == first["name"] else None if gain is None else round(gain.value, 1)
        )
        row["difference_95"] = [None, None] if ends is None else [round(end, 1) for end in ends]
        if row["name"] == first["name"]:
            row["difference_95"] = [0.0, 0.0]
    return rows


def _shown(figures: Mapping[str, Any]) -> Row:
    """An exam's figures without the single answers."""
    return {key: value for key, value in figures.items() if key not in ("each", "lengths")}


def _trained(manifest: Mapping[str, Any]) -> Row:
    trained_on, measured = manifest["trained_on"], manifest["measured"]
    return {
        "parameters": manifest["parameters"],
        "positions": trained_on["positions"],
        "seen": trained_on["seen"],
        "steps": trained_on["steps"],
        "seconds": trained_on["seconds"],
        "device": trained_on["device"],
        "network": manifest["sha256"],
        "data": trained_on["sha256"],
        "positions_per_second": measured.get("positions_per_second"),
        "validation": {key: value for key, value in measured.items() if key.startswith("validation_")},
    }
