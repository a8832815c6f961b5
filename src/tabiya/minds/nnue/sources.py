"""Files to labelled positions in memory: what the network learns from, before any features are made.

A teacher's word comes as evaluations of games (one a ply) or as labels of all
moves, each of which labels the position behind the move as well. PQR needs no
teacher: it takes positions with the move that was played, or that is best.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tabiya import _core
from tabiya.board.states import GOES_ON
from tabiya.data.labels import MoveLabels, held_out, load_move_labels, select, shard_values
from tabiya.data.scale import MOVE_MATE, VALUE_MATE, label_probability
from tabiya.data.shards import ShardFolder, Split
from tabiya.errors import UserError
from tabiya.minds.nnue.loss import NnueLoss

CHUNK = 1 << 20
"""Positions prepared at a time."""
PARENTS = CHUNK // 32
"""The same, where every legal move of each is played."""


class NothingThereError(UserError):
    """A source has no positions of the split that was asked for."""


@dataclass(frozen=True, kw_only=True)
class NnueSource:
    """One set of positions and its part in every batch."""

    kind: Literal["games", "labels", "successors"]
    """Games: an extracted folder. Labels: positions with all moves scored. Successors: what those lead to."""
    path: str
    """Folder or file; several of one kind separated by ':'."""
    share: float = 1.0
    """Share of each batch."""
    name: str | None = None
    """What its losses are reported under, where two sources are of one kind."""
    fraction: float = 1.0
    """How much of it is used: this share of the positions, picked at random by a fixed seed."""
    evaluations: Literal["records", "labels"] = "records"
    """Games: the evaluations extracted with them, or those that `tabiya data label` has put beside them."""
    quiet: bool = False
    """Leave out positions in check, and those where the best move, as far as it is known, takes something."""
    from_ply: int = 0
    """Games: positions before this many half-moves are left out."""

    def __post_init__(self) -> None:
        if self.share <= 0:
            raise UserError(f"the share of {self.path} must be positive, got {self.share}")
        if not 0 < self.fraction <= 1:
            raise UserError(f"the fraction of {self.path} must be above 0 and at most 1, got {self.fraction}")


@dataclass(frozen=True)
class Samples:
    """Positions in memory with what is known of them."""

    packed: NDArray[np.uint8]
    """[N, 1, 32], or [N, 3, 32]: P, Q and R."""
    value: NDArray[np.float32]
    """[N]: the teacher's win probability for the side to move; not-a-number where there is none."""
    result: NDArray[np.int8]
    """[N]: 2, 1, 0 for a win, draw, loss of the side to move, −1 unknown."""

    def __len__(self) -> int:
        return len(self.packed)

    def chosen(self, rows: NDArray[np.bool_] | NDArray[np.int64]) -> Samples:
        return Samples(self.packed[rows], self.value[rows], self.result[rows])

    @staticmethod
    def joined(parts: Sequence[Samples]) -> Samples:
        """One after the other."""
        return Samples(
            np.concatenate([part.packed for part in parts]),
            np.concatenate([part.value for part in parts]),
            np.concatenate([part.result for part in parts]),
        )


def read(source: NnueSource, split: Split, loss: NnueLoss, threads: int | None = None) -> Samples:
    """All positions of a source; `NothingThereError` where there are none."""
    threads = threads or os.cpu_count() or 1
    if loss.method != "evaluations" and source.kind == "successors":
        raise UserError(
            f"{loss.method} learns from moves, which successors have none of: use games or labels"
        )
    parts: list[Samples] = []
    for path in source.path.split(":"):
        for chunk in _chunks(source, Path(path), split, loss, threads):
            if source.fraction < 1 and split == "train":
                chance = np.random.default_rng([7, len(parts)])
                chunk = chunk.chosen(chance.random(len(chunk)) < source.fraction)
            if len(chunk):
                parts.append(chunk)
    if not parts:
        raise NothingThereError(f"{source.path} holds no positions to learn from in its {split} split")
    return Samples.joined(parts)


def _chunks(source: NnueSource, path: Path, split: Split, loss: NnueLoss, threads: int) -> Iterator[Samples]:
    if source.kind == "games":
        yield from _games(source, path, split, loss, threads)
        return
    labels = load_move_labels(path)
    labels = select(labels, np.flatnonzero(held_out(labels[0]) == (split == "validation")))
    for start in range(0, len(labels[0]), PARENTS):
        part = select(labels, np.arange(start, min(start + PARENTS, len(labels[0]))))
        if len(part[2]):
            made = _of_labels if source.kind == "labels" else _of_successors
            yield made(part, source.quiet, loss, threads, start)


