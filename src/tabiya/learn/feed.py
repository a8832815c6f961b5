"""Training data resident on the device: tables of positions, drawn from at random, step by step.

A table is read once, in packed form, and stays on the device; planes are made
there. A table is gone through in an order of chance, and when all of it was
seen, in another. What is drawn at a step depends on the seed, the step and the
tables' lengths alone, so a run that was stopped goes on with exactly the batches
it would have had. A draw is a number from which row and mirror image follow, so
that everything after it is arithmetic on the device.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Self, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tabiya import _core
from tabiya.data.labels import MoveLabels, held_out, load_move_labels, select
from tabiya.data.scale import MOVE_MATE, VALUE_MATE, label_probability
from tabiya.data.shards import ShardFolder, Split
from tabiya.data.worth import label_worth
from tabiya.errors import UserError
from tabiya.learn.distributed import team
from tabiya.learn.planes import can_mirror, mirrored_moves

WIDTH = 80
"""Legal moves kept per position; the very few positions with more lose the rest."""
CHUNK = 1 << 20
"""Positions prepared at a time."""
BLOCK = 64
"""Steps whose rows are drawn together."""


class NothingThereError(UserError):
    """A source has no positions of the split that was asked for."""


@dataclass(frozen=True, kw_only=True)
class Source:
    """One set of data and its part in every batch."""

    kind: Literal["games", "labels", "successors"]
    """Games: an extracted folder. Labels: move labels. Successors: their moves' outcomes as positions."""
    path: str
    """Folder or file; several of one kind separated by ':'. A folder of labels is all its `.moves` files."""
    share: float
    """Share of each batch."""
    name: str | None = None
    """What its losses are reported under, where two sources are of one kind."""
    fraction: float = 1.0
    """How much of it is used: this share of the positions, picked at random by a fixed seed."""
    targets: Literal["worth", "probability"] = "worth"
    """What a teacher's centipawns become: `tabiya.data.worth`, or the plain win probability."""
    weighted: bool = True
    """Games: the tiers' weights count; otherwise all moves weigh the same."""
    values: bool = True
    """Labels: the best move's worth is taught as the position's. A network's own is too high for that."""

    def __post_init__(self) -> None:
        if self.share <= 0:
            raise UserError(f"the share of {self.path} must be positive, got {self.share}")
        if not 0 < self.fraction <= 1:
            raise UserError(f"the fraction of {self.path} must be above 0 and at most 1, got {self.fraction}")


@dataclass
class Table:
    """Positions of one source as tensors of equal length on one device."""

    kind: str
    """The name that losses on it are reported under: its source's kind, unless that has a name."""
    packed: Tensor
    """uint8 [N, 32]."""
    legal: Tensor | None = None
    """int16 [N, WIDTH]: numbers of the legal moves, then −1."""
    target: Tensor | None = None
    """int16 [N]: which of them was played."""
    q: Tensor | None = None
    """float16 [N, WIDTH]: worth of each legal move, for the mover."""
    leaning: Tensor | None = None
    """float16 [N, WIDTH]: softmax of it are the chances of the legal moves that are to be learned."""
    value: Tensor | None = None
    """float16 [N]: the teacher's verdict as worth for the mover; not-a-number where there is none."""
    result: Tensor | None = None
    """int8 [N]: 0 win, 1 draw, 2 loss for the mover, −1 unknown."""
    weight: Tensor | None = None
    """float16 [N]."""
    mirror: Tensor | None = None
    """bool [N]: the row is to be seen in the mirror; its `legal` is so already."""
    divided: int | None = field(default=None, init=False)
    """Where these are one process's rows of a part of a batch: the rows of all processes."""

    @property
    def whole(self) -> int:
        """Rows of the part in all processes."""
        return len(self) if self.divided is None else self.divided

    def __len__(self) -> int:
        return int(self.packed.shape[0])

    def take(self, rows: Tensor) -> Self:
        """The rows with these numbers."""
        parts = {
            name: tensor.index_select(0, rows)
            for name, tensor in vars(self).items()
            if isinstance(tensor, Tensor)
        }
        return type(self)(self.kind, **parts)


Chunk: TypeAlias = dict[str, NDArray[Any]]
Worth: TypeAlias = Callable[[NDArray[Any], int], NDArray[np.float64]]
_TARGETS: dict[str, Worth] = {"worth": label_worth, "probability": label_probability}


def legal_rows(packed: NDArray[np.uint8], threads: int) -> NDArray[np.int16]:
    return _core.legal_rows(packed, "planes", "mover", WIDTH, threads)


