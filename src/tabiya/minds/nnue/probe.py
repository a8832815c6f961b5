"""A first glance at strength while a network trains: puzzles by evaluation alone.

For every position that a puzzle's solver faces, each legal move is judged by
the network's word on the position behind it, and the best must be the
solution's. Nothing is searched, so a share of right moves is reached in a
second and low; it says whether training goes somewhere, not how strong an
engine will be.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tabiya import _core
from tabiya.arena.puzzles import load_puzzles
from tabiya.board.states import DRAWN, MATED
from tabiya.errors import UserError
from tabiya.minds.nnue.training import Probe

MATE = 1 << 20


class FirstChoices:
    """Positions with all that their moves lead to, ready to be judged by one network after the other."""

    def __init__(self, packed: NDArray[np.uint8], wanted: NDArray[np.uint16]) -> None:
        self._threads = os.cpu_count() or 1
        self._offsets, self._after, moves = _core.successors(packed, self._threads)
        self._states = _core.states(self._after, self._threads)
        self._wanted = moves == np.repeat(wanted, np.diff(self._offsets))

    def right(self, file: Path) -> NDArray[np.float64]:
        """For each position 1 where the wanted move looks best to the network; of equals, its part."""
        network = _core.QuantisedNetwork(file.read_bytes())
        answer = network.evaluate(self._after, self._threads)
        # For the side that answers: mated is the worst, a draw is nothing.
        answer = np.where(self._states == MATED, -MATE, np.where(self._states == DRAWN, 0, answer))
        starts = self._offsets[:-1]
        best = answer == np.repeat(np.minimum.reduceat(answer, starts), np.diff(self._offsets))
        return np.add.reduceat(best & self._wanted, starts) / np.add.reduceat(best.astype(np.int64), starts)


def puzzle_probe(path: Path, count: int) -> Probe:
    """A probe by a fixed sample of a puzzle file."""
    solver = [place for puzzle in load_puzzles(path, count).puzzles for place in puzzle.solver_positions()]
    if not solver:
        raise UserError(f"{path} holds no puzzle to probe with")
    packed = np.frombuffer(b"".join(board.packed() for board, _ in solver), np.uint8).reshape(-1, 32)
    wanted = np.array([_core.uci_to_code(move) for _, move in solver], np.uint16)
    choices = FirstChoices(packed, wanted)

    def probe(file: Path) -> Mapping[str, float]:
        return {"puzzle_moves_without_search": float(choices.right(file).mean())}

    return probe
