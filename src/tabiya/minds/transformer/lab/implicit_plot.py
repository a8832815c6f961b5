"""The picture of `implicit`: gains over the sizes, puzzles by the length of their line, illegal moves.

Drawn with matplotlib, which only the extra `plot` installs.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tabiya.reports.drawing import sheet

Record = dict[str, Any]
FEW = 30
"""Puzzles of a length below which the curve leaves it out, unless all lengths have so few."""
TITLES = {"elo": "gain in Elo", "puzzles": "gain in puzzles solved, points"}


def plot_implicit(record: Record, path: Path) -> None:
    """Four panels on one sheet."""
    with sheet(path, 14, 11) as figure:
        figure.suptitle(record["question"])
        panels = figure.subplots(2, 2)
        for axes, measure in zip(panels[0], TITLES, strict=True):
            _draw_gains(axes, record, measure)
        _draw_lengths(panels[1][0], record)
        _draw_illegal(panels[1][1], record)


def _draw_gains(axes: Any, record: Record, measure: str) -> None:
    """Every gain with its interval, the sizes beside each other."""
    sizes = record["sizes"]
    asked = [each for each in record["answers"] if set(each["gains"]) == set(sizes) and each["by"] == "elo"]
    scale = 1.0 if measure == "elo" else 100.0
    axes.axvline(0, color="0.6", linewidth=1)
    for number, size in enumerate(sizes):
        places, values, reach = [], [], []
        for place, each in enumerate(asked):
            told = each["gains"][size].get(measure)
            if told is None or told["gain"] is None:
                continue
            high = told["gain_95"][1]
            places.append(place + 0.22 * (number - (len(sizes) - 1) / 2))
            values.append(scale * told["gain"])
            reach.append(0.0 if high is None else scale * (high - told["gain"]))
        axes.errorbar(values, places, xerr=reach, fmt="o", capsize=3, markersize=4, label=size)
    axes.set_yticks(range(len(asked)), [each["gain"] for each in asked], fontsize=7)
    axes.invert_yaxis()
    axes.set_xlabel(TITLES[measure])
    axes.grid(axis="x", alpha=0.3)
    axes.legend(fontsize=8)


def _draw_lengths(axes: Any, record: Record) -> None:
    """Puzzles solved by the length of their solution, base and board turned, at every size."""
    for number, size in enumerate(record["sizes"]):
        for variant, style in (("base", "-o"), ("flipped", "--s"), ("masked", ":^")):
            row = next(
                (r for r in record["rows"] if (r["size"], r["variant"], r["passes"]) == (size, variant, 1)),
                None,
            )
            puzzles = row["exams"].get("puzzles") if row else None
            if not puzzles:
                continue
            # The interval of a handful would be all that is to be seen.
            enough = [part for part in puzzles["by_length"] if part["puzzles"] >= FEW]
            parts = enough or puzzles["by_length"]
            x = [part["moves"] for part in parts]
            y = [100 * part["solved_share"] for part in parts]
            low = [100 * (part["solved_share"] - part["solved_95"][0]) for part in parts]
            high = [100 * (part["solved_95"][1] - part["solved_share"]) for part in parts]
            axes.errorbar(
                x, y, yerr=[low, high], fmt=style, color=f"C{number}", capsize=2, label=f"{size} {variant}"
            )
    axes.set_xlabel("moves of the solution")
    axes.set_ylabel("% solved")
    axes.grid(alpha=0.3)
    if axes.get_legend_handles_labels()[0]:
        axes.legend(fontsize=7)


def _draw_illegal(axes: Any, record: Record) -> None:
    """The probability left to illegal moves when nothing is masked."""
    rows = [row for row in record["rows"] if row["passes"] == 1 and _asked(row)]
    variants = list(dict.fromkeys(row["variant"] for row in rows))
    for number, size in enumerate(record["sizes"]):
        inside = [row for row in rows if row["size"] == size]
        places = [variants.index(row["variant"]) + 0.22 * (number - 1) for row in inside]
        axes.plot([100 * _asked(row)["illegal"] for row in inside], places, "o", markersize=4, label=size)
    axes.set_yticks(range(len(variants)), variants, fontsize=7)
    axes.invert_yaxis()
    axes.set_xlabel("% of the probability on illegal moves")
    axes.grid(axis="x", alpha=0.3)
    if rows:
        axes.legend(fontsize=8)


def _asked(row: Record) -> Record:
    found: Record = row["exams"].get("teacher") or row["exams"].get("people") or {}
    return found