def load(
    source: Source,
    split: Split,
    device: torch.device,
    threads: int | None = None,
    only: Mapping[str, Sequence[str]] | None = None,
) -> Table:
    """Read a source's files onto the device; of the folders that `only` has, these parts alone."""
    threads = threads or os.cpu_count() or 1
    worth = _TARGETS[source.targets]

    def read(path: str) -> Iterator[Chunk]:
        names = (only or {}).get(path)
        if names is None:
            names = parts_of(source.kind, path)
        if source.kind == "games":
            yield from _games(Path(path), names, split, threads, worth)
            return
        read_labels = _labels if source.kind == "labels" else _successors
        for name in names:
            yield from read_labels(Path(path) / name, split, threads, worth)

    def chunks() -> Iterator[Chunk]:
        number = 0
        for path in source.path.split(":"):
            for chunk in read(path):
                if source.fraction < 1 and split == "train":
                    chunk = _thinned(chunk, source.fraction, number)
                if not source.weighted:
                    chunk.pop("weight", None)
                if not source.values:
                    chunk.pop("value", None)
                number += 1
                yield chunk

    try:
        return _table(source.name or source.kind, chunks(), device)
    except LookupError:
        raise NothingThereError(f"{source.path} holds no positions of its {split} split") from None


def parts_of(kind: str, path: str) -> list[str]:
    """What a folder of positions or of labels is made of so far; of a file of labels, nothing but itself."""
    if kind == "games":
        return ShardFolder.open(Path(path)).names()
    folder = Path(path)
    return sorted(file.name for file in folder.glob("*.moves")) if folder.is_dir() else [""]


def _table(kind: str, chunks: Iterable[Chunk], device: torch.device) -> Table:
    """Chunks put on the device, one after the other; `LookupError` if there are none."""
    parts = [{name: torch.from_numpy(array).to(device) for name, array in each.items()} for each in chunks]
    return Table(kind, **{name: torch.cat([part[name] for part in parts]) for name in parts[0]})


def _thinned(chunk: Chunk, fraction: float, number: int) -> Chunk:
    return _rows(chunk, np.random.default_rng(number).random(len(chunk["packed"])) < fraction)


def _rows(chunk: Chunk, kept: NDArray[np.bool_]) -> Chunk:
    return {name: array[kept] for name, array in chunk.items()}


def _games(path: Path, names: Sequence[str], split: Split, threads: int, worth: Worth) -> Iterator[Chunk]:
    folder = ShardFolder.open(path)
    weights = np.array([1.0, *(tier["weight"] for tier in folder.manifest["options"].get("tiers", ()))])
    for name in names:
        shard = folder.shard(name, split)
        for start in range(0, len(shard), CHUNK):
            records = shard[start : start + CHUNK]
            packed = np.array(records["packed"])  # a copy: the file is only to be read
            black = (packed[:, 24] & 1).astype(bool)
            legal = legal_rows(packed, threads)
            played = _core.move_indices(packed, np.ascontiguousarray(records["move"]), "planes")
            white_value = worth(records["eval"], VALUE_MATE)
            result = records["result"].astype(np.int16)
            for_mover = np.where(black, -result, result)
            yield {
                "packed": packed,
                "legal": legal,
                "target": _slots(legal, played),
                "value": np.where(black, 1 - white_value, white_value).astype(np.float16),
                "result": np.where(np.abs(result) <= 1, 1 - for_mover, -1).astype(np.int8),
                "weight": weights[records["tier"]].astype(np.float16),
            }


def _slots(legal: NDArray[np.int16], played: NDArray[np.int32]) -> NDArray[np.int16]:
    """Where in its row of legal moves the played move stands; −1 where it does not."""
    found = (legal == played[:, None]) & (legal >= 0)  # an illegal move has the number of no move
    return np.where(found.any(1), found.argmax(1), -1).astype(np.int16)


def _split_labels(path: Path, split: Split) -> MoveLabels:
    labels = load_move_labels(path)
    return select(labels, np.flatnonzero(held_out(labels[0]) == (split == "validation")))


def _labels(path: Path, split: Split, threads: int, worth: Worth) -> Iterator[Chunk]:
    yield from _labels_of(_split_labels(path, split), threads, worth)


def _successors(path: Path, split: Split, threads: int, worth: Worth) -> Iterator[Chunk]:
    for chunk in _successors_of(_split_labels(path, split), threads, worth):
        # Some lead to positions that are labelled themselves and held out.
        yield chunk if split == "validation" else _rows(chunk, ~held_out(chunk["packed"]))


def labels_table(labels: MoveLabels, device: torch.device, threads: int | None = None) -> Table:
    """Labels in memory as a source of the kind labels would give them, none held out."""
    return _table("labels", _labels_of(labels, threads or os.cpu_count() or 1, label_worth), device)


def successors_table(labels: MoveLabels, device: torch.device, threads: int | None = None) -> Table:
    """Their moves' outcomes as positions, likewise."""
    return _table("successors", _successors_of(labels, threads or os.cpu_count() or 1, label_worth), device)


def joined(tables: Sequence[Table]) -> Table:
    """Tables of one kind, one after the other."""
    first = vars(tables[0])
    names = [name for name, tensor in first.items() if isinstance(tensor, Tensor)]
    return Table(
        tables[0].kind, **{name: torch.cat([getattr(table, name) for table in tables]) for name in names}
    )


