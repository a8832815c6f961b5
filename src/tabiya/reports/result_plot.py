"""The picture of the result tables: a panel for each table that has something to draw.

Drawn with matplotlib, which only the extra `plot` installs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tabiya.reports.drawing import sheet

Json = Mapping[str, Any]
INKS = ("#2f5d8a", "#c8793a", "#4b8b5a", "#8a4b7d")
FAMILIES = 15


def plot_results(tables: Mapping[str, Json], path: Path) -> bool:
    """Draw the tables into a .png; False, and nothing drawn, where there is nothing to draw."""
    panels = [(draw, tables[name]) for name, draw in _PANELS.items() if name in tables]
    if not panels:
        return False
    columns = min(2, len(panels))
    rows = -(-len(panels) // columns)
    with sheet(path, 6.5 * columns, 4.5 * rows, dpi=120) as figure:
        axes = list(figure.subplots(rows, columns, squeeze=False).flat)
        for (draw, found), place in zip(panels, axes, strict=False):
            draw(place, found)
        for place in axes[len(panels) :]:
            place.set_visible(False)
    return True


def _puzzles(axes: Any, found: Json) -> None:
    for ink, entry in zip(_inks(found), found["entries"].values(), strict=True):
        rows = entry["figures"]["by_rating"]
        x = [(row["from"] + row["to"]) / 2 for row in rows]
        y, reach = _with_reach(rows, "solved")
        axes.errorbar(x, y, yerr=reach, marker="o", markersize=3, capsize=2, color=ink, label=entry["name"])
    axes.set(title="puzzles solved", xlabel="the puzzles' rating", ylabel="%", ylim=(0, 100))
    axes.grid(alpha=0.3)
    axes.legend()


def _openings(axes: Any, found: Json) -> None:
    figures = next(iter(found["entries"].values()))["figures"]
    against = figures["against"][0]
    rows = against["by_family"][:FAMILIES]
    x, reach = _with_reach(rows, "score")
    places = range(len(rows))
    axes.axvline(100 * against["score_share"], color="0.6", linewidth=1)
    axes.errorbar(x, places, xerr=reach, fmt="o", markersize=3, capsize=2, color=INKS[0])
    axes.set_yticks(places, [f"{row['name']} ({row['games']})" for row in rows], fontsize=7)
    axes.invert_yaxis()
    axes.set(title=f"score by opening, against {against['opponent']}", xlabel="%", xlim=(0, 100))
    axes.grid(axis="x", alpha=0.3)


def _endgames(axes: Any, found: Json) -> None:
    entries = found["entries"]
    width = 0.8 / len(entries)
    men = sorted({row["men"] for entry in entries.values() for row in entry["figures"]["by_men"]})
    for number, (ink, entry) in enumerate(zip(_inks(found), entries.values(), strict=True)):
        rows = entry["figures"]["by_men"]
        x = [men.index(row["men"]) + (number - (len(entries) - 1) / 2) * width for row in rows]
        kept, (below, above) = _with_reach(rows, "optimal")
        lost = [100 - share for share in kept]
        axes.bar(x, lost, width, yerr=[above, below], color=ink, ecolor="0.3", capsize=2, label=entry["name"])
    axes.set_xticks(range(len(men)), men)
    axes.set(title="endgames: results given away", xlabel="men", ylabel="%")
    axes.legend()


def _engines(axes: Any, found: Json) -> None:
    """Elo over positions looked at; without ratings, time over positions."""
    ratings = found.get("ratings", {})
    rated = {name for name, line in ratings.items() if line["rating"] is not None}
    for name, entry in found["entries"].items():
        figures = entry["figures"]
        if figures["positions_per_move"] is None or (rated and name not in rated):
            continue
        y = ratings[name]["rating"] if rated else figures["median_ms"]
        at = (figures["positions_per_move"], y)
        axes.plot(*at, "o", color=INKS[0])
        axes.annotate(entry["name"], at, (4, 4), textcoords="offset points", fontsize=7)
    axes.set_xscale("log")
    axes.set(title="positions looked at a move", xlabel="positions", ylabel="Elo" if rated else "ms a move")
    axes.grid(alpha=0.3)


_PANELS = {"puzzles": _puzzles, "openings": _openings, "endgames": _endgames, "engines": _engines}


def _inks(found: Json) -> list[str]:
    return [INKS[number % len(INKS)] for number in range(len(found["entries"]))]


def _with_reach(rows: Sequence[Json], key: str) -> tuple[list[float], list[list[float]]]:
    """Shares in per cent, and how far each interval reaches below and above."""
    shares = [100 * row[f"{key}_share"] for row in rows]
    ends = [[100 * end for end in row[f"{key}_95"]] for row in rows]
    below = [max(0.0, share - low) for share, (low, _) in zip(shares, ends, strict=True)]
    above = [max(0.0, high - share) for share, (_, high) in zip(shares, ends, strict=True)]
    return shares, [below, above]
