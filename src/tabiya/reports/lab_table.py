"""The record of an experiment as a table to read, and its outcome in a sentence.

Works on the record alone (report.json), so a table can be made again from
what is kept. A figure stands with its 95 % interval or not at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

Record = dict[str, Any]


def markdown(record: Record) -> str:
    """The whole report."""
    parts = [
        record["verdict"],
        budget_sentence(record),
        _main_table(record),
        scale_sentence(record),
        _bands_table(record),
    ]
    return page(record, parts)


def page(record: Record, parts: Sequence[str]) -> str:
    """A report of these parts, empty ones left out, between its question and where it comes from."""
    whole = [
        f"# {record['experiment']}: {record['question']}",
        *parts,
        "\n".join(f"- {note}" for note in record.get("notes", ())),
        f"Made by version {record['version']}, commit {record['commit']}, on {record['date']}.",
    ]
    return "\n\n".join(part for part in whole if part) + "\n"


def expected_sentence(record: Record) -> str:
    """What was expected before the first step, if anything."""
    return f"Expected before: {record['expected']}" if record["expected"] else ""


def budget_sentence(record: Record) -> str:
    """What every network got alike."""
    budget = record["budget"]
    shape, trained = budget["shape"], [row for row in record["rows"] if row["seen"]]
    seconds = [row["seconds"] for row in trained]
    devices = sorted({row["device"] for row in trained})
    took = f", {min(seconds):.0f} to {max(seconds):.0f} s each on {', '.join(devices)}" if trained else ""
    return (
        f"Every network: {shape['blocks']} blocks of {shape['channels']} channels, {budget['steps']:,} steps "
        f"of {budget['batch']:,} positions ({budget['positions']:,} shown, repeats included), seed "
        f"{budget['seed']}{took}. {record['games']:,} games."
    )


def verdict(record: Record) -> str:
    """The outcome in a sentence or two, as far as the intervals allow one."""
    known = [row for row in record["rows"] if row.get("difference") is not None]
    others = [row for row in known if row["name"] != record["baseline"]]
    if not others:
        return "No games tie the networks to each other yet."
    best, worst = max(others, key=_difference), min(others, key=_difference)
    said = [f"Told from {record['baseline']}, {best['name']} is best at {signed(best, 'difference')}"]
    if worst is not best:
        said.append(f" and {worst['name']} worst at {signed(worst, 'difference')}")
    level = [row["name"] for row in others if _within(row, 0.0)]
    sentence = "".join(said) + "."
    return sentence + (f" Not told apart from it by these games: {', '.join(level)}." if level else "")


def signed(row: Record, key: str) -> str:
    """A rating or difference with its interval; a bound where there is no more."""
    value, (low, high) = row.get(key), row.get(f"{key}_95", (None, None))
    form = "+.0f" if key == "difference" else ".0f"
    if value is None and low is not None:
        text = f"above {low:{form}}"
    elif value is None:
        text = "–" if high is None else f"below {high:{form}}"
    elif low == high:
        text = f"{value:{form}}"
    else:
        text = f"{value:{form}} ({_end(low, form)} to {_end(high, form)})"
    return text.replace("-", "−")


def _end(bound: float | None, form: str) -> str:
    return "no bound" if bound is None else f"{bound:{form}}"


def anchor_rating(anchor: Record) -> str:
    """An anchor's Elo: given, or as the games tell it."""
    return f"{anchor['known']:.0f}, given" if anchor["known"] is not None else signed(anchor, "rating")


def share(figures: Record | None, key: str, ends: str) -> str:
    """A share in per cent with its interval."""
    if not figures or figures.get(key) is None:
        return "–"
    low, high = figures[ends]
    return f"{100 * figures[key]:.1f} % ({100 * low:.1f} to {100 * high:.1f})"


def total_positions(row: Record) -> int:
    """Different positions that a network could learn from."""
    return sum(row["positions"].values())


def _main_table(record: Record) -> str:
    exams = list(dict.fromkeys(kind for row in record["rows"] for kind in row["exams"]))
    head = ["network", "what it is", "what differs", f"Elo from {record['baseline']}", "Elo"]
    head += [_exam_title(kind) for kind in exams] + ["positions", "parameters"]
    rows = []
    for row in record["rows"]:
        cells = [row["name"], row["title"], row["differs"], signed(row, "difference"), signed(row, "rating")]
        cells += [_exam_cell(row["exams"].get(kind), kind) for kind in exams]
        rows.append([*cells, f"{total_positions(row):,}", f"{row['parameters']:,}"])
    for anchor in record["anchors"]:
        rows.append([anchor["name"], "anchor", "", "", anchor_rating(anchor), *[""] * len(exams), "", ""])
    return table(head, rows)


def _exam_title(kind: str) -> str:
    return "agrees with the teacher" if kind == "agree" else f"puzzles ({kind.removeprefix('puzzles-')})"


def _exam_cell(figures: Record | None, kind: str) -> str:
    return (
        share(figures, "top1", "top1_95") if kind == "agree" else share(figures, "solved_share", "solved_95")
    )


def _bands_table(record: Record) -> str:
    """Puzzles solved by rating band, a column for each network."""
    answered = [
        (f"{row['name']}, {kind.removeprefix('puzzles-')}", figures)
        for row in record["rows"]
        for kind, figures in row["exams"].items()
        if kind.startswith("puzzles-")
    ]
    if not answered:
        return ""
    bands = sorted({(band["from"], band["to"]) for _, figures in answered for band in figures["by_rating"]})
    rows = []
    for name, figures in answered:
        by_band = {(band["from"], band["to"]): band for band in figures["by_rating"]}
        cells = [by_band.get(band) for band in bands]
        rows.append([name, *(f"{100 * cell['solved_share']:.0f} %" if cell else "–" for cell in cells)])
    counts = {(band["from"], band["to"]): band["puzzles"] for band in answered[0][1]["by_rating"]}
    rows.append(["puzzles", *(f"{counts.get(band, 0):,}" for band in bands)])
    head = ["solved, by the puzzles' rating", *(f"{low}–{high}" for low, high in bands)]
    return table(head, rows)


def scale_sentence(record: Record) -> str:
    """What the ratings are told from."""
    if not record["scale"]:
        return "Elo without a known anchor: the average of the list is 0."
    anchors = ", ".join(f"{name} = {elo:.0f}" for name, elo in record["scale"].items())
    return f"Elo on the scale of {anchors}. Intervals are 95 %."


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Rows of cells as Markdown has them."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', '/') for cell in line)} |" for line in lines)


def _difference(row: Record) -> float:
    return float(row["difference"])


def _within(row: Record, value: float) -> bool:
    low, high = row["difference_95"]
    return (low is None or low <= value) and (high is None or value <= high)
