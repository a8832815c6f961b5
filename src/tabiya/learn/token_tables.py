"""Tables and batches for networks that number their moves in the UCI space.

The sources and their readers are `feed`'s; what differs is the numbering of
the moves, which is changed on the device, and two things that only records of
games know: the players' ratings, and which moves bring a position back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tabiya.data.shards import ShardFolder, Split
from tabiya.learn.feed import CHUNK, WIDTH, Feed, NothingThereError, Source, Table, load
from tabiya.learn.returning import returning

RETURNS = 2
"""Returning moves kept per position; hardly any position has more."""


@dataclass
class TokenTable(Table):
    """A table whose `legal` are numbers of the UCI space."""

    again: Tensor | None = None
    """int16 [N, RETURNS]: moves that bring a position back, as 4 · slot in `legal` + times; −1 none."""


Renumber = Callable[[Tensor, Tensor], Tensor]
"""(legal moves [N, W] of the planes space, packed [N, 32]) to numbers of the UCI space."""


@dataclass(frozen=True)
class Ratings:
    """Games by the average rating of their players, `low` within, `high` not."""

    low: int = 0
    high: int = 1 << 15

    def hold(self, records: NDArray[np.void]) -> NDArray[np.bool_]:
        average = (records["white_elo"].astype(np.int32) + records["black_elo"]) / 2
        return np.asarray((average >= self.low) & (average < self.high))


def load_tokens(
    source: Source,
    split: Split,
    device: torch.device,
    renumber: Renumber,
    *,
    ratings: Ratings | None = None,
    history: bool = True,
) -> TokenTable:
    """Read a source's files onto the device; `history`: look for moves that bring a position back."""
    plain = load(source, split, device)
    table = TokenTable(**{name: value for name, value in vars(plain).items() if name != "divided"})
    if table.legal is not None:
        for start in range(0, len(table), CHUNK):
            rows = slice(start, start + CHUNK)
            table.legal[rows] = renumber(table.legal[rows], table.packed[rows])
    if source.kind != "games":
        return table
    if history:
        parts = [_again(records)[kept] for records, kept in _records(source, split)]
        table.again = torch.from_numpy(np.concatenate(parts)).to(device)
    if ratings is not None:
        inside = np.concatenate([ratings.hold(records)[kept] for records, kept in _records(source, split)])
        rows_inside = np.flatnonzero(inside)
        if len(rows_inside) == 0:
            raise NothingThereError(
                f"{source.path} holds no {split} positions rated {ratings.low} to {ratings.high} on average"
            )
        table = table.take(torch.from_numpy(rows_inside).to(device))
    return table


def _records(source: Source, split: Split) -> Iterator[tuple[NDArray[np.void], NDArray[np.bool_]]]:
    """The records that `feed.load` reads, piece by piece, and which of them it keeps."""
    number = 0
    for path in source.path.split(":"):
        for _, shard in ShardFolder.open(Path(path)).shards(split):
            for start in range(0, len(shard), CHUNK):
                records = shard[start : start + CHUNK]
                kept = np.ones(len(records), np.bool_)
                if source.fraction < 1 and split == "train":
                    kept = np.random.default_rng(number).random(len(records)) < source.fraction
                number += 1
                yield records, kept


def _again(records: NDArray[np.void]) -> NDArray[np.int16]:
    found = returning(records)
    again = np.full((len(records), RETURNS), -1, np.int16)
    if len(found.rows) == 0:
        return again
    # How many entries of the same record stand before each: its column.
    first = np.searchsorted(found.rows, found.rows)
    column = np.arange(len(found.rows)) - first
    # Of the very many moves of some positions, `legal` keeps the first.
    kept = (found.slots < WIDTH) & (column < RETURNS)
    again[found.rows[kept], column[kept]] = (found.slots * 4 + np.minimum(found.times, 2))[kept]
    return again


class TokenFeed(Feed):
    """Batches whose moves are numbered in the UCI space."""

    def __init__(
        self,
        tables: list[TokenTable],
        shares: list[float],
        batch: int,
        seed: int,
        mirrored: NDArray[np.int16] | None,
    ) -> None:
        """`mirrored`: each move's number in the mirror; None shows nothing in the mirror."""
        super().__init__(list(tables), shares, batch, seed, mirrored is not None)
        if mirrored is not None:
            self._mirrored = torch.from_numpy(mirrored).to(tables[0].packed.device)
