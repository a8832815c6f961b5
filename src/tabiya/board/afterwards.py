"""One step past every legal move: what the rules decide there, and what a network must be asked.

A player that evaluates each successor once needs the same three things
whatever its network is: the worth where the game is over (a draw that may be
claimed included), the positions to evaluate where it is not, and which of
those stood before in the game.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tabiya._core import Board

Wdl: TypeAlias = tuple[float, float, float]

DRAW = 0.5
_DRAWN: Wdl = (0.0, 1.0, 0.0)
_WON: Wdl = (1.0, 0.0, 0.0)


@dataclass
class Outlook:
    """The moves of one position, each with what it is worth to the mover."""

    worth: NDArray[np.float64]
    wdl: list[Wdl]
    mates: frozenset[str]
    """Moves that the rules say mate."""
    asked: int = 0
    """Successors that the rules did not decide."""


class Successors:
    """The successors of some positions, the decided ones told from those that a network must value."""

    def __init__(self, boards: Sequence[Board], legal: Sequence[list[str]]) -> None:
        self._outlooks: list[Outlook] = []
        self._asked: list[tuple[int, int, bool]] = []
        rows: list[bytes] = []
        for number, (board, moves) in enumerate(zip(boards, legal, strict=True)):
            worth, wdl, mates = np.zeros(len(moves)), [_DRAWN] * len(moves), set()
            after = board.copy()
            for at, move in enumerate(moves):
                after.push(move)
                ending = after.outcome(claim=True)
                if ending is None:
                    self._asked.append((number, at, after.repetitions() > 0))
                    rows.append(after.packed())
                elif ending[0] == "1/2-1/2":
                    worth[at] = DRAW
                else:
                    worth[at], wdl[at] = 1.0, _WON
                    mates.add(move)
                after.pop()
            self._outlooks.append(Outlook(worth, wdl, frozenset(mates)))
        self.packed: NDArray[np.uint8] = np.frombuffer(b"".join(rows), np.uint8).reshape(-1, 32)
        """[N, 32]: the positions to be valued."""

    def valued(self, wdl: ArrayLike, expected: ArrayLike, cap_repeats: bool) -> list[Outlook]:
        """The outlook of each position, given a network's word (the replier's wdl [N, 3], score [N]).

        `cap_repeats`: a position that stood before is worth a draw at most.
        """
        chances, scores = np.asarray(wdl, np.float64), np.asarray(expected, np.float64)
        for row, (number, at, repeated) in enumerate(self._asked):
            outlook = self._outlooks[number]
            # The successor is seen by the other side.
            worth = 1.0 - float(scores[row])
            outlook.worth[at] = min(worth, DRAW) if repeated and cap_repeats else worth
            loss, draw, win = (float(each) for each in chances[row])
            outlook.wdl[at] = (win, draw, loss)
            outlook.asked += 1
        return self._outlooks