def _labels_of(labels: MoveLabels, threads: int, worth: Worth) -> Iterator[Chunk]:
    packed, offsets, scores = labels
    for start in range(0, len(packed), CHUNK):
        rows = packed[start : start + CHUNK]
        bounds = offsets[start : start + len(rows) + 1]
        counts = np.diff(bounds)
        keep = np.flatnonzero((counts > 0) & (counts <= WIDTH))
        p = worth(scores[bounds[0] : bounds[-1]], MOVE_MATE)
        q = np.full((len(rows), WIDTH), np.nan, np.float16)
        columns = np.arange(int(counts.sum())) - np.repeat(bounds[:-1] - bounds[0], counts)
        inside = columns < WIDTH
        q[np.repeat(np.arange(len(rows)), counts)[inside], columns[inside]] = p[inside]
        rows, q = np.ascontiguousarray(rows[keep]), q[keep]
        yield {
            "packed": rows,
            "legal": legal_rows(rows, threads),
            "q": q,
            "value": np.nanmax(q, 1).astype(np.float16),
        }


def _successors_of(labels: MoveLabels, threads: int, worth: Worth) -> Iterator[Chunk]:
    packed, offsets, scores = labels
    step = CHUNK // 32
    for start in range(0, len(packed), step):
        bounds = offsets[start : start + step + 1]
        _, after, _ = _core.successors(np.ascontiguousarray(packed[start : start + step]), threads)
        p = worth(scores[bounds[0] : bounds[-1]], MOVE_MATE)
        yield {"packed": after, "value": (1 - p).astype(np.float16)}


class Feed:
    """Batches drawn from several tables, each with its share."""

    def __init__(
        self, tables: list[Table], shares: list[float], batch: int, seed: int, mirror: bool = False
    ) -> None:
        self._tables, self._seed, self._mirror = tables, seed, mirror
        total = sum(shares)
        counts = [int(batch * share / total) for share in shares]
        counts[0] += batch - sum(counts)
        if min(counts) < 1:
            raise UserError(f"a batch of {batch} is too small for {len(shares)} sources with shares {shares}")
        self.counts, self._team = counts, team()
        self._team.divide(counts)
        self._block: tuple[int, list[Tensor]] = (-1, [])
        self._orders: dict[int, tuple[int, Tensor]] = {}
        self._mirrored = torch.from_numpy(mirrored_moves()).to(tables[0].packed.device)

    def draw(self, step: int) -> list[Tensor]:
        """int64 [count] for each source: which rows the step sees, the same for the same step.

        Of several processes, each is given its own of them.
        """
        block, within = divmod(step, BLOCK)
        if self._block[0] != block:
            # A generator is set up once for many steps: each set-up would hold up the device.
            self._block = (block, [self._drawn(number, block) for number in range(len(self._tables))])
        return [self._team.mine(draws[within]) for draws in self._block[1]]

    def _drawn(self, number: int, block: int) -> Tensor:
        """One table's draws for a block of steps, int64 [BLOCK, count]."""
        size = BLOCK * self.counts[number]
        rows, begun = [], block * size
        while begun < (block + 1) * size:
            turn, place = divmod(begun, len(self._tables[number]))
            rows.append(self._order(number, turn)[place : place + (block + 1) * size - begun])
            begun += len(rows[-1])
        device = self._tables[number].packed.device
        mirror = torch.randint(2, (size,), generator=self._chance(number, block), device=device)
        return (2 * torch.cat(rows).long() + mirror).reshape(BLOCK, -1)

    def _order(self, number: int, turn: int) -> Tensor:
        """In which order the rows of a table are seen for the first time, the second time, …"""
        if number not in self._orders or self._orders[number][0] != turn:
            table = self._tables[number]
            order = torch.randperm(
                len(table),
                generator=self._chance(number, ~turn),
                device=table.packed.device,
                dtype=torch.int32,
            )
            self._orders[number] = (turn, order)
        return self._orders[number][1]

    def _chance(self, number: int, purpose: int) -> torch.Generator:
        """Blocks have numbers from 0 on, turns the negative ones."""
        generator = torch.Generator(self._tables[number].packed.device)
        generator.manual_seed((self._seed * 1_000_003 + purpose) * 31 + number)
        return generator

    def take(self, draws: list[Tensor]) -> list[Table]:
        """One part of the batch per source: the rows that were drawn, some in the mirror."""
        parts = []
        for table, numbers, count in zip(self._tables, draws, self.counts, strict=True):
            part = table.take(numbers >> 1)
            part.divided = None if self._team.size == 1 else count
            if self._mirror:
                part.mirror = ((numbers & 1) == 1) & can_mirror(part.packed)
                if part.legal is not None:
                    turned = self._mirrored[part.legal.clamp(min=0).int()]
                    part.legal = torch.where(part.mirror[:, None] & (part.legal >= 0), turned, part.legal)
            parts.append(part)
        return parts
