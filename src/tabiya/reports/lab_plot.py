"""The picture of an experiment: Elo with its intervals, network by network or over the number of positions.

Drawn with matplotlib, which only the extra `plot` installs.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tabiya.reports.drawing import sheet
from tabiya.reports.lab_table import budget_sentence, total_positions

INK = "#2f5d8a"
OTHER_INK = "#c8793a"


def plot_lab(record: dict[str, Any], path: Path) -> bool:
    """Draw a report's record into a .png; False, and nothing drawn, where no Elo is known."""
    rows = [row for row in record["rows"] if row.get("difference") is not None]
    if len(rows) < 2:
        return False
    as_curve = record["experiment"] == "resnet-data"
    with sheet(path, 9, 5 if as_curve else 1.5 + 0.45 * len(rows), dpi=120) as figure:
        axes = figure.subplots()
        if as_curve:
            _draw_curve(axes, rows, record["baseline"])
        else:
            draw_differences(axes, rows, record["baseline"])
        axes.set_title(record["question"])
        figure.supxlabel(budget_sentence(record).partition(". ")[0], fontsize=7)
    return True


def _errors(rows: list[dict[str, Any]]) -> list[list[float]]:
    """How far each interval reaches below and above; an end without bound is not drawn."""
    reach: list[list[float]] = [[], []]
    for row in rows:
        low, high = row["difference_95"]
        reach[0].append(0.0 if low is None else row["difference"] - low)
        reach[1].append(0.0 if high is None else high - row["difference"])
    return reach


def _draw_curve(axes: Any, rows: list[dict[str, Any]], baseline: str) -> None:
    x = [total_positions(row) for row in rows]
    y = [row["difference"] for row in rows]
    axes.errorbar(x, y, yerr=_errors(rows), marker="o", capsize=4, color=INK, ecolor=OTHER_INK)
    axes.set_xscale("log")
    axes.set_xlabel("different positions")
    axes.set_ylabel(f"Elo told from {baseline}")
    axes.grid(alpha=0.3)


def draw_differences(axes: Any, rows: list[dict[str, Any]], baseline: str) -> None:
    """A line for each network: its Elo told from the baseline, with its interval."""
    y = list(range(len(rows)))
    axes.axvline(0, color="0.6", linewidth=1)
    axes.errorbar(
        [row["difference"] for row in rows],
        y,
        xerr=_errors(rows),
        fmt="o",
        capsize=4,
        color=INK,
        ecolor=OTHER_INK,
    )
    axes.set_yticks(y, [row["title"] for row in rows])
    axes.invert_yaxis()
    axes.set_xlabel(f"Elo told from {baseline}")
    axes.grid(axis="x", alpha=0.3)
