"""One training run by several processes, as torchrun starts them: what each does, and what they share.

The batch of a config is that of a whole step. What a step sees is drawn by
seed and step alone, so every process makes the same draw and takes every
`size`-th row of it, from its own rank on: no row is seen twice, none is left
out. A mean over the batch counts the rows of all; gradients are averaged before
the optimizer sees them; so every process keeps the same weights, averages and
moments, and one of them, the first, writes what is written. The number of
processes is no setting: a run goes on with any other.

Without torchrun there is one process, and nothing here changes a bit.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import torch
import torch.distributed as dist
from numpy.typing import NDArray
from torch import Tensor

from tabiya.errors import UserError
from tabiya.learn.checkpoint import load_checkpoint
from tabiya.learn.log import RunLog

PATIENCE = timedelta(hours=1)
"""How long a process waits for the others: the first may be validating, or writing a large file."""

Rows = TypeVar("Rows", Tensor, NDArray[Any])
Given = ParamSpec("Given")


@dataclass(frozen=True)
class Team:
    """The processes of a run, as one of them sees them."""

    rank: int = 0
    size: int = 1

    @property
    def leads(self) -> bool:
        """Whether this is the process that writes."""
        return self.rank == 0

    def mine(self, rows: Rows) -> Rows:
        """Of rows that all have drawn alike, this process's own."""
        return rows[self.rank :: self.size]

    def count(self, rows: int) -> int:
        """How many of so many rows are this process's own."""
        return len(range(self.rank, rows, self.size))

    def divide(self, counts: Iterable[int]) -> list[int]:
        """This process's own part of each count; `UserError` if one is too small for all to have some."""
        counts = list(counts)
        if min(counts) < self.size:
            raise UserError(
                f"{min(counts)} rows of a batch cannot be divided among {self.size} processes: "
                "use a larger batch or fewer processes"
            )
        return [self.count(each) for each in counts]

    def log(self, folder: Path, resumed_at: int, steps: int | None) -> RunLog:
        """The run's log in the first process, nothing in the others."""
        return RunLog(folder, resumed_at=resumed_at, steps=steps) if self.leads else Unlogged()

    def agreed(self, word: bool) -> bool:
        """What the first process says: clocks differ, and all must stop at one step."""
        if self.size == 1:
            return word
        said = torch.tensor([word], dtype=torch.uint8)
        dist.broadcast(said, 0)
        return bool(said.item())

    def load(self, path: str | Path | None, device: str) -> tuple[dict[str, Tensor], dict[str, Any]] | None:
        """A checkpoint as the first process reads it; None where that has no path to read from.

        The others may run on machines that have no such file.
        """
        found = load_checkpoint(path, device) if self.leads and path is not None else None
        if self.size == 1:
            return found
        outline: list[Any] = [None]
        if found is not None:
            tensors, metadata = found
            outline = [(metadata, [(name, t.shape, t.dtype) for name, t in tensors.items()])]
        dist.broadcast_object_list(outline, 0, device=torch.device("cpu"))
        if outline[0] is None:
            return None
        metadata, shapes = outline[0]
        tensors = found[0] if found else {n: torch.empty(s, dtype=t, device=device) for n, s, t in shapes}
        for name, _, _ in shapes:
            dist.broadcast(tensors[name], 0)
        return tensors, metadata

    def average_gradients(self, parameters: Iterable[Tensor]) -> None:
        """Replace every gradient by its mean over the processes."""
        if self.size == 1:
            return
        gradients = [p.grad for p in parameters if p.grad is not None]
        # One message: the gradients of small networks are many and short.
        flat = torch.cat([gradient.reshape(-1) for gradient in gradients])
        dist.all_reduce(flat)
        flat /= self.size
        pieces = torch.split(flat, [gradient.numel() for gradient in gradients])
        for gradient, piece in zip(gradients, pieces, strict=True):
            gradient.copy_(piece.view(gradient.shape))

    def figures(self, figures: Mapping[str, Tensor]) -> dict[str, float]:
        """A step's figures as numbers, of the whole batch."""
        if self.size > 1:
            shared = torch.stack([value.float() for value in figures.values()])
            dist.all_reduce(shared)
            figures = dict(zip(figures, shared / self.size, strict=True))
        return {name: float(value) for name, value in figures.items()}


class Unlogged(RunLog):
    """The log of a process that writes none."""

    def __init__(self) -> None:
        pass

    def report(self, step: int, **scalars: float) -> None:
        pass

    def note(self, text: str) -> None:
        pass

    def leave_out(self, seconds: float) -> None:
        pass

    def close(self) -> None:
        pass


ALONE = Team()
_current = ALONE


def team() -> Team:
    """The processes that train now."""
    return _current


@contextmanager
def _as(other: Team) -> Iterator[Team]:
    global _current
    before, _current = _current, other
    try:
        yield other
    finally:
        _current = before


def is_team() -> bool:
    """Whether torchrun has started this process as one of several."""
    return "RANK" in os.environ and int(os.environ.get("WORLD_SIZE", "1")) > 1


@contextmanager
def assembled(device: str) -> Iterator[Team]:
    """The processes that torchrun has started, joined for as long as this lasts; one alone without it."""
    if not is_team():
        yield ALONE
        return
    backend = "gloo"
    if device == "cuda" and torch.cuda.is_available():
        local, here = int(os.environ.get("LOCAL_RANK", "0")), torch.cuda.device_count()
        if local >= here:
            raise UserError(f"{local + 1} processes or more for {here} GPUs: use --nproc-per-node {here}")
        torch.cuda.set_device(local)
        backend = "cpu:gloo,cuda:nccl"
    dist.init_process_group(backend, timeout=PATIENCE)
    with _as(Team(dist.get_rank(), dist.get_world_size())) as joined:
        yield joined
    # Not after an error: the others would be waited for, and torchrun ends them. All leave together: one that
    # had left while the first still validated was seen to abort at its end.
    dist.barrier()
    dist.destroy_process_group()


def by_the_first(
    work: Callable[Given, dict[str, float]],
) -> Callable[Given, dict[str, float]]:
    """Figures that the first process finds, alone; the others find none."""

    @wraps(work)
    def done(*given: Given.args, **named: Given.kwargs) -> dict[str, float]:
        if not team().leads:
            return {}
        with _as(ALONE):
            return work(*given, **named)

    return done


def mean(values: Tensor, rows: int) -> Tensor:
    """The mean over a batch of `rows`, these being this process's values.

    As a loss it is the process's own part of it, times their number: the mean
    over the processes, of it and of its gradients, is that of the batch.
    """
    if _current.size == 1:
        return values.mean()
    return values.sum() * (_current.size / rows)


def weighted_mean(values: Tensor, weights: Tensor) -> Tensor:
    """The same where values count differently: their weights add up over all processes."""
    total = weights.sum()
    if _current.size == 1:
        return (values * weights).sum() / total.clamp(min=1.0)
    total = total.detach().clone()
    dist.all_reduce(total)
    return (values * weights).sum() * _current.size / total.clamp(min=1.0)
