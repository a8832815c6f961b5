"""Counts as a table with bars, for the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.table import Table

WIDTH = 32
_EIGHTHS = " ▏▎▍▌▋▊▉█"


def bar(value: float, greatest: float, width: int = WIDTH) -> str:
    """A bar whose length is `value`'s share of `greatest`; anything above nothing shows.

    >>> bar(3, 4, 8)
    '██████'
    >>> bar(0, 4, 8)
    ''
    """
    if value <= 0 or greatest <= 0:
        return ""
    eighths = max(1, round(8 * width * min(1.0, value / greatest)))
    return "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()


def bar_table(title: str, rows: Sequence[tuple[str, int]]) -> Table:
    """One row per (name, count): count, share of the sum, and a bar."""
    from rich.table import Table

    table = Table(title=title, title_justify="left", box=None, padding=(0, 1), show_header=False)
    table.add_column(justify="right")
    table.add_column(justify="right")
    table.add_column(justify="right")
    table.add_column(style="cyan", no_wrap=True)
    total, greatest = sum(count for _, count in rows), max((count for _, count in rows), default=0)
    for name, count in rows:
        share = f"{100 * count / total:.1f} %" if total else ""
        table.add_row(name, f"{count:,}", share, bar(count, greatest))
    return table
