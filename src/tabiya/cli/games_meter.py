"""The display of games that are being played, and the word to whoever interrupts them.

`match`, `tournament` and `promote` play for hours, keep every finished game,
and go on with the same command: all of them show and say that alike.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tabiya.cli.common import progress


@contextmanager
def games_meter(
    description: str, total: float | None, folder: Path, unit: str = ""
) -> Iterator[Callable[[int, str], None]]:
    """Gives a function that is told how many games there are by now, and what to say beside the bar."""
    seen = 0
    with progress(description, total, unit=unit) as meter:

        def show(games: int, words: str) -> None:
            nonlocal seen
            meter.describe(words)
            meter.advance(games - seen)
            seen = games

        try:
            yield show
        except KeyboardInterrupt:
            if seen:
                print(f"tabiya: {seen} games are kept in {folder}; the same command goes on", file=sys.stderr)
            raise
