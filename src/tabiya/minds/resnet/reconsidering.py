"""A policy made better by a look at what its likeliest moves lead to, for the first look to learn from.

Policy and value err apart. A move that the policy likes and whose outcome the
value likes is a far better choice than either of them makes alone
(docs/resnet.md has the figures), so chances ∝ policy^prior · exp(worth / temperature)
are what the policy is taught. Where a teacher was asked, its move has the worth
that it gave and a little more, and no other move can be worth more. Unlike a
teacher's move alone, which of several good ones it may be, this is the same
every time, and a network learns it faster.

Most positions tell the policy hardly anything that it does not think already:
a tenth of them hold half of all divergence. Those may be thinned out, so that
the steps go to where the first look and the second differ.

All of it happens while training. At play there is one look.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tabiya import _core
from tabiya.board.choice import tempered
from tabiya.board.states import DRAWN, GOES_ON, MATED
from tabiya.errors import UserError
from tabiya.learn.feed import Table
from tabiya.minds.resnet.judge import Judge

CHUNK = 1 << 16
"""Positions considered together."""
AT_ONCE = 4
"""Chunks under way at a time: while the device answers for one, the processor prepares others."""
LOWEST = -60.0
"""What a move that is as good as impossible leans to, next to the best."""


@dataclass(frozen=True, kw_only=True)
class Reconsidering:
    """What is considered again, how often and how closely."""

    sources: tuple[str, ...]
    """Names (or kinds) of the sources of games whose moves are learned so and not as they were played."""
    steps: int = 0
    """After so many steps each the averaged network as it is then does it anew; 0: never."""
    by: str | None = None
    """A ResNet's checkpoint that does it first; otherwise the run's own network as it begins."""
    moves: int = 4
    """The outcomes of at most so many moves of a position are looked at."""
    least: float = 0.02
    """Moves to which the policy gives less are not looked at; the likeliest one is."""
    temperature: float = 0.04
    """Worth that counts as much as a policy e times as high."""
    prior: float = 1.0
    """How much of the policy's own leaning counts among the moves that something is known of. With all of it
    a policy grows sharper from run to run, and worth counts for less and less beside it."""
    chosen: float = 0.5
    """What a teacher's own move is given beyond its worth: it leans e to the power of this more."""
    news: float = 0.0
    """Positions that tell the policy less than this (in divergence) are thinned out in proportion; 0: no."""
    least_stay: float = 0.2
    """But at least this share of them stays, so that what is known is not forgotten."""

    def __post_init__(self) -> None:
        if self.steps < 0 or self.moves < 1:
            raise UserError("to reconsider, steps must not be negative and moves be at least 1")
        if self.temperature <= 0 or not 0 <= self.least < 1:
            raise UserError("to reconsider, temperature must be positive and least lie between 0 and 1")
        if not 0 <= self.prior <= 1:
            raise UserError(f"to reconsider, prior must lie between 0 and 1, got {self.prior}")
        if self.news < 0 or not 0 < self.least_stay <= 1:
            raise UserError("to reconsider, news must not be negative and least_stay lie above 0, at most 1")
        if self.news and self.steps:
            raise UserError("to reconsider with news, steps must be 0: what is left out is left out once")


class SecondLook(NamedTuple):
    """What a network makes of the moves of some positions when it looks again."""

    leaning: Tensor
    """float16 [N, WIDTH]: softmax of a row are the chances of its legal moves that are to be learned."""
    told: Tensor
    """float32 [N]: the divergence of those chances from what it thought at first."""


def leanings(judge: Judge, table: Table, settings: Reconsidering, threads: int = 1) -> SecondLook:
    """What the judge makes of a table of games on a second look."""
    assert table.legal is not None
    assert table.target is not None
    assert table.result is not None
    value = table.value
    if value is None:  # a source whose values are not to be used
        value = torch.full_like(table.target, torch.nan, dtype=torch.float16)
    given = table.packed, table.legal, table.target, value, table.result
    found = torch.empty(table.legal.shape, dtype=torch.float16, device=table.packed.device)
    told = torch.empty(len(table), device=table.packed.device)

    def one(start: int) -> None:
        rows = slice(start, start + CHUNK)
        packed, legal, target, value, result = (each[rows].cpu().numpy() for each in given)
        # Who played a game is no teacher: what a position with a result is worth is not its move's worth.
        taught = (target >= 0) & ~np.isnan(value) & (result < 0)
        leaning, news = _chunk(judge, packed, legal, np.where(taught, target, -1), value, settings, threads)
        found[rows] = torch.from_numpy(leaning).to(found.device)
        told[rows] = torch.from_numpy(news).to(told.device)

    with ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(one, range(0, len(table), CHUNK)))
    return SecondLook(found, told)