def _games(source: NnueSource, path: Path, split: Split, loss: NnueLoss, threads: int) -> Iterator[Samples]:
    folder = ShardFolder.open(path)
    triplets = loss.method != "evaluations"
    size = PARENTS if triplets else CHUNK
    for name, shard in folder.shards(split):
        values = shard_values(folder, name, split) if source.evaluations == "labels" else None
        for start in range(0, len(shard), size):
            records = np.asarray(shard[start : start + size])
            given = records["eval"] if values is None else np.asarray(values[start : start + size])
            white = label_probability(given, VALUE_MATE, loss.scale)
            kept = records["ply"] >= source.from_ply
            if not triplets:
                kept &= ~np.isnan(white) | ((records["result"] >= -1) & (loss.result > 0))
            records, white = records[kept], white[kept]
            packed = np.ascontiguousarray(records["packed"])
            moves = np.ascontiguousarray(records["move"])
            black = (packed[:, 24] & 1).astype(bool)
            result = records["result"].astype(np.int16)
            for_mover = np.where(black, -result, result)
            samples = Samples(
                packed[:, None],
                np.where(black, 1 - white, white).astype(np.float32),
                np.where(np.abs(result) <= 1, 1 + for_mover, -1).astype(np.int8),
            )
            quiet = _core.quiet(packed, moves, threads) if source.quiet else None
            if triplets:
                samples = _triplets(samples, moves, quiet, threads, start)
            elif quiet is not None:
                samples = samples.chosen(quiet)
            yield samples


def _of_labels(labels: MoveLabels, quiet: bool, loss: NnueLoss, threads: int, seed: int) -> Samples:
    packed, offsets, scores = labels
    some = np.diff(offsets) > 0
    packed, starts = np.ascontiguousarray(packed[some]), offsets[:-1][some]
    best = np.maximum.reduceat(scores, starts)
    samples = Samples(
        packed[:, None],
        label_probability(best, MOVE_MATE, loss.scale).astype(np.float32),
        np.full(len(packed), -1, np.int8),
    )
    triplets = loss.method != "evaluations"
    if not (quiet or triplets):
        return samples
    _, _, moves = _core.successors(packed, threads)
    counts = np.diff(offsets)[some]
    # The first of equal best moves: where a score equals its position's best and no earlier one did.
    hits = np.flatnonzero(scores == np.repeat(best, counts))
    owner = np.repeat(np.arange(len(packed)), counts)[hits]
    _, first = np.unique(owner, return_index=True)
    played = np.ascontiguousarray(moves[hits[first]])
    calm = _core.quiet(packed, played, threads) if quiet else None
    if triplets:
        return _triplets(samples, played, calm, threads, seed)
    assert calm is not None
    return samples.chosen(calm)


def _of_successors(labels: MoveLabels, quiet: bool, loss: NnueLoss, threads: int, seed: int) -> Samples:
    packed, _, scores = labels
    _, after, _ = _core.successors(np.ascontiguousarray(packed), threads)
    if len(after) != len(scores):
        raise UserError(f"labels of {len(scores)} moves for positions with {len(after)}: label them anew")
    value = (1 - label_probability(scores, MOVE_MATE, loss.scale)).astype(np.float32)
    samples = Samples(after[:, None], value, np.full(len(after), -1, np.int8))
    # A search never asks about a finished game, whatever the filter says.
    goes_on = _core.states(after, threads) == GOES_ON
    if quiet:
        goes_on &= _core.quiet(after, None, threads)
    return samples.chosen(goes_on)


def _triplets(
    samples: Samples,
    played: NDArray[np.uint16],
    quiet: NDArray[np.bool_] | None,
    threads: int,
    seed: int,
) -> Samples:
    """Each position with the one that was played to, and one that a random other move leads to."""
    before = np.ascontiguousarray(samples.packed[:, 0])
    offsets, after, moves = _core.successors(before, threads)
    counts = np.diff(offsets)
    hits = np.flatnonzero(moves == np.repeat(played, counts))
    rows = np.repeat(np.arange(len(before)), counts)[hits]
    usable = counts[rows] > 1
    if quiet is not None:
        usable &= quiet[rows]
    hits, rows = hits[usable], rows[usable]
    chance = np.random.default_rng([11, seed])
    other = offsets[rows] + chance.integers(0, counts[rows] - 1)
    other += other >= hits
    three = np.stack([before[rows], after[hits], after[other]], 1)
    return Samples(three, samples.value[rows], samples.result[rows])
