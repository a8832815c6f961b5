"""From results to a score: whose points they are, and which games form pairs.

A pair is two games of the same two players on the same opening with the
colours reversed. A match counts its own games with this, and so does `tabiya
elo` with the games of a file: the same games give the same Elo.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass

from tabiya.arena.elo import Pentanomial, Score
from tabiya.arena.record import POINTS, Result


@dataclass(frozen=True)
class PlayedResult:
    """One finished game, as far as counting goes."""

    white: str
    black: str
    result: Result
    pair: Hashable = None
    """Equal for the two games of a pair; None where nothing is known of the opening."""

    def points(self, player: str) -> float:
        points = POINTS[self.result]
        return points if player == self.white else 1 - points


class Tally:
    """One player's games, counted as they come."""

    def __init__(self, player: str) -> None:
        self._player = player
        self._counts = {1.0: 0, 0.5: 0, 0.0: 0}
        self._pairs = [0, 0, 0, 0, 0]
        self._waiting: dict[tuple[Hashable, str, str], list[float]] = {}

    def add(self, game: PlayedResult) -> None:
        """Count a game; one that the player had no part in changes nothing."""
        if self._player not in (game.white, game.black):
            return
        points = game.points(self._player)
        self._counts[points] += 1
        if game.pair is None:
            return
        partners = self._waiting.get((game.pair, game.black, game.white))
        if partners:
            self._pairs[round(2 * (points + partners.pop(0)))] += 1
        else:
            self._waiting.setdefault((game.pair, game.white, game.black), []).append(points)

    def score(self) -> Score:
        lost, half, even, ahead, won = self._pairs
        pairs: Pentanomial = (lost, half, even, ahead, won)
        return Score(wins=self._counts[1.0], draws=self._counts[0.5], losses=self._counts[0.0], pairs=pairs)


def score_of(player: str, results: Iterable[PlayedResult]) -> Score:
    """What `player` scored in those of the games that it played."""
    tally = Tally(player)
    for game in results:
        tally.add(game)
    return tally.score()
