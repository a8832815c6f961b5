"""The sequential probability ratio test: when have enough games been played?

Two hypotheses, "the lead is elo0" and "the lead is elo1", are compared by the
logarithm of their likelihood ratio after every pair of games; the test ends
when it leaves the interval `bounds()`. A lead fixes only the mean of the
results, not how often they are drawn, so each hypothesis is given the
likeliest distribution with that lead (the generalized test). For results x
with observed shares q, the likeliest p with mean of `f(x)` equal to 0 is

    p = q / (1 + θ f(x)),  θ such that Σ p f(x) = 0,

with f(x) = x - s for a logistic Elo bound. A normalized bound fixes the lead
in standard deviations, mean = ½ + t σ, which is not linear in p; it is made so
around the present p and solved again until it rests. A result that never
happened counts as a thousandth of one, so that neither hypothesis is ruled
out by it.

SPRT decides and does not measure: where it stops, the Elo of its games is
biased. Play a fixed number of games to quote an Elo.

    >>> test = Sprt(elo0=0, elo1=10)
    >>> round(test.ratio(Score(wins=300, draws=500, losses=200)), 2)
    4.94
    >>> test.verdict(4.94)
    'H1'
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tabiya.arena.elo import ELO_PER_NORMALIZED, Score, score_from_elo
from tabiya.errors import UserError

Verdict: TypeAlias = Literal["H0", "H1", "continue"]
Model: TypeAlias = Literal["logistic", "normalized"]
_Shares: TypeAlias = NDArray[np.float64]

_NEVER = 1e-3


@dataclass(frozen=True, kw_only=True)
class Sprt:
    """The two hypotheses and how often one may be wrong about each."""

    elo0: float
    elo1: float
    alpha: float = 0.05
    """How often H1 may be accepted where H0 holds."""
    beta: float = 0.05
    """How often H0 may be accepted where H1 holds."""
    model: Model = "logistic"

    def __post_init__(self) -> None:
        if not self.elo0 < self.elo1:
            raise UserError(f"a test needs elo0 below elo1, got {self.elo0:g} and {self.elo1:g}")
        if not (0 < self.alpha < 0.5 and 0 < self.beta < 0.5):
            raise UserError(
                f"alpha and beta must lie between 0 and 0.5, got {self.alpha:g} and {self.beta:g}"
            )
        if max(abs(self.elo0), abs(self.elo1)) > 1000:
            raise UserError("the Elo bounds of a test must lie within ±1000")
        if self.model not in ("logistic", "normalized"):
            raise UserError(f"a test's model is logistic or normalized, not {self.model!r}")

    @classmethod
    def parse(cls, text: str, model: Model = "logistic") -> Sprt:
        """`elo0,elo1` or `elo0,elo1,alpha,beta`, as the command line has it."""
        try:
            numbers = [float(part) for part in text.split(",")]
        except ValueError:
            numbers = []
        if len(numbers) not in (2, 4) or not all(map(math.isfinite, numbers)):
            raise UserError(f"a test reads elo0,elo1 or elo0,elo1,alpha,beta, got {text!r}")
        alpha, beta = numbers[2:] or (0.05, 0.05)
        return cls(elo0=numbers[0], elo1=numbers[1], alpha=alpha, beta=beta, model=model)

    def bounds(self) -> tuple[float, float]:
        """Wald's bounds: below the first H0 is accepted, above the second H1."""
        return math.log(self.beta / (1 - self.alpha)), math.log((1 - self.beta) / self.alpha)

    def ratio(self, score: Score) -> float:
        """The log-likelihood ratio of H1 to H0; from the pairs if at least half the games form some."""
        if 4 * sum(score.pairs) >= score.games:
            counts, deviations = np.array(score.pairs, dtype=float), math.sqrt(2)
        else:
            counts, deviations = np.array([score.losses, score.draws, score.wins], dtype=float), 1.0
        if not counts.any():
            return 0.0
        counts = np.where(counts == 0, _NEVER, counts)
        results = np.linspace(0, 1, len(counts))
        observed = counts / counts.sum()
        likeliest = []
        for elo in (self.elo0, self.elo1):
            if self.model == "logistic":
                likeliest.append(_tilted(observed, results - score_from_elo(elo)))
            else:
                # A pair's share is the mean of two games: its deviation is smaller by √2.
                likeliest.append(_with_lead(observed, results, elo / ELO_PER_NORMALIZED * deviations))
        return float((counts * np.log(likeliest[1] / likeliest[0])).sum())

    def verdict(self, ratio: float) -> Verdict:
        low, high = self.bounds()
        return "H0" if ratio <= low else "H1" if ratio >= high else "continue"

    def summary(self, score: Score) -> dict[str, Any]:
        """The test and where it stands, as JSON has it."""
        ratio = self.ratio(score)
        return {
            "elo0": self.elo0,
            "elo1": self.elo1,
            "alpha": self.alpha,
            "beta": self.beta,
            "model": self.model,
            "llr": round(ratio, 4),
            "bounds": [round(bound, 4) for bound in self.bounds()],
            "verdict": self.verdict(ratio),
        }


def _tilted(observed: _Shares, feature: _Shares) -> _Shares:
    """The likeliest shares, given the observed ones, under which `feature` has mean 0.

    Σ q f / (1 + θ f) falls steadily in θ between the poles at -1/max f and
    -1/min f, so halving the interval cannot miss; it goes on until the
    interval is as narrow as floats allow.
    """
    low, high = -1 / feature.max(), -1 / feature.min()
    for _ in range(200):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        if (observed * feature / (1 + middle * feature)).sum() > 0:
            low = middle
        else:
            high = middle
    shares = observed / (1 + (low + high) / 2 * feature)
    tilted: _Shares = shares / shares.sum()
    return tilted


def _with_lead(observed: _Shares, results: _Shares, lead: float) -> _Shares:
    """The likeliest shares whose mean lies `lead` of their own deviations above one half."""
    # Evenly spread to begin with: the observed shares may have next to no deviation.
    shares = np.full(len(results), 1 / len(results))
    for _ in range(100):
        mean = float((shares * results).sum())
        deviation = math.sqrt(float((shares * (results - mean) ** 2).sum()))
        # The tangent of (mean - ½ - lead σ) in the shares, with the value 0 on the constraint.
        feature = results - 0.5 - lead * (deviation + (results - mean) ** 2 / deviation) / 2
        if feature.max() <= 0 or feature.min() >= 0:
            break
        before, shares = shares, _tilted(observed, feature)
        if float(np.abs(shares - before).max()) < 1e-12:
            break
    return shares
