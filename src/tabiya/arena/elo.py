"""How much stronger one player is than another, from the results of their games.

A score share s is worth `elo = 400 log10(s / (1 - s))`. Its standard error
comes from the games themselves, so draws and colour-reversed pairs (which
make a match quieter than coin tosses) are given their due:

    games        error² = Var(game) / games
    pairs        error² = Var(pair share) / pairs, a pair being one result in 0, ¼, ½, ¾, 1
    both         the two sums of squares are added before dividing by games²

The 95 % interval is s ± 1.96 errors, carried over to Elo end by end. An end
beyond certainty (s ± … outside 0 to 1) is infinite and is written as None.
Where every result is the same there is no spread to measure; then anything
else has, with 95 % confidence, a share of at most 1 - 0.05^(1/n), and the
interval is what that allows.

The likelihood of superiority takes the spread around an even score, which for
single games is the familiar Φ((wins - losses) / √(wins + losses)).

    >>> elo_from_score(0.75)
    190.84850188786498
    >>> [round(end) for end in Score(wins=40, draws=20, losses=40).elo_95()]
    [-62, 62]
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

SIGMAS_95 = 1.959963984540054
"""Half the width of a 95 % interval in standard errors."""

ELO_PER_NORMALIZED = 800 / math.log(10)
"""One standard deviation of a game above an even score, in normalized Elo."""

Pentanomial = tuple[int, int, int, int, int]
"""Pairs of games by their points: 0, ½, 1, 1½, 2."""


def elo_from_score(share: float) -> float:
    """The Elo difference that a score share in (0, 1) stands for; ±infinity at the ends."""
    if share <= 0:
        return -math.inf
    if share >= 1:
        return math.inf
    return 400 * math.log10(share / (1 - share))


def score_from_elo(elo: float) -> float:
    """The score share in [0, 1] that an Elo difference promises."""
    return 1 / (1 + 10 ** (-elo / 400))


@dataclass(frozen=True, kw_only=True)
class Score:
    """What one player scored against another: games, and the pairs that some of them form.

    `wins`, `draws` and `losses` count every game; `pairs` counts those that
    were played as colour-reversed pairs on one opening once more, by pair.
    """

    wins: int = 0
    draws: int = 0
    losses: int = 0
    pairs: Pentanomial = (0, 0, 0, 0, 0)

    def __post_init__(self) -> None:
        if min(self.wins, self.draws, self.losses, *self.pairs) < 0:
            raise ValueError(f"a score cannot count less than no games: {self}")
        if 2 * sum(self.pairs) > self.games:
            raise ValueError(f"{sum(self.pairs)} pairs need more than {self.games} games")

    @property
    def games(self) -> int:
        return self.wins + self.draws + self.losses

    @property
    def share(self) -> float:
        """Points won of points played, in [0, 1]; one half where nothing was played."""
        return (self.wins + self.draws / 2) / self.games if self.games else 0.5

    @property
    def draw_share(self) -> float:
        return self.draws / self.games if self.games else 0.0

    def _spread(self, centre: float) -> float:
        """The sum over independent results of (points - expected points at `centre`)²."""
        squares = [
            self.wins * (1 - centre) ** 2,
            self.draws * (0.5 - centre) ** 2,
            self.losses * centre**2,
        ]
        per_game = sum(squares) / self.games if self.games else 0.0
        single = self.games - 2 * sum(self.pairs)
        paired = sum(n * (points / 2 - 2 * centre) ** 2 for points, n in enumerate(self.pairs))
        return paired + single * per_game

    @property
    def error(self) -> float:
        """One standard error of `share`; 0 where every result is the same."""
        if not self.games:
            return 0.0
        # Around its own mean the spread is never negative but for rounding.
        return math.sqrt(max(0.0, self._spread(self.share))) / self.games

    def share_95(self) -> tuple[float, float]:
        """The 95 % interval of the score share, inside [0, 1]."""
        if not self.games:
            return 0.0, 1.0
        if self.error < 1e-12:
            # Equal games, or unequal ones that form equal pairs.
            alike = self.games in (self.wins, self.draws, self.losses)
            other = 1 - 0.05 ** (1 / (self.games if alike else self.games - sum(self.pairs)))
            return self.share * (1 - other), self.share + (1 - self.share) * other
        reach = SIGMAS_95 * self.error
        return max(0.0, self.share - reach), min(1.0, self.share + reach)

    def elo(self) -> float | None:
        """The Elo difference; None without games, or where it has no finite value."""
        return _finite(elo_from_score(self.share)) if self.games else None

    def elo_95(self) -> tuple[float | None, float | None]:
        """The ends of its 95 % interval; None for an end without bound."""
        low, high = self.share_95()
        return _finite(elo_from_score(low)), _finite(elo_from_score(high))

    def normalized_elo(self) -> float | None:
        """The lead in standard deviations of a game, times 800 / ln 10; None without spread."""
        deviation = self.error * math.sqrt(self.games)
        return None if deviation < 1e-12 else (self.share - 0.5) / deviation * ELO_PER_NORMALIZED

    def superiority(self) -> float:
        """The likelihood of superiority in [0, 1]; one half where nothing speaks for either."""
        spread = self._spread(0.5)
        if spread == 0:
            return 0.5
        lead = (self.share - 0.5) * self.games
        return 0.5 * math.erfc(-lead / math.sqrt(2 * spread))

    def summary(self) -> dict[str, Any]:
        """The figures as JSON has them; an infinite Elo or end of an interval is null."""
        figures: dict[str, Any] = {
            "games": self.games,
            "wins": self.wins,
            "draws": self.draws,
            "losses": self.losses,
            "score_share": round(self.share, 6),
            "draw_share": round(self.draw_share, 6),
            "elo": _rounded(self.elo()),
            "elo_95": [_rounded(end) for end in self.elo_95()],
            "los": round(self.superiority(), 6),
            "normalized_elo": _rounded(self.normalized_elo()),
        }
        if any(self.pairs):
            figures["pentanomial"] = list(self.pairs)
        return figures

    def sentence(self) -> str:
        """The Elo with its interval, as a person reads it."""
        elo, (low, high) = self.elo(), self.elo_95()
        if not self.games:
            return "no games yet"
        if elo is None:
            bound = f"above {low:+.0f}" if low is not None else f"below {high:+.0f}"
            return f"Elo {bound} (95 %), every game {'won' if low is not None else 'lost'}"
        ends = " to ".join("no bound" if end is None else f"{end:+.0f}" for end in (low, high))
        return f"Elo {elo:+.0f} (95 %: {ends})"


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 2)
