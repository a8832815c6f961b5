"""The record of `implicit` as text to read: answers first, then what they rest on.

Works on the record alone (report.json), so the page can be made again from
what is kept. A figure stands with its 95 % interval or not at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tabiya.reports.lab_table import (
    anchor_rating,
    expected_sentence,
    page,
    scale_sentence,
    share,
    signed,
    table,
)

Record = dict[str, Any]
MEASURES = {
    "elo": "Elo",
    "puzzles": "puzzles, points",
    "teacher": "teacher's move, points",
    "people": "people's move, points",
}


def markdown(record: Record) -> str:
    """The whole report."""
    parts = [
        _answers(record),
        f"The rule. {record['rule']}",
        expected_sentence(record),
        _budget(record),
        "## Every gain",
        _gains(record),
        _noise(record),
        *(text for size in record["sizes"] for text in _size(record, size)),
        scale_sentence(record),
        _anchors(record),
    ]
    return page(record, parts)


def shown_gain(told: Record | None, measure: str) -> str:
    """A gain with its interval: Elo as it is, shares in points of a hundred."""
    if told is None or told["gain"] is None:
        return "–"
    scale, form = (1.0, "+.0f") if measure == "elo" else (100.0, "+.1f")
    low, high = told["gain_95"]
    ends = "" if low is None else f" ({scale * low:{form}} to {scale * high:{form}})"
    return f"{scale * told['gain']:{form}}{ends}".replace("-", "−")


def _answers(record: Record) -> str:
    rows = []
    for each in record["answers"]:
        told = each["gains"][each["at"]]
        figure = f"{shown_gain(told[each['by']], each['by'])} {MEASURES[each['by']]} at {each['at']}"
        rows.append([each["claim"], f"**{each['answer']}**", figure, each["why"]])
    return table(["hypothesis", "answer", "the gain", "because"], rows)


def _gains(record: Record) -> str:
    known = [m for m in MEASURES if any(_has(each, m) for each in record["answers"])]
    rows = [
        [each["gain"], where, *(_cell(told.get(measure), measure) for measure in known)]
        for each in record["answers"]
        for where, told in each["gains"].items()
    ]
    return table(["gain of", "at", *(MEASURES[measure] for measure in known)], rows)


def _has(answer: Record, measure: str) -> bool:
    return any(told.get(measure, {}).get("gain") is not None for told in answer["gains"].values())


def _cell(told: Record | None, measure: str) -> str:
    text = shown_gain(told, measure)
    return text if told is None or told["says"] == "not decided" else f"{text}, {told['says']}"


def _noise(record: Record) -> str:
    said = []
    for measure, noise in record["noise"].items():
        if noise["freedom"]:
            text = (
                f"{noise['sigma']:.0f} Elo"
                if measure == "elo"
                else f"{100 * noise['sigma']:.1f} points of {measure}"
            )
            said.append(text)
    if not said:
        return "The base has one seed: nothing is known of its luck, and nothing can be decided."
    freedom = max(noise["freedom"] for noise in record["noise"].values())
    return (
        "One seed's luck, as a standard deviation beyond what games and questions explain: "
        f"{', '.join(said)} ({freedom} degrees of freedom)."
    )


def _budget(record: Record) -> str:
    budget, trained = record["budget"], [row for row in record["rows"] if row["passes"] == 1]
    sizes = []
    for size in record["sizes"]:
        inside = [row for row in trained if row["size"] == size]
        seconds = sum(row["seconds"] for row in inside)
        sizes.append(
            f"{size}: {len(inside)} networks of {inside[0]['steps']:,} steps ({inside[0]['seen']:,} positions"
            f" shown), {seconds:.0f} s"
        )
    devices = ", ".join(sorted({row["device"] for row in trained}))
    return (
        f"Steps of {budget['batch']:,} positions, learning rate {budget['peak_rate']:g}, on {devices}. "
        f"{'; '.join(sizes)}. {record['games']:,} games. Networks of one size see equally many positions; "
        "feedback runs half of the blocks twice, and two tokens for a square cost more attention."
    )


def _size(record: Record, size: str) -> list[str]:
    rows = [row for row in record["rows"] if row["size"] == size]
    head = [
        size,
        "what it is",
        "Elo from the base",
        "Elo",
        "puzzles solved",
        "teacher's move",
        "people's move",
    ]
    head += ["on illegal moves", "illegal move first", "parameters", "seconds"]
    lines = []
    for row in rows:
        exams = row["exams"]
        asked = exams.get("teacher") or exams.get("people")
        cells = [row["variant"] if row["passes"] == 1 else "base, twice", row["title"]]
        cells += [signed(row, "difference"), signed(row, "rating")]
        cells += [share(exams.get("puzzles"), "solved_share", "solved_95")]
        cells += [share(exams.get(kind), "top1", "top1_95") for kind in ("teacher", "people")]
        cells += [share(asked, "illegal", "illegal_95"), share(asked, "first_illegal", "first_illegal_95")]
        lines.append([*cells, f"{row['parameters']:,}", f"{row['seconds']:.0f}"])
    found = [f"## {size}", table(head, lines)]
    by_rating = _parts(rows, "by_rating", "rating", lambda part: f"{part['from']}–{part['to']}")
    by_length = _parts(rows, "by_length", "moves of the solution", lambda part: str(part["moves"]))
    return [*found, *(text for text in (by_rating, by_length) if text)]


def _parts(rows: Sequence[Record], key: str, title: str, name: Any) -> str:
    """Puzzles solved by rating or by length, a line for each network."""
    asked = [row for row in rows if row["exams"].get("puzzles")]
    if not asked:
        return ""
    columns = [name(part) for part in asked[0]["exams"]["puzzles"][key]]
    lines = []
    for row in asked:
        cells = {
            name(part): share(part, "solved_share", "solved_95") for part in row["exams"]["puzzles"][key]
        }
        lines.append([row["name"], *(cells.get(column, "–") for column in columns)])
    counts = [f"{part['puzzles']:,}" for part in asked[0]["exams"]["puzzles"][key]]
    return table([f"solved, by {title}", *columns], [*lines, ["puzzles", *counts]])


def _anchors(record: Record) -> str:
    rows = [[anchor["name"], anchor_rating(anchor)] for anchor in record["anchors"]]
    return table(["anchor", "Elo"], rows) if rows else ""
