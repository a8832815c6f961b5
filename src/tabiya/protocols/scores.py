"""How `Decision.score` writes a mate, and how to tell it from centipawns.

>>> mate_score(3), mate_in(29_997.0), mate_in(-29_999.0), mate_in(350.0)
(29997.0, 3, -1, None)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from tabiya.player import Decision

Centipawns: TypeAlias = Callable[[float], float]
"""From expected points in [0, 1] to centipawns; the faces hand in the house's exchange rate."""

MATE_SCORE = 30_000
"""A mate in n is ±(MATE_SCORE − n)."""

_LONGEST_MATE = 1_000


def mate_score(moves: int) -> float:
    """The score of mating in `moves`, or of being mated in −`moves`."""
    return float(MATE_SCORE - moves if moves > 0 else -MATE_SCORE - moves)


def mate_in(score: float) -> int | None:
    """The moves to mate, negative for the side that is mated; None for centipawns."""
    moves = MATE_SCORE - abs(score)
    if moves >= _LONGEST_MATE:
        return None
    return round(moves if score > 0 else -moves)


def shown_score(decision: Decision, centipawns: Centipawns | None) -> float | None:
    """The score for a program that wants one: the player's own, else from its win, draw and loss."""
    if decision.score is not None or decision.wdl is None or centipawns is None:
        return decision.score
    win, draw, _loss = decision.wdl
    return centipawns(min(1.0, max(0.0, win + draw / 2)))
