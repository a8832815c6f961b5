"""How much a game would teach, and about whom: the arithmetic behind a rating list's next pairing.

Every game adds information about the distance of two ratings, the more the
evener they are. All information together is a matrix, and its inverse says how
uncertain each rating is and how the uncertainties hang together: where a group
of players hangs on the anchors by a single thread, all of them are uncertain
alike, and a game that strengthens the thread helps them all. What one more pair
of games would take off each variance follows without inverting again. Games
differ in what they cost as well: a hundred between two quick players may be had
for one between two slow ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from tabiya.arena.bradley_terry import SLOPE
from tabiya.arena.elo import score_from_elo

PRIOR_ELO = 1000.0
"""How far a rating may be from where it is thought to be before any game."""
FAMILIAR = 20
"""Pairs of games after which a meeting counts half: everybody shall meet several others, as strengths do not
add up as neatly as ratings say."""


class Knowledge:
    """What is known of the ratings after so many meetings."""

    def __init__(
        self,
        ratings: Sequence[float],
        fixed: Sequence[int],
        meetings: Mapping[frozenset[int], int],
        efforts: Sequence[float] | None = None,
    ) -> None:
        """`efforts` are what a game costs each of its two players; alike for all if not given."""
        self._ratings = ratings
        self._efforts = np.ones(len(ratings)) if efforts is None else np.array(efforts)
        self._fixed = set(fixed)
        self._meetings = meetings
        self._information = np.eye(len(ratings)) * PRIOR_ELO**-2
        for who, pairs in meetings.items():
            a, b = who
            link = pairs * self._worth(a, b)
            self._information[[a, b], [a, b]] += link
            self._information[[a, b], [b, a]] -= link

    def _worth(self, a: int, b: int) -> float:
        """Information of one pair of games about the distance of two ratings, in 1/Elo²."""
        share = score_from_elo(self._ratings[a] - self._ratings[b])
        return 2 * share * (1 - share) * SLOPE**2

    def _covariance(self, also_free: int | None = None) -> NDArray[np.float64]:
        """Of all ratings; fixed ones have none, but for one that may be looked at as if it were free."""
        free = [at for at in range(len(self._ratings)) if at not in self._fixed or at == also_free]
        whole = np.zeros_like(self._information)
        if free:
            whole[np.ix_(free, free)] = np.linalg.inv(self._information[np.ix_(free, free)])
        return whole

    def best(self, pairs: Sequence[tuple[int, int]], wanted: Mapping[int, float]) -> tuple[int, int]:
        """The pairing that takes most off the variances of those wanted, each counted by its weight,
        for what it costs.

        A fixed rating that is wanted counts as if it alone were free.
        """
        gains = np.zeros(len(pairs))
        a, b = np.array(pairs).T
        worth = np.array([self._worth(*pair) for pair in pairs])
        common = self._covariance()
        for at, weight in wanted.items():
            covariance = self._covariance(at) if at in self._fixed else common
            distance = covariance[a, a] + covariance[b, b] - 2 * covariance[a, b]
            gains += weight * worth * (covariance[a, at] - covariance[b, at]) ** 2 / (1 + worth * distance)
        met = np.array([self._meetings.get(frozenset(pair), 0) for pair in pairs])
        costs = self._efforts[a] + self._efforts[b]
        return pairs[int((gains / (1 + met / FAMILIAR) / costs).argmax())]
