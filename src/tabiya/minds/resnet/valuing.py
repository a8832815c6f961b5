"""The network as its own teacher: every legal move scored by the value of the position it leads to.

The value head knows more than the policy: the best successor by value beats
the policy's choice by far. Scored here once, in large batches, its verdicts
are move labels like a teacher's, and the policy learns from them what then
takes a single look. Where a move ends the game the rules give its score.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tabiya import _core
from tabiya.data.labels import MoveLabels, write_move_labels
from tabiya.data.scale import MOVE_MATE
from tabiya.data.worth import centipawns_of
from tabiya.minds.resnet.judge import Judge

CHUNK = 1 << 16
"""Positions whose successors are held in memory together."""


def value_moves(judge: Judge, packed: NDArray[np.uint8], threads: int = 1) -> MoveLabels:
    """Move labels of the positions, by the judge's value of every successor."""
    offsets, scores = [np.zeros(1, np.int64)], []
    for own, after, states in _prepared(packed, threads):
        scores.append(_scores(judge.values(after), states))
        offsets.append(own[1:] + offsets[-1][-1])
    return packed, np.concatenate(offsets), np.concatenate(scores) if scores else np.zeros(0, np.int16)


def write_valued(judge: Judge, packed: NDArray[np.uint8], target: Path, threads: int = 1) -> int:
    """Label the positions into a file of move labels; how many moves were scored."""
    labels = value_moves(judge, packed, threads)
    write_move_labels(target, labels)
    return int(labels[1][-1])


Prepared = tuple[NDArray[np.int64], NDArray[np.uint8], NDArray[np.uint8]]


def _prepared(packed: NDArray[np.uint8], threads: int) -> Iterator[Prepared]:
    """Successors and what the rules say of them, one chunk ahead of whoever evaluates."""

    def prepare(start: int) -> Prepared:
        offsets, after, _ = _core.successors(np.ascontiguousarray(packed[start : start + CHUNK]), threads)
        return offsets, after, _core.states(after, threads)

    with ThreadPoolExecutor(1) as ahead:
        starts = list(range(0, len(packed), CHUNK))
        waiting = [ahead.submit(prepare, start) for start in starts[:1]]
        for following in [*starts[1:], None]:
            ready = waiting.pop().result()
            if following is not None:
                waiting.append(ahead.submit(prepare, following))
            yield ready


def _scores(values: NDArray[np.float32], states: NDArray[np.uint8]) -> NDArray[np.int16]:
    """Centipawns for the side that moved: the successor is seen by the other."""
    scores = np.rint(centipawns_of(1.0 - values.astype(np.float64)))
    scores = np.where(states == 1, MOVE_MATE - 1, np.where(states == 2, 0, scores))
    return scores.astype(np.int16)
