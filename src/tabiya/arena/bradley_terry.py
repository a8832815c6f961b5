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

import numpy as np
from numpy.typing import NDArray

_SLOPE = math.log(10) / 400
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
    free = [name for name in names if name not in fixed]
    if not pairings:
        return Fit(dict(anchors), {})
    problem = _Problem(pairings, free, fixed)
    at, information = problem.summit()
    covariance = problem.covariance(at, information)
    errors = np.sqrt(np.maximum(0.0, np.diag(covariance)))
    return Fit(
        {name: float(at[i]) for i, name in enumerate(free)} | fixed,
        {name: float(errors[i]) for i, name in enumerate(free)},
        float(at[-1]),
        float(errors[-1]),
    )


class _Problem:
    """One row for each pairing, one column for each free player, and a last one for White's advantage."""

    def __init__(self, pairings: Sequence[Pairing], free: Sequence[str], fixed: Mapping[str, float]) -> None:
        index = {name: i for i, name in enumerate(free)}
        self.design = np.zeros((len(pairings), len(free) + 1))
        self.design[:, -1] = 1.0
        self.offset = np.zeros(len(pairings))
        for row, pairing in enumerate(pairings):
            for name, sign in ((pairing.white, 1.0), (pairing.black, -1.0)):
                if name in index:
                    self.design[row, index[name]] += sign
                else:
                    self.offset[row] += sign * fixed[name]
        counts = np.array([(p.wins, p.draws, p.losses) for p in pairings], dtype=float)
        self.games = counts.sum(axis=1)
        self.points = counts[:, 0] + counts[:, 1] / 2
        self.squares = counts[:, 0] + counts[:, 1] / 4
        self.prior = np.append(np.zeros(len(free)), 1 / _WHITE_PRIOR**2)
        self.start = np.append(np.full(len(free), float(np.mean(list(fixed.values()) or [0.0]))), 0.0)
        # Without an anchor all ratings may shift together and no game changes: that
        # direction gets some curvature, so that the equations have one answer.
        level = np.append(np.ones(len(free)), 0.0) * (not fixed)
        self.floating = np.outer(level, level) * _SLOPE**2

    def likelihood(self, at: NDArray[np.float64]) -> float:
        odds = _SLOPE * (self.design @ at + self.offset)
        return float(self.points @ odds - self.games @ np.logaddexp(0, odds) - self.prior @ at**2 / 2)

    def expected(self, at: NDArray[np.float64]) -> NDArray[np.float64]:
        share: NDArray[np.float64] = 1 / (1 + np.exp(-_SLOPE * (self.design @ at + self.offset)))
        return share

    def summit(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Where the likelihood is greatest, and the Fisher information there."""
        at, height = self.start, self.likelihood(self.start)
        for _ in range(200):
            expected = self.expected(at)
            slope = _SLOPE * self.design.T @ (self.points - self.games * expected) - self.prior * at
            step = np.linalg.solve(self.information(expected) + self.floating, slope)
            # A full step may overshoot far from the summit.
            while self.likelihood(at + step) < height - 1e-9 and np.abs(step).max() > 1e-9:
                step /= 2
            at = at + step
            height = self.likelihood(at)
            if np.abs(step).max() < 1e-9:
                break
        return at, self.information(self.expected(at))

    def information(self, expected: NDArray[np.float64]) -> NDArray[np.float64]:
        weights = self.games * expected * (1 - expected) * _SLOPE**2
        matrix: NDArray[np.float64] = self.design.T @ (self.design * weights[:, None]) + np.diag(self.prior)
        return matrix

    def covariance(self, at: NDArray[np.float64], information: NDArray[np.float64]) -> NDArray[np.float64]:
        expected = self.expected(at)
        shown = (self.squares - 2 * expected * self.points + self.games * expected**2).sum()
        dispersion = shown / (self.games * expected * (1 - expected)).sum()
        # All draws show no spread at all; one game's worth of doubt is kept.
        dispersion = min(1.0, max(float(dispersion), 1 / float(self.games.sum())))
        covariance = np.asarray(np.linalg.inv(information + self.floating) * dispersion, dtype=np.float64)
        if self.floating.any():
            # Against the average of the list: what shifts all ratings alike is no error.
            centre = np.eye(len(covariance))
            centre[:-1, :-1] -= 1 / (len(covariance) - 1)
            return np.asarray(centre @ covariance @ centre, dtype=np.float64)
        return covariance
