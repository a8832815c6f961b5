"""Nodes a second of a player's search, by the processor's own time.

Every position is searched to a number of nodes, the whole set several times
over, and the fastest round counts: what slows a search down from outside only
ever makes it slower.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from tabiya._core import Board
from tabiya.player import Limit, Player

ROUNDS = 3


def nodes_per_second(
    player: Player, boards: Sequence[Board], nodes: int, advance: Callable[[], None] = lambda: None
) -> dict[str, Any]:
    """The best of some rounds; a node is one move made."""
    rates, searched = [], 0
    for turn in range(ROUNDS):
        searched, seconds = 0, 0.0
        for board in boards:
            player.new_game()
            began = time.process_time()
            searched += player.play(board, Limit(nodes=nodes)).nodes
            seconds += time.process_time() - began
            if turn == 0:
                advance()
        rates.append(searched / max(seconds, 1e-9))
    return {"nps": max(rates), "rounds": rates, "positions": len(boards), "nodes": searched}
