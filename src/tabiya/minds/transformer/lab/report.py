"""The last stage of `implicit`: one record out of manifests, games and answers; tables and a picture."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tabiya.learn.lab.folder import LabFolder, Record
from tabiya.learn.lab.record import Manifest, lab_record, trained_row, validation
from tabiya.learn.lab.standings import Row, Standings
from tabiya.minds.transformer.lab.findings import Findings
from tabiya.minds.transformer.lab.hypotheses import answer_all, rule
from tabiya.minds.transformer.lab.implicit_plot import plot_implicit
from tabiya.minds.transformer.lab.implicit_table import markdown
from tabiya.minds.transformer.lab.plan import ImplicitLab, Size
from tabiya.minds.transformer.lab.play import expected_games
from tabiya.minds.transformer.lab.variants import entrants_of, names_of, variants_of

QUESTION = "Does the network that can look ahead play better, and does the gap grow with its size?"


def write_report(lab: ImplicitLab, folder: LabFolder) -> Record:
    """Make report.json and report.md, and report.png where matplotlib is installed; the record."""
    manifests = folder.manifests(names_of(lab))
    findings = Findings(lab, folder)
    standings = Standings.of(folder, entrants_of(lab, lab.sizes[0])[0].name, lab.measures.anchors)
    rows = [row for size in lab.sizes for row in _rows(findings, standings, manifests, size)]
    own = {
        "answers": answer_all(findings),
        "rule": rule(findings),
        "sizes": [size.name for size in lab.sizes],
        "noise": {measure: vars(noise) for measure, noise in findings.noise.items()},
    }
    record = lab_record(lab, QUESTION, standings, rows, standings.notes(expected_games(lab)), own)
    return folder.write_report(record, markdown, plot_implicit)


def _rows(
    findings: Findings, standings: Standings, manifests: Mapping[str, Manifest], size: Size
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


def _trained(manifest: Manifest) -> Row:
    return {
        **trained_row(manifest),
        "steps": manifest["trained_on"]["steps"],
        "positions_per_second": manifest["measured"].get("positions_per_second"),
        "validation": validation(manifest),
    }
