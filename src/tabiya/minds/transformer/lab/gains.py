"""What one thing is worth, with all that makes it uncertain: games or questions, and the luck of a seed.

A gain is a difference between networks in Elo or in a share of right answers.
Two sources of error are added:

- the games' (from the rating fit in which all seeds of the base are one
  player), or the questions' (from their differences one by one);
- the seeds': networks that differ in nothing else differ all the same. How
  far is told from the base's seeds, all sizes together: the variance of their
  results, less what the games or questions explain of it.

    variance = measured² + seeds² · (1 / seeds of the one + 1 / seeds of the other)

The interval takes Student's t for the seeds' degrees of freedom, which are few.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tabiya.arena.elo import SIGMAS_95
from tabiya.arena.ratings import Game, Rated, rate

Answers = NDArray[np.float64]

_T_975 = (
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
    2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
)  # fmt: skip


def student_t(freedom: int) -> float:
    """The 97.5 % quantile; beyond twenty degrees of freedom a little too wide.

    >>> student_t(6), student_t(1000)
    (2.447, 2.086)
    """
    if freedom < 1:
        raise ValueError("no degrees of freedom, no interval")
    return _T_975[min(freedom, len(_T_975)) - 1]


@dataclass(frozen=True)
class Gain:
    """A difference and its standard error."""

    value: float
    error: float

    def __sub__(self, other: Gain) -> Gain:
        """The difference of two gains that were measured apart."""
        return Gain(self.value - other.value, math.hypot(self.error, other.error))

    def ends(self, freedom: int) -> tuple[float, float]:
        """The 95 % interval."""
        reach = student_t(freedom) * self.error
        return self.value - reach, self.value + reach


def average(gains: Sequence[Gain]) -> Gain:
    """The mean of gains over one base: their errors are counted as if they were one and the same."""
    return Gain(
        sum(gain.value for gain in gains) / len(gains), sum(gain.error for gain in gains) / len(gains)
    )


@dataclass(frozen=True)
class Noise:
    """How far apart networks are that differ in the seed alone."""

    sigma: float
    """Standard deviation of one network by its seed."""
    freedom: int
    """Degrees of freedom it was told from; 0 where the base has one seed."""

    def added(self, gain: Gain, ours: int, theirs: int) -> Gain:
        """A gain between averages over so many seeds each."""
        return Gain(gain.value, math.sqrt(gain.error**2 + self.sigma**2 * (1 / ours + 1 / theirs)))


def noise_of(groups: Sequence[Sequence[float]], errors: Sequence[float]) -> Noise:
    """From results of groups that differ in the seed, and standard errors of differences within them."""
    squares, freedom = 0.0, 0
    for group in groups:
        middle = sum(group) / len(group) if group else 0.0
        squares += sum((value - middle) ** 2 for value in group)
        freedom += max(0, len(group) - 1)
    if freedom == 0:
        return Noise(0.0, 0)
    # A difference has the errors of both networks; one of them has half the variance.
    explained = sum(error**2 for error in errors) / len(errors) / 2 if errors else 0.0
    return Noise(math.sqrt(max(0.0, squares / freedom - explained)), freedom)


def paired(
    ours: Sequence[Answers], theirs: Sequence[Answers], among: NDArray[np.bool_] | None = None
) -> Gain | None:
    """The difference of average shares, question by question; None where nothing is asked."""
    if not ours or not theirs:
        return None
    each = np.mean(ours, axis=0) - np.mean(theirs, axis=0)
    if among is not None:
        each = each[among]
    if len(each) < 2:
        return None
    # Never surer than to one question: where no answer differs, the next one might.
    error = max(float(each.std(ddof=1)) / math.sqrt(len(each)), 1 / len(each))
    return Gain(float(each.mean()), error)


def elo_gains(games: Sequence[Game], base: str, joined: Mapping[str, str] | None = None) -> dict[str, Gain]:
    """Everyone's Elo from `base`, where the games tie them; `joined` players count as another one."""
    same = joined or {}
    merged = [
        Game(white, black, game.points)
        for game in games
        if (white := same.get(game.white, game.white)) != (black := same.get(game.black, game.black))
    ]
    if not any(base in (game.white, game.black) for game in merged):
        return {}
    listed = rate(merged, {base: 0.0})
    anchored = listed[base].group
    return {
        player.name: Gain(player.rating, _error(player))
        for player in listed.players
        if player.rating is not None and player.group == anchored and player.name != base
    }


def _error(player: Rated) -> float:
    low, high = player.rating_95
    assert low is not None
    assert high is not None
    return (high - low) / 2 / SIGMAS_95
