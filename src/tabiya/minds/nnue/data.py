"""Batches for the network: rows of features that lie on the device, or that threads make ahead of it.

*Resident*: the features of every position are made once, by Rust, and stay on
the device as 16-bit numbers (128 bytes a position for ALL); a step draws row
numbers there and nothing travels. *Streamed*: where that does not fit, the
positions stay in memory, 32 bytes each, and threads prepare the rows of the
next steps while the device works. What a step sees depends on the seed and
the step alone, so a run that was stopped goes on as if it had not been.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Literal, NamedTuple, Protocol, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tabiya import _core
from tabiya.errors import UserError
from tabiya.learn.distributed import team
from tabiya.minds.nnue.quantised import piece_counts
from tabiya.minds.nnue.sources import Samples

BLOCK = 64
"""Steps whose rows are drawn together."""
FILL = 1 << 18
"""Positions whose features are made at a time."""
AHEAD = 8
"""Steps that are prepared ahead."""
ROOM = 0.7
"""Share of the device's free memory that resident rows may take."""
SHORT = 65_535
"""Sets up to this size have 16-bit numbers."""

Keep: TypeAlias = Literal["auto", "resident", "streamed"]


class Batch(NamedTuple):
    """Samples as the network and its loss want them, all on one device."""

    rows: Tensor
    """int16 or int32 [N, K, 2, W]: features of K positions (one, or P, Q and R) in both views."""
    pieces: Tensor
    """uint8 [N, K]."""
    value: Tensor
    """float32 [N]."""
    result: Tensor
    """int8 [N]."""

    def taken(self, numbers: Tensor) -> Batch:
        return Batch(*(tensor.index_select(0, numbers) for tensor in self))

    def part(self, start: int, count: int) -> Batch:
        return Batch(*(tensor[start : start + count] for tensor in self))


def joined(batches: Sequence[Batch]) -> Batch:
    """One after the other."""
    return batches[0] if len(batches) == 1 else Batch(*map(torch.cat, zip(*batches, strict=True)))


class Features:
    """Makes rows of one set at one width, wide enough for all the samples it was shown."""

    def __init__(
        self, features: _core.FeatureSet, samples: Sequence[Samples], threads: int | None = None
    ) -> None:
        self.features, self.threads = features, threads or os.cpu_count() or 1
        self.width = features.max_active
        if self.width > 64:
            # What can be active at most is far above what ever is: look.
            self.width = max(self._widest(some.packed) for some in samples)

    def _widest(self, packed: NDArray[np.uint8]) -> int:
        flat = packed.reshape(-1, 32)
        return max(
            self.features.most_active(np.ascontiguousarray(flat[start : start + FILL]), self.threads)
            for start in range(0, len(flat), FILL)
        )

    @property
    def bytes_per_position(self) -> int:
        return 2 * self.width * (2 if self.features.size <= SHORT else 4)

    def rows(self, packed: NDArray[np.uint8], threads: int | None = None) -> Tensor:
        """[N, K, 2, W] of packed positions [N, K, 32]."""
        flat = np.ascontiguousarray(packed).reshape(-1, 32)
        threads = threads or self.threads
        if self.features.size <= SHORT:
            made = torch.from_numpy(self.features.rows(flat, self.width, threads).view(np.int16))
        else:
            made = torch.from_numpy(self.features.wide_rows(flat, self.width, threads))
        return made.reshape(*packed.shape[:2], 2, self.width)

    def batch(self, samples: Samples, threads: int | None = None) -> Batch:
        """Samples with their features, in memory."""
        return Batch(
            self.rows(samples.packed, threads),
            torch.from_numpy(piece_counts(samples.packed)),
            torch.from_numpy(samples.value),
            torch.from_numpy(samples.result),
        )

    def resident(self, samples: Samples, device: torch.device) -> Batch:
        """All samples on the device, made piece by piece so that memory holds no second copy."""
        count, positions = samples.packed.shape[:2]
        kind = torch.int16 if self.features.size <= SHORT else torch.int32
        rows = torch.empty(count, positions, 2, self.width, dtype=kind, device=device)
        for start in range(0, count, FILL):
            rows[start : start + FILL] = self.rows(samples.packed[start : start + FILL])
        rest = (piece_counts(samples.packed), samples.value, samples.result)
        return Batch(rows, *(torch.from_numpy(array).to(device) for array in rest))


class Feed(Protocol):
    """Batches, step by step."""

    counts: list[int]
    """Samples of each source in a batch, which follow each other in this order; of all processes."""
    kind: str

    def draw(self, step: int) -> list[Tensor]:
        """What a step reads, on the device, always of the same shapes."""
        ...

    def take(self, drawn: list[Tensor]) -> Batch:
        """The batch of what was drawn; arithmetic on the device alone."""
        ...

    def close(self) -> None: ...


