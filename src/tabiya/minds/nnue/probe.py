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

from tabiya import _core
from tabiya.arena.puzzles import load_puzzles
from tabiya.errors import UserError
from tabiya.minds.nnue.training import Probe

MATE = 1 << 20


def puzzle_probe(path: Path, count: int) -> Probe:
    """A probe by a fixed sample of a puzzle file."""
    solver = [place for puzzle in load_puzzles(path, count).puzzles for place in puzzle.solver_positions()]
    if not solver:
        raise UserError(f"{path} holds no puzzle to probe with")
    packed = np.frombuffer(b"".join(board.packed() for board, _ in solver), np.uint8).reshape(-1, 32)
    wanted = np.array([_core.uci_to_code(move) for _, move in solver], np.uint16)
    threads = os.cpu_count() or 1
    offsets, after, moves = _core.successors(packed, threads)
    states = _core.states(after, threads)

    def probe(file: Path) -> Mapping[str, float]:
        network = _core.QuantisedNetwork(file.read_bytes())
        answer = network.evaluate(after, threads)
        # For the side that answers: mated is the worst, a draw is nothing.
        answer = np.where(states == 1, -MATE, np.where(states == 2, 0, answer))
        best = np.minimum.reduceat(answer, offsets[:-1])
        counts = np.diff(offsets)
        right = (answer == np.repeat(best, counts)) & (moves == np.repeat(wanted, counts))
        return {"puzzle_moves_without_search": float(right.sum() / len(packed))}

    return probe
