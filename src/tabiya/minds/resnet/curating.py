"""Hard positions by what a second look tells: where a network's two opinions of the moves differ most."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from tabiya.data.labels import held_out
from tabiya.learn.feed import Table, legal_rows
from tabiya.minds.resnet.judge import Judge
from tabiya.minds.resnet.reconsidering import Reconsidering, leanings

SECOND_LOOK = Reconsidering(sources=(), moves=3, least=0.03, prior=0.25)
"""At three moves, as in the shipped network's run."""


def told(judge: Judge, packed: NDArray[np.uint8], threads: int) -> NDArray[np.float32]:
    """What a second look tells of each position: the divergence of its chances from those of the first."""
    table = Table(
        "games",
        torch.from_numpy(packed),
        legal=torch.from_numpy(legal_rows(packed, threads)),
        target=torch.full((len(packed),), -1, dtype=torch.int16),
        result=torch.full((len(packed),), -1, dtype=torch.int8),
    )
    # Rounding makes some that are told nothing a little negative.
    return np.asarray(leanings(judge, table, SECOND_LOOK, threads).told.clamp(min=0).numpy())


def hardest(
    packed: NDArray[np.uint8], told: NDArray[np.float32], least: float, maximum: int | None, seed: int = 0
) -> NDArray[np.int64]:
    """Positions that are told this much or more, at most so many of them, in an order of chance.

    Held-out positions are left out: what is curated is learned from.
    """
    rows = np.flatnonzero((told >= least) & ~held_out(packed))
    if maximum is not None:
        rows = rows[np.argsort(-told[rows], kind="stable")[:maximum]]
    return np.random.default_rng(seed).permutation(rows)