def parts_of(batch: int, shares: Sequence[float]) -> list[int]:
    """A batch divided by shares; each gets at least one sample."""
    counts = [int(batch * share / sum(shares)) for share in shares]
    counts[0] += batch - sum(counts)
    if min(counts) < 1:
        raise UserError(
            f"a batch of {batch} is too small for {len(shares)} sources with shares {list(shares)}"
        )
    return counts


class ResidentFeed:
    """Draws from tables on the device."""

    kind = "resident"

    def __init__(self, tables: Sequence[Batch], counts: list[int], seed: int) -> None:
        self.counts, self._tables, self._seed, self._team = counts, tables, seed, team()
        self._block: tuple[int, list[Tensor]] = (-1, [])

    def draw(self, step: int) -> list[Tensor]:
        block, within = divmod(step, BLOCK)
        if self._block[0] != block:
            draws = []
            for number, (table, count) in enumerate(zip(self._tables, self.counts, strict=True)):
                generator = torch.Generator(table.value.device)
                generator.manual_seed((self._seed * 1_000_003 + block) * 31 + number)
                size, rows = (BLOCK, count), len(table.value)
                draws.append(torch.randint(rows, size, generator=generator, device=table.value.device))
            self._block = (block, draws)
        return [self._team.mine(draws[within]) for draws in self._block[1]]

    def take(self, drawn: list[Tensor]) -> Batch:
        return joined([table.taken(rows) for table, rows in zip(self._tables, drawn, strict=True)])

    def close(self) -> None:
        self._tables = []


class StreamedFeed:
    """Makes the rows of coming steps in threads, while the device is busy with this one's.

    The threads write into pinned memory that was taken at the beginning: only
    the calling thread speaks to the device, as capturing a step demands.
    """

    kind = "streamed"

    def __init__(
        self,
        samples: Sequence[Samples],
        features: Features,
        counts: list[int],
        seed: int,
        device: torch.device,
    ) -> None:
        self.counts, self._samples, self._features = counts, samples, features
        self._seed, self._device, self._team = seed, device, team()
        self._workers = min(4, features.threads)
        self._pool = ThreadPoolExecutor(self._workers)
        self._ready: deque[tuple[int, Future[Batch]]] = deque()
        self._slots: list[tuple[Batch, torch.cuda.Event]] = []
        if device.type == "cuda":
            like = self._prepare(0, None)
            # One more than are prepared: that of the step at hand is still being copied.
            self._slots = [
                (Batch(*(tensor.pin_memory() for tensor in like)), _event()) for _ in range(AHEAD + 1)
            ]

    def draw(self, step: int) -> list[Tensor]:
        if not self._ready or self._ready[0][0] != step:
            # The first step, or a jump: what was prepared must be out of the slots.
            for _, prepared in self._ready:
                prepared.result()
            self._ready.clear()
        while len(self._ready) < AHEAD:
            self._submit(step + len(self._ready))
        made = self._ready.popleft()[1].result()
        given = [tensor.to(self._device, non_blocking=True) for tensor in made]
        if self._slots:
            self._slots[step % len(self._slots)][1].record()
        return given

    def _submit(self, step: int) -> None:
        slot = None
        if self._slots:
            slot, copied = self._slots[step % len(self._slots)]
            copied.synchronize()
        self._ready.append((step, self._pool.submit(self._prepare, step, slot)))

    def _prepare(self, step: int, slot: Batch | None) -> Batch:
        parts = []
        for number, (samples, count) in enumerate(zip(self._samples, self.counts, strict=True)):
            chance = np.random.default_rng([self._seed, step, number])
            parts.append(samples.chosen(self._team.mine(chance.integers(0, len(samples), count))))
        threads = max(1, self._features.threads // self._workers)
        batch = self._features.batch(Samples.joined(parts), threads)
        if slot is None:
            return batch
        for kept, made in zip(slot, batch, strict=True):
            kept.copy_(made)
        return slot

    def take(self, drawn: list[Tensor]) -> Batch:
        return Batch(*drawn)

    def close(self) -> None:
        self._pool.shutdown(cancel_futures=True)


def _event() -> torch.cuda.Event:
    return torch.cuda.Event()  # type: ignore[no-untyped-call]


def feed_of(
    samples: Sequence[Samples],
    features: Features,
    counts: list[int],
    seed: int,
    device: torch.device,
    keep: Keep = "auto",
) -> Feed:
    """Resident where the rows fit the device's memory, unless one of both is asked for."""
    team().divide(counts)
    if keep == "auto":
        size = sum(len(some) * some.packed.shape[1] for some in samples) * features.bytes_per_position
        free = torch.cuda.mem_get_info(device)[0] if device.type == "cuda" else 4 << 30
        keep = "resident" if size <= ROOM * free else "streamed"
    if keep == "streamed":
        return StreamedFeed(samples, features, counts, seed, device)
    return ResidentFeed([features.resident(some, device) for some in samples], counts, seed)
