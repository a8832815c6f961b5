"""The picture of a data folder: its ratings, plies, results and duplicates side by side.

Drawn with matplotlib, which only the extra `plot` installs.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tabiya.errors import UserError
from tabiya.reports.drawing import can_draw, sheet

INK = "#2f5d8a"
OTHER_INK = "#c8793a"


def check_plot(path: Path) -> None:
    """Refuse, before any work is done, a picture that could not be drawn in the end."""
    if path.suffix not in (".png", ".svg"):
        raise UserError(f"a plot is a .png or a .svg file, got {path}")
    if path.is_dir():
        raise UserError(f"{path} is a folder: --plot must name a file")
    if not can_draw():
        raise UserError("--plot needs matplotlib: install it with `pip install 'tabiya[plot]'`")


def plot_stats(stats: dict[str, Any], path: Path) -> None:
    """Draw the figures of `tabiya.data.stats.folder_stats` into `path`."""
    check_plot(path)
    names = {"white": "White wins", "draw": "draw", "black": "Black wins", "unknown": "unknown"}
    outcomes = {names[name]: entry["positions"] for name, entry in stats["results"].items()}
    found = stats["duplicates"]
    how = "" if found["method"] == "exact" else f" (estimated from one in {found['one_in']})"
    kinds = {"first of its kind": found["distinct"], "duplicate": found["duplicates"]}
    with sheet(path, 11, 7, dpi=120) as figure:
        figure.suptitle(f"{stats['folder']}: {stats['positions']:,} positions of {stats['games']:,} games")
        ratings, plies, results, duplicates = figure.subplots(2, 2).flat
        _draw_histogram(ratings, stats["ratings"]["histogram"], "average rating of the players")
        _draw_histogram(plies, stats["plies"]["histogram"], "half-moves played")
        _draw_bars(results, outcomes, "result")
        _draw_bars(duplicates, kinds, f"duplicates{how}")


def _draw_histogram(axes: Any, histogram: list[dict[str, int]], title: str) -> None:
    _name_axes(axes, title)
    if not histogram:
        axes.text(0.5, 0.5, "none known", ha="center", va="center", transform=axes.transAxes)
        return
    step = histogram[0]["to"] - histogram[0]["from"]
    axes.bar(
        [bin["from"] for bin in histogram],
        [bin["positions"] for bin in histogram],
        width=0.9 * step,
        align="edge",
        color=INK,
    )


def _draw_bars(axes: Any, counts: dict[str, int], title: str) -> None:
    _name_axes(axes, title)
    axes.bar(list(counts), list(counts.values()), width=0.6, color=OTHER_INK)


def _name_axes(axes: Any, title: str) -> None:
    axes.set_title(title)
    axes.set_ylabel("positions")
    axes.yaxis.set_major_formatter("{x:,.0f}")
