"""What a validation looks at: a fixed sample of what nothing is learned from; and the average losses."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

import torch
from torch import Tensor

from tabiya.learn.feed import NothingThereError, Table

VALIDATION_ROWS = 1 << 15
"""Held-out positions of each source that a validation looks at."""

Kind = TypeVar("Kind", bound=Table)


def held_out_sample(loads: Iterable[Callable[[], Kind]], device: torch.device) -> list[Kind]:
    """The same rows each time of every table that can be loaded."""
    generator = torch.Generator().manual_seed(0)
    sample = []
    for load in loads:
        try:
            table = load()
        except NothingThereError:
            continue  # too few to hold any out: it is learned from all the same
        rows = torch.randperm(len(table), generator=generator)[:VALIDATION_ROWS]
        sample.append(table.take(rows.to(device)))
    return sample


def average_losses(
    held_out: Iterable[Kind],
    batch: int,
    device: torch.device,
    losses: Callable[[Kind], Mapping[str, Tensor]],
) -> dict[str, float]:
    """Each of the losses but their total, averaged over the positions of the tables that have it."""
    sums: dict[str, float] = {}
    for table in held_out:
        for start in range(0, len(table), batch):
            part = table.take(torch.arange(start, min(start + batch, len(table)), device=device))
            for name, value in losses(part).items():
                if name != "loss":
                    key = f"validation_{name}"
                    sums[key] = sums.get(key, 0.0) + float(value) * len(part) / len(table)
    return sums
