"""What a move costs a player: positions looked at, and milliseconds.

Each position is asked alone, one after the other, as in a game: a network that
answers batches faster is given none. The positions are fixed by their source
and a seed, so that all players are asked the same.
"""

from __future__ import annotations

import os
import statistics
from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

from tabiya._core import Board
from tabiya.arena.books import Book
from tabiya.player import Limit, Player

WARM_UP = 2
"""Positions asked before any clock starts, because a player's first answer is its slowest."""


def effort_positions(book: Path | None, count: int, seed: int) -> list[Board]:
    """Where `count` openings of a book end, or all if it has fewer; for None those of the built-in book."""
    source = Book.read(book) if book else Book.built_in()
    boards = [opening.board() for opening in source.openings(min(count, len(source)), seed)]
    return [board for board in boards if board.outcome() is None]


def measure_effort(
    player: Player, boards: Sequence[Board], limit: Limit, advance: Callable[[], None] = lambda: None
) -> dict[str, Any]:
    """The mean number of positions looked at for a move, and its time: mean, median and 95 % at most."""
    for board in boards[:WARM_UP]:
        player.new_game()
        player.play(board, limit)
    nodes: list[int] = []
    times: list[float] = []
    for board in boards:
        player.new_game()
        began = perf_counter()
        decision = player.play(board, limit)
        times.append(1000 * (perf_counter() - began))
        nodes.append(decision.nodes)
        advance()
    ordered = sorted(times)
    return {
        "moves": len(times),
        # A player that looks at positions and says nothing of them has told no number.
        "positions_per_move": statistics.fmean(nodes) if any(nodes) else None,
        "mean_ms": round(statistics.fmean(times), 3),
        "median_ms": round(statistics.median(times), 3),
        "p95_ms": round(ordered[min(len(ordered) - 1, int(0.95 * len(ordered)))], 3),
        "load_average": round(os.getloadavg()[0], 2),
    }
