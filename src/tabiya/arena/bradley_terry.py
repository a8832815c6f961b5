"""The maximum-likelihood fit behind a rating list: ratings, White's advantage, their errors.

White's expected score against Black is the logistic of `rating(White) -
rating(Black) + white advantage`; a draw is half a win and half a loss. The
log-likelihood is concave, so Newton's method finds its one summit. Whether a
finite summit exists is for `ratings.py` to see to.

Halves make the games quieter than coin tosses. The errors are those of the
model's Fisher information, multiplied by the dispersion that the games show,
Σ(result - expected)² / Σ expected (1 - expected), at most 1.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

SLOPE = math.log(10) / 400
"""Of the log-odds of a game, for each Elo between the players."""
_WHITE_PRIOR = 200.0
"""White's advantage is drawn towards 0 as if it were known to ±200 Elo, which only matters
where the games cannot tell it from strength (each player with one colour, or White winning all)."""


@dataclass(frozen=True)
class Pairing:
    """The games of one White against one Black."""

    white: str
    black: str
    wins: int
    draws: int
    losses: int


@dataclass(frozen=True)
class Fit:
    """Ratings with one standard error each; an anchor's rating is as given and has none."""

    ratings: dict[str, float]
    errors: dict[str, float]
    white_advantage: float = 0.0
    white_error: float = 0.0


def fit(pairings: Sequence[Pairing], anchors: Mapping[str, float]) -> Fit:
    """The likeliest ratings; around an average of 0 where there is no anchor among the players."""
    names = sorted({name for pairing in pairings for name in (pairing.white, pairing.black)})
    fixed = {name: value for name, value in anchors.items() if name in names}
    if not pairings:
        return Fit(dict(anchors), {})
    problem = _Problem(pairings, names, fixed)
    at = problem.summit()
    errors = problem.errors(at)
    return Fit(
        {name: fixed.get(name, float(at[i])) for i, name in enumerate(names)},
        {name: float(errors[i]) for i, name in enumerate(names) if name not in fixed},
        float(at[-1]),
        float(errors[-1]),
    )


_Vector: TypeAlias = NDArray[np.float64]
"""A number for each player, and a last one for White's advantage."""


class _Problem:
    """One row for each pairing; the anchors' numbers are in the vectors but do not move."""

    def __init__(self, pairings: Sequence[Pairing], names: Sequence[str], fixed: Mapping[str, float]) -> None:
        index = {name: i for i, name in enumerate(names)}
        self.white = np.array([index[pairing.white] for pairing in pairings])
        self.black = np.array([index[pairing.black] for pairing in pairings])
        counts = np.array([(p.wins, p.draws, p.losses) for p in pairings], dtype=float)
        self.games = counts.sum(axis=1)
        self.points = counts[:, 0] + counts[:, 1] / 2
        self.squares = counts[:, 0] + counts[:, 1] / 4
        self.free = np.array([name not in fixed for name in names] + [True])
        self.prior = np.append(np.zeros(len(names)), 1 / _WHITE_PRIOR**2)
        middle = float(np.mean(list(fixed.values()) or [0.0]))
        self.start = np.array([fixed.get(name, middle) for name in names] + [0.0])
        # Without an anchor all ratings may shift together and no game changes: that
        # direction gets some curvature, so that the equations have one answer.
        level = np.append(np.ones(len(names)), 0.0) * (not fixed)
        self.floating = np.outer(level, level) * SLOPE**2

    def odds(self, at: _Vector) -> _Vector:
        """The logarithm of White's odds, for each pairing."""
        return np.asarray(SLOPE * (at[self.white] - at[self.black] + at[-1]), dtype=np.float64)

    def likelihood(self, at: _Vector) -> float:
        odds = self.odds(at)
        return float(self.points @ odds - self.games @ np.logaddexp(0, odds) - self.prior @ at**2 / 2)

    def expected(self, at: _Vector) -> _Vector:
        return np.asarray(1 / (1 + np.exp(-self.odds(at))), dtype=np.float64)

    def summit(self) -> _Vector:
        """Where the likelihood is greatest."""
        at, height = self.start, self.likelihood(self.start)
        for _ in range(200):
            step = np.zeros_like(at)
            step[self.free] = np.linalg.solve(self.curvature(at), self.slope(at)[self.free])
            # A full step may overshoot far from the summit.
            while self.likelihood(at + step) < height - 1e-9 and np.abs(step).max() > 1e-9:
                step /= 2
            at = at + step
            height = self.likelihood(at)
            if np.abs(step).max() < 1e-9:
                break
        return at

    def slope(self, at: _Vector) -> _Vector:
        surplus = SLOPE * (self.points - self.games * self.expected(at))
        slope = -self.prior * at
        np.add.at(slope, self.white, surplus)
        np.add.at(slope, self.black, -surplus)
        slope[-1] += surplus.sum()
        return slope

    def curvature(self, at: _Vector) -> NDArray[np.float64]:
        """The Fisher information of what is free, made invertible."""
        expected = self.expected(at)
        weights = self.games * expected * (1 - expected) * SLOPE**2
        matrix = np.diag(self.prior) + self.floating
        columns = ((self.white, 1.0), (self.black, -1.0), (np.full(len(weights), len(at) - 1), 1.0))
        for one, sign in columns:
            for other, other_sign in columns:
                np.add.at(matrix, (one, other), sign * other_sign * weights)
        return np.asarray(matrix[np.ix_(self.free, self.free)], dtype=np.float64)

    def errors(self, at: _Vector) -> _Vector:
        """One standard error of each number; 0 for an anchor."""
        expected = self.expected(at)
        shown = (self.squares - 2 * expected * self.points + self.games * expected**2).sum()
        dispersion = shown / (self.games * expected * (1 - expected)).sum()
        # All draws show no spread at all; one game's worth of doubt is kept.
        dispersion = min(1.0, max(float(dispersion), 1 / float(self.games.sum())))
        covariance = np.linalg.inv(self.curvature(at)) * dispersion
        if self.floating.any():
            # Against the average of the list: what shifts all ratings alike is no error.
            covariance[:-1] -= covariance[:-1].mean(axis=0)
            covariance[:, :-1] -= covariance[:, :-1].mean(axis=1, keepdims=True)
        errors = np.zeros_like(at)
        errors[self.free] = np.sqrt(np.maximum(0.0, np.diag(covariance)))
        return errors
