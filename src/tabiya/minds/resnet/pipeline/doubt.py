"""Where the network could have known better: its policy against its own value of every successor."""

from __future__ import annotations

import os

import numpy as np
from numpy.typing import NDArray

from tabiya import _core
from tabiya.minds.resnet.judge import Judge
from tabiya.minds.resnet.selfplay import WIDTH, Played, mistakes
from tabiya.minds.resnet.valuing import value_moves

THREADS = os.cpu_count() or 1


def doubtful(
    judge: Judge, packed: NDArray[np.uint8], likeliest: NDArray[np.int16], margin: float, least: float = 0.0
) -> NDArray[np.int64]:
    """Rows whose likeliest move (its slot among the legal ones) is worth `margin` less than the best.

    Every position must have a legal move. Moves less likely than `least` are not valued.
    """
    if not len(packed):
        return np.zeros(0, np.int64)
    seen = Played(packed, likeliest, np.zeros(len(packed), np.int64), [], [])
    return mistakes(seen, value_moves(judge, packed, THREADS, least=least), margin)


def likeliest_moves(judge: Judge, packed: NDArray[np.uint8]) -> NDArray[np.int16]:
    """The slot, among the legal moves, of the one that the policy prefers."""
    legal = _core.legal_rows(packed, "planes", "mover", WIDTH, THREADS)
    return np.asarray(judge.policy(packed, legal).argmax(1).astype(np.int16))