def staying(told: Tensor, settings: Reconsidering, seed: int) -> Tensor:
    """int64: the rows that stay, by chance but the same ones for the same seed."""
    if not settings.news:
        return torch.arange(len(told), device=told.device)
    chance = torch.rand(len(told), generator=torch.Generator().manual_seed(seed)).to(told.device)
    return (chance < (told / settings.news).clamp(min=settings.least_stay)).nonzero()[:, 0]


def _chunk(
    judge: Judge,
    packed: NDArray[np.uint8],
    legal: NDArray[np.int16],
    target: NDArray[np.int16],
    value: NDArray[np.float16],
    settings: Reconsidering,
    threads: int,
) -> tuple[NDArray[np.float16], NDArray[np.float32]]:
    """What some rows lean to, and what it tells; those with a `target` have a teacher's move and worth."""
    log_p = judge.policy(packed, legal)
    taught = target >= 0
    asked = np.flatnonzero(taught), target[taught]
    looked_at = _likely(log_p, settings)
    looked_at[asked] = False
    # One outcome next to nothing else that is known would change nothing.
    looked_at[~taught & (looked_at.sum(1) == 1)] = False
    worth = np.full(log_p.shape, np.inf, np.float32)
    worth[looked_at] = _outcomes(judge, packed, looked_at, threads)
    # The teacher knows of nothing better than its own move, so nothing is.
    ceiling = np.where(taught, value, np.inf).astype(np.float32)
    worth = np.where(looked_at, np.minimum(worth, ceiling[:, None]), worth)
    worth[asked] = value[taught]
    own = tempered(log_p, looked_at | (np.arange(log_p.shape[1]) == target[:, None]), settings.prior)
    # What was not looked at is as bad as the worst that was.
    lowest = worth.min(1, keepdims=True)
    worth = np.where(np.isinf(worth), np.where(np.isinf(lowest), 0.5, lowest), worth)
    leaning = own + worth / settings.temperature
    leaning[asked] += settings.chosen
    leaning -= leaning.max(1, keepdims=True)
    chances = np.exp(leaning)
    total = chances.sum(1)
    with np.errstate(invalid="ignore"):  # moves that are none: -inf less -inf
        news = np.where(chances > 0, chances * (leaning - log_p), 0).sum(1) / total - np.log(total)
    return np.maximum(leaning, LOWEST).astype(np.float16), news.astype(np.float32)


def _likely(log_p: NDArray[np.float32], settings: Reconsidering) -> NDArray[np.bool_]:
    """Which moves are likely enough to be looked at."""
    if settings.moves >= log_p.shape[1]:
        bar = np.full(len(log_p), -np.inf)
    else:
        bar = np.partition(log_p, -settings.moves, 1)[:, -settings.moves]
    best = log_p.max(1)
    least = np.log(settings.least) if settings.least else -np.inf
    bar = np.minimum(np.maximum(bar, least), best)
    return np.asarray((log_p >= bar[:, None]) & np.isfinite(log_p))


def _outcomes(
    judge: Judge, packed: NDArray[np.uint8], looked_at: NDArray[np.bool_], threads: int
) -> NDArray[np.float32]:
    """The worth, to the mover, of the positions that these moves lead to, row by row."""
    offsets, after, _ = _core.successors(packed, threads)
    rows, slots = np.nonzero(looked_at)
    shown = np.ascontiguousarray(after[offsets[rows] + slots])
    states = _core.states(shown, threads)
    worth = np.where(states == MATED, 1.0, np.where(states == DRAWN, 0.5, 0.0)).astype(np.float32)
    goes_on = states == GOES_ON
    worth[goes_on] = 1.0 - judge.values(np.ascontiguousarray(shown[goes_on]))
    return worth
