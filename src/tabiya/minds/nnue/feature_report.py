"""What feature sets hold and cost on real games: one row for each, as a table, JSON and a plot.

The counts are exact for the games given. The speeds are this machine's, with
a network of random weights: what an expression costs does not depend on what
its network has learnt.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tabiya._core import feature_usage
from tabiya.errors import UserError
from tabiya.files import replacing

if TYPE_CHECKING:
    from rich.table import Table

USUAL_SETS = ("ALL", "H+V", "D1+D2", "HV+H+V", "HV+D1+D2", "KING-BUCKETS-8", "MIRROR-H", "KP", "KING-ALL")
"""Shown where no expression is given."""


@dataclass(frozen=True, kw_only=True)
class FeatureUse:
    """One feature set on the games of a file; averages are for one view of one position or move."""

    expression: str
    size: int
    dead: int
    """Features that no legal placement makes active."""
    seen: int
    """Features that these games made active at least once."""
    active: float
    active_share: float
    """Active features as a share of the size."""
    most_active: int
    added: float
    """Features that a move adds to a view, where the view is updated and not made anew."""
    removed: float
    refresh_rate: float
    """The share of moves after which a view must be made anew."""
    updates_per_second: float | None
    """Moves a second, both views brought up to date; None where the network would be too large to time."""
    evaluations_per_second: float | None
    """The same with the evaluation of each position."""
    by_table: bool
    """Whether a table by piece and square gives its features; otherwise whole positions are compared."""
    games: int
    positions: int


def measure(expression: str, pgn: Path, games: int, l1: int, l2: int) -> FeatureUse:
    """One set on up to `games` games of a file."""
    try:
        found = feature_usage(expression, pgn, games, l1, l2)
    except OSError as error:
        raise UserError(f"{pgn} cannot be read: {error.strerror or error}") from error
    except ValueError as error:
        raise UserError(str(error)) from error
    if not found["games"]:
        raise UserError(f"no game in {pgn} could be replayed")
    views = 2 * found["positions"]
    updates = max(1, found["updates"])
    active = found["active"] / views
    return FeatureUse(
        expression=found["expression"],
        size=found["size"],
        dead=found["dead"],
        seen=found["seen"],
        active=active,
        active_share=active / found["size"],
        most_active=found["most_active"],
        added=found["added"] / updates,
        removed=found["removed"] / updates,
        refresh_rate=found["refreshes"] / max(1, found["refreshes"] + found["updates"]),
        updates_per_second=found["updates_per_second"],
        evaluations_per_second=found["evaluations_per_second"],
        by_table=found["by_table"],
        games=found["games"],
        positions=found["positions"],
    )


def as_json(uses: list[FeatureUse], pgn: Path, l1: int, l2: int) -> dict[str, Any]:
    """The report for programs."""
    return {"pgn": str(pgn), "l1": l1, "l2": l2, "sets": [asdict(use) for use in uses]}


def as_table(uses: list[FeatureUse]) -> Table:
    """The report for people."""
    from rich.table import Table

    table = Table(box=None, header_style="bold")
    table.add_column("set", overflow="fold")
    counts = ("size", "dead", "seen", "active", "share", "added", "removed", "refresh")
    for column in (*counts, "updates/s", "evals/s"):
        table.add_column(column, justify="right")
    for use in uses:
        table.add_row(
            use.expression,
            f"{use.size:,}",
            f"{use.dead:,}",
            f"{use.seen:,}",
            f"{use.active:.1f}",
            f"{use.active_share:.2%}",
            f"{use.added:.2f}",
            f"{use.removed:.2f}",
            f"{use.refresh_rate:.1%}",
            _speed(use.updates_per_second),
            _speed(use.evaluations_per_second),
        )
    return table


def _speed(rate: float | None) -> str:
    return "too large" if rate is None else f"{rate / 1e6:.2f} M"


def draw(uses: list[FeatureUse], path: Path) -> None:
    """Active features, changes and speed side by side, as an SVG or PNG by the name of the file."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    names = [use.expression for use in uses]
    figure, panels = pyplot.subplots(1, 3, figsize=(13, 1.5 + 0.4 * len(uses)), sharey=True)
    rows = range(len(uses))
    panels[0].barh(rows, [use.active for use in uses], color="#4c72b0")
    panels[0].set_title("active features")
    panels[1].barh(rows, [use.added for use in uses], color="#55a868", label="added")
    panels[1].barh(rows, [-use.removed for use in uses], color="#c44e52", label="removed")
    panels[1].axvline(0, color="black", linewidth=0.8)
    panels[1].set_title("changes a move")
    panels[1].legend(loc="best", fontsize="small")
    panels[2].barh(rows, [(use.evaluations_per_second or 0) / 1e6 for use in uses], color="#8172b2")
    panels[2].set_title("million evaluations a second")
    panels[0].set_yticks(list(rows), names)
    panels[0].invert_yaxis()
    figure.tight_layout()
    with replacing(path) as temporary:
        figure.savefig(temporary, format=path.suffix.lstrip(".") or "svg")
    pyplot.close(figure)
