"""Positions on their way through a pipeline: picked from the games, cleared of what is known, listed.

Whatever is picked follows from a seed, so that a stage that is begun again
picks the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tabiya import _core
from tabiya.data.fens import read_positions
from tabiya.data.labels import load_move_labels
from tabiya.data.shards import ShardFolder
from tabiya.errors import UserError
from tabiya.files import replacing

Packed = NDArray[np.uint8]


def sampled_positions(
    folder: ShardFolder, count: int, seed: int, plies: tuple[int, int] | None = None
) -> Packed:
    """Different positions of the training games, at most `count`, in the order of the games.

    `plies`: only positions with so many half-moves before them, the second not included.
    """
    rows_of = []
    for _, records in folder.shards("train"):
        ply = records["ply"]
        rows_of.append(
            np.arange(len(records)) if plies is None else np.flatnonzero((ply >= plies[0]) & (ply < plies[1]))
        )
    total = sum(map(len, rows_of))
    chosen = np.sort(np.random.default_rng(seed).permutation(total)[:count])
    parts, first = [np.zeros((0, 32), np.uint8)], 0
    for (_, records), rows in zip(folder.shards("train"), rows_of, strict=True):
        within = chosen[(chosen >= first) & (chosen < first + len(rows))] - first
        parts.append(np.ascontiguousarray(records["packed"][rows[within]]))
        first += len(rows)
    packed = np.concatenate(parts)
    return packed[first_of_each(packed)]


def first_of_each(packed: Packed) -> NDArray[np.intp]:
    """The row of each different position's first appearance, in order."""
    return np.sort(np.unique(_core.position_keys(packed), return_index=True)[1])


def playable(packed: Packed) -> NDArray[np.bool_]:
    """Which positions have a legal move."""
    offsets, _ = _core.legal_indices(packed, "uci")
    return np.asarray(np.diff(offsets) > 0)


def not_known(packed: Packed, labels: Sequence[Path]) -> NDArray[np.bool_]:
    """Which positions no file labels yet."""
    known = [_core.position_keys(load_move_labels(path)[0]) for path in labels]
    keys = _core.position_keys(packed)
    return ~np.isin(keys, np.concatenate([np.zeros(0, np.uint64), *known]))


def shuffled(packed: Packed, seed: int, maximum: int | None) -> Packed:
    """In an order of chance, so that the first of them stand for all; at most `maximum`."""
    order = np.random.default_rng(seed).permutation(len(packed))
    return packed[order[:maximum]]


def write_list(path: Path, packed: Packed) -> None:
    """The positions as FENs, one a line."""
    with replacing(path) as part, part.open("w") as stream:
        for first in range(0, len(packed), 4096):
            stream.writelines(f"{fen}\n" for fen in _core.unpack_fens(packed[first : first + 4096]))


def book_openings(path: str, count: int, seed: int) -> list[str]:
    """Different positions of a book, at most `count`."""
    packed = read_positions(path)
    packed = packed[playable(packed)]
    if not len(packed):
        raise UserError(f"{path} holds no position to begin a game from")
    return _core.unpack_fens(shuffled(packed[first_of_each(packed)], seed, count))


def game_openings(folder: ShardFolder, count: int, seed: int, plies: tuple[int, int]) -> list[str]:
    """Positions of the games between two plies, at most `count`."""
    packed = sampled_positions(folder, count, seed, plies)
    packed = packed[playable(packed)]
    if not len(packed):
        raise UserError(f"no game in {folder.path} has a position between plies {plies[0]} and {plies[1]}")
    return _core.unpack_fens(packed)
