"""The pictures of an NNUE's experiment: curves, Elo, heat maps, neurons, and weights on the board.

Drawn with matplotlib, which only the extra `plot` installs.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from tabiya.reports.drawing import sheet
from tabiya.reports.lab_plot import INK, OTHER_INK, draw_differences
from tabiya.reports.nnue_lab_table import GRIDS, grid_of

Record = dict[str, Any]
Panel = Callable[[Any], None]

PIECES = "♙♘♗♖♕♔♟♞♝♜♛♚"
NAMED_CURVES = 12
"""Curves that a legend can still name."""


def plot_nnue_lab(record: Record, path: Path) -> None:
    """Everything that is known of an experiment on one sheet."""
    panels = _panels(record)
    across = 2
    down = -(-len(panels) // across)
    tall = min(6.0, max(4.0, 1.5 + 0.22 * len(record["rows"])))
    with sheet(path, 13, tall * down, dpi=100) as figure:
        figure.suptitle(record["question"])
        for number, panel in enumerate(panels, 1):
            panel(figure.add_subplot(down, across, number))


def plot_weights(title: str, weights: Record, path: Path) -> None:
    """One row for each neuron, one board for each piece: what it adds there."""
    boards = np.array(weights["boards"], np.float32)
    neurons = len(boards)
    # Nine cells for each board of eight: the ninth is the gap.
    all_boards = np.full((9 * neurons, 9 * len(PIECES)), np.nan, np.float32)
    for row in range(neurons):
        reach = float(np.abs(boards[row]).max()) or 1.0
        for column in range(len(PIECES)):
            board = boards[row, column].reshape(8, 8)[::-1] / reach  # the eighth rank on top
            all_boards[9 * row : 9 * row + 8, 9 * column : 9 * column + 8] = board
    tall = 1.0 + neurons
    labels = [
        f"{number}\n{100 * active:.0f} %"
        for number, active in zip(weights["neurons"], weights["active"], strict=True)
    ]
    # Placed by hand: to find the best place takes longer than to draw.
    with sheet(path, 12.6, tall, dpi=100, layout=None) as figure:
        axes = figure.add_axes((0.04, 0.01, 0.95, neurons / tall))
        axes.imshow(all_boards, cmap="RdBu", vmin=-1, vmax=1, interpolation="nearest")
        axes.set_xticks([9 * column + 3.5 for column in range(len(PIECES))], list(PIECES), fontsize=14)
        axes.xaxis.tick_top()
        axes.set_yticks([9 * row + 3.5 for row in range(neurons)], labels, fontsize=8)
        axes.tick_params(length=0)
        for side in axes.spines.values():
            side.set_visible(False)
        axes.set_title(f"{title}\nneurons by number and share of views in which they are active", fontsize=9)


def _panels(record: Record) -> list[Panel]:
    rows = record["rows"]
    found: list[Panel] = []
    if any(row["curve"] for row in rows):
        found.append(lambda axes: _draw_curves(axes, rows))
    rated = [row for row in rows if row.get("difference") is not None]
    if len(rated) > 1:
        found.append(lambda axes: _draw_elo(axes, rated, record["baseline"]))
    grid = grid_of(record)
    if grid is not None:
        firsts, seconds, cells = grid
        for what, (form, number) in GRIDS.items():
            values = [
                [number(cells[l1, l2]) if (l1, l2) in cells else None for l2 in seconds] for l1 in firsts
            ]
            if any(value is not None for line in values for value in line):
                found.append(_heat_map(what, form, firsts, seconds, values))
    else:
        found.append(lambda axes: _draw_speed(axes, rows))
    found.append(lambda axes: _draw_neurons(axes, rows))
    return found


def _draw_curves(axes: Any, rows: list[Record]) -> None:
    from matplotlib import colormaps

    colours = colormaps["viridis"](np.linspace(0, 0.95, len(rows)))
    for row, colour in zip(rows, colours, strict=True):
        points = row["curve"]
        axes.plot(
            [point["step"] for point in points],
            [point["loss"] for point in points],
            color=colour,
            label=row["name"],
            marker="." if len(points) < 2 else None,
        )
    alike = len({row["method"] for row in rows}) == 1
    axes.set_title("validation loss" if alike else "validation loss, each by the measure it was taught with")
    axes.set_xlabel("steps")
    axes.set_yscale("log")
    axes.grid(alpha=0.3)
    axes.legend(fontsize=6, ncols=1 + len(rows) // NAMED_CURVES)


def _draw_elo(axes: Any, rows: list[Record], baseline: str) -> None:
    draw_differences(axes, [row | {"title": row["name"]} for row in rows], baseline)
    axes.set_title("Elo")
    axes.tick_params(axis="y", labelsize=7)


def _draw_speed(axes: Any, rows: list[Record]) -> None:
    """The trade: what a network misses against what it costs."""
    known = [row for row in rows if "speed" in row["exams"] and row["loss"] is not None]
    for row in known:
        x, y = row["exams"]["speed"]["nps"], row["loss"]
        axes.plot(x, y, "o", color=INK)
        axes.annotate(row["name"], (x, y), fontsize=7, xytext=(3, 3), textcoords="offset points")
    axes.set_title("loss over speed")
    axes.set_xlabel("nodes a second")
    axes.set_ylabel("loss on held-out evaluations")
    axes.grid(alpha=0.3)


def _draw_neurons(axes: Any, rows: list[Record]) -> None:
    y = list(range(len(rows)))
    shares = [100 * row["neurons"]["unused"] / row["neurons"]["l1"] for row in rows]
    active = [100 * row["neurons"]["active_share"] for row in rows]
    axes.barh([place - 0.2 for place in y], active, height=0.4, color=INK, label="active on average")
    axes.barh([place + 0.2 for place in y], shares, height=0.4, color=OTHER_INK, label="unused")
    axes.set_yticks(y, [row["name"] for row in rows], fontsize=7)
    axes.invert_yaxis()
    axes.set_xlabel("% of the first layer's neurons")
    axes.set_title("neurons")
    axes.legend(fontsize=7)


def _heat_map(
    what: str, form: str, firsts: list[int], seconds: list[int], values: list[list[float | None]]
) -> Panel:
    def draw(axes: Any) -> None:
        numbers = np.array([[np.nan if value is None else value for value in line] for line in values])
        axes.imshow(numbers, cmap="viridis", aspect="auto")
        middle = (np.nanmin(numbers) + np.nanmax(numbers)) / 2
        for (row, column), value in np.ndenumerate(numbers):
            if not np.isnan(value):
                ink = "black" if value > middle else "white"  # the upper half of the colours is light
                axes.text(column, row, f"{value:{form}}", ha="center", va="center", color=ink, fontsize=8)
        axes.set_xticks(range(len(seconds)), map(str, seconds))
        axes.set_yticks(range(len(firsts)), map(str, firsts))
        axes.set_xlabel("L2")
        axes.set_ylabel("L1")
        axes.set_title(what)

    return draw
