"""The network as its own teacher: every legal move scored by the value of the position it leads to.

The value head knows more than the policy: the best successor by value beats
the policy's choice by far. Scored here once, in large batches, its verdicts
are move labels like a teacher's, and the policy learns from them what then
takes a single look. Where a move ends the game the rules give its score.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from tabiya import _core
from tabiya.board.states import DRAWN, GOES_ON, MATED
from tabiya.data.labels import MoveLabels
from tabiya.data.scale import MOVE_MATE
from tabiya.data.shards import ShardFolder
from tabiya.data.worth import LARGEST, centipawns_of
from tabiya.minds.resnet.judge import Judge

CHUNK = 1 << 16
"""Positions whose successors are held in memory together."""
AT_ONCE = 4
"""Chunks under way at a time."""
WIDTH = 128
"""Legal moves the policy is asked about."""
ALWAYS = 6
"""Moves of a position that are looked at however unlikely."""
BELOW = 50
"""Centipawns by which moves not looked at stand under the others."""
CEILING = int(LARGEST)


def some_positions(folder: ShardFolder, count: int, seed: int) -> NDArray[np.uint8]:
    """Different positions of a folder's training games, chosen by chance: packed, `count` of them or all."""
    packed = np.concatenate([np.asarray(shard["packed"]) for _, shard in folder.shards("train")])
    order = np.random.default_rng(seed).permutation(len(packed))
    # Positions that many games have in common are no more than one each.
    _, first = np.unique(_core.position_keys(packed[order]), return_index=True)
    return np.ascontiguousarray(packed[order[np.sort(first)[:count]]])


def value_moves(
    judge: Judge, packed: NDArray[np.uint8], threads: int = 1, *, least: float = 0.0, considered: bool = False
) -> MoveLabels:
    """Move labels of the positions, by the judge's value of every successor.

    With `least`, moves to which the policy gives less than this probability are
    not looked at (the likeliest `ALWAYS` are); they are put a little below the
    worst of the others. That halves the work, and what is learned from the
    labels hardly depends on moves so far from the best. `considered` takes all
    that the network says of a successor and not its value's bins alone.
    """
    starts = range(0, len(packed), CHUNK)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        # While the device answers for one chunk, the processor prepares and sorts others.
        parts = list(
            pool.map(
                lambda at: _value_chunk(judge, packed[at : at + CHUNK], threads, least, considered), starts
            )
        )
    offsets, total = [np.zeros(1, np.int64)], 0
    for own, _ in parts:
        offsets.append(own[1:] + total)
        total += int(own[-1])
    scores = np.concatenate([scores for _, scores in parts]) if parts else np.zeros(0, np.int16)
    return packed, np.concatenate(offsets), scores


def _value_chunk(
    judge: Judge, packed: NDArray[np.uint8], threads: int, least: float, considered: bool
) -> tuple[NDArray[np.int64], NDArray[np.int16]]:
    """Offsets and scores of one chunk."""
    rows = np.ascontiguousarray(packed)
    offsets, after, _ = _core.successors(rows, threads)
    states = _core.states(after, threads)
    wanted = _likely(judge, rows, offsets, least, threads) if least else np.ones(len(after), np.bool_)
    looked_at = np.flatnonzero(wanted & (states == GOES_ON))
    values = np.zeros(len(after), np.float32)
    shown = np.ascontiguousarray(after[looked_at])
    if considered:
        replies = _core.legal_rows(shown, "planes", "mover", WIDTH, threads)
        most = int((replies >= 0).sum(1).max(initial=1))
        values[looked_at] = judge.considered(shown, np.ascontiguousarray(replies[:, :most]))
    else:
        values[looked_at] = judge.values(shown)
    known = _scores(values, states)
    return offsets, _below_the_rest(known, wanted | (states != GOES_ON), offsets) if least else known


def _likely(
    judge: Judge, rows: NDArray[np.uint8], offsets: NDArray[np.int64], least: float, threads: int
) -> NDArray[np.bool_]:
    """For every successor, whether the move to it is likely enough to be looked at."""
    legal = _core.legal_rows(rows, "planes", "mover", WIDTH, threads)
    log_p = judge.policy(rows, legal)
    bar = np.minimum(np.log(least), np.partition(log_p, -ALWAYS, 1)[:, -ALWAYS])
    counts = np.diff(offsets)
    columns = np.arange(offsets[-1]) - np.repeat(offsets[:-1], counts)
    seen = log_p[np.repeat(np.arange(len(rows)), counts), np.minimum(columns, WIDTH - 1)]
    return np.asarray((seen >= np.repeat(bar, counts)) & (columns < WIDTH))


def _below_the_rest(
    scores: NDArray[np.int16], known: NDArray[np.bool_], offsets: NDArray[np.int64]
) -> NDArray[np.int16]:
    """Scores with those not known put below the lowest that is, each in its own position."""
    if not len(scores):
        return scores
    wide = np.where(known, scores, MOVE_MATE).astype(np.int32)
    counts = np.diff(offsets)
    lowest = np.zeros(len(counts), np.int32)
    some = counts > 0
    lowest[some] = np.minimum.reduceat(wide, offsets[:-1][some])
    under = np.repeat(np.clip(lowest - BELOW, -CEILING, CEILING), counts)
    return np.where(known, scores, under).astype(np.int16)


def _scores(values: NDArray[np.float32], states: NDArray[np.uint8]) -> NDArray[np.int16]:
    """Centipawns for the side that moved: the successor is seen by the other."""
    scores = np.rint(centipawns_of(1.0 - values.astype(np.float64)))
    scores = np.where(states == MATED, MOVE_MATE - 1, np.where(states == DRAWN, 0, scores))
    return scores.astype(np.int16)
