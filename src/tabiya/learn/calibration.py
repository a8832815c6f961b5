"""Positions to calibrate on or to compare with, drawn from whatever holds some.

An extracted folder, a game file, a list of FEN lines or move labels: any
source that can be labelled can be drawn from.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tabiya.data.label_source import tasks_of
from tabiya.errors import UserError


def draw_positions(source: str | Path, count: int, seed: int = 0) -> NDArray[np.uint8]:
    """`count` packed positions [count, 32] of a source, or all if it has fewer, in the seed's order."""
    if count < 1:
        raise UserError(f"at least 1 position must be drawn, got {count}")
    # Where labels would go is of no interest here, but must not be the source itself.
    parts = [task.load() for task in tasks_of(source, "moves", tempfile.gettempdir())]
    sizes = [len(part) for part in parts]
    total = sum(sizes)
    if not total:
        raise UserError(f"there are no positions in {source}")
    chosen = np.random.default_rng(seed).permutation(total)[:count]
    ends = np.cumsum(sizes)
    rows = np.zeros((len(chosen), 32), np.uint8)
    for number, part in enumerate(parts):
        begin = int(ends[number]) - sizes[number]
        own = (chosen >= begin) & (chosen < ends[number])
        if own.any():
            rows[own] = part[chosen[own] - begin]
    return rows
