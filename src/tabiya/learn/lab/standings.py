"""An experiment's games as ratings: on the anchors' scale, and told from its baseline.

Two fits of one list. The second is much the sharper, because the networks met
each other more often than the anchors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tabiya.arena.pgn_results import read_results
from tabiya.arena.ratings import Game, Rated, RatingList, rate
from tabiya.arena.record import POINTS
from tabiya.learn.lab.anchors import Anchor
from tabiya.learn.lab.folder import LabFolder

Row = dict[str, Any]


def played_games(folder: LabFolder) -> list[Game]:
    """All games of an experiment so far, of every part."""
    files = sorted(path for path in folder.games("").glob("*/games.pgn") if path.stat().st_size)
    return [Game(game.white, game.black, POINTS[game.result]) for game in read_results(files).games]


@dataclass(frozen=True)
class Standings:
    """What the games say of everybody."""

    games: int
    known: dict[str, float]
    """Anchors with a given rating."""
    on_scale: RatingList
    told: RatingList | None
    """From the baseline; None before its first game."""

    @classmethod
    def of(cls, folder: LabFolder, baseline: str, anchors: Sequence[Anchor]) -> Standings:
        """Of all games in an experiment's folder so far."""
        games = played_games(folder)
        played = {name for game in games for name in (game.white, game.black)}
        known = {anchor.player: anchor.elo for anchor in anchors if anchor.elo is not None}
        on_scale = rate(games, {name: elo for name, elo in known.items() if name in played})
        told = rate(games, {baseline: 0.0}) if baseline in played else None
        return cls(len(games), known, on_scale, told)

    def row(self, name: str) -> Row:
        """A network's part in a table."""
        return _rated(name, self.on_scale, "rating") | (
            _rated(name, self.told, "difference") if self.told else {}
        )

    def anchor_rows(self, anchors: Sequence[Anchor]) -> list[Row]:
        """The anchors' lines of a table."""
        return [
            {"name": anchor.player, "known": anchor.elo, **_rated(anchor.player, self.on_scale, "rating")}
            for anchor in anchors
        ]

    def notes(self, expected: int) -> list[str]:
        """What has to be said beside the figures."""
        said = list(self.on_scale.notes)
        if self.games < expected:
            said.append(f"{self.games} of {expected} games are played: run the stage play to its end")
        return said


def _rated(name: str, ratings: RatingList, key: str) -> Row:
    """A player's line in a list; nothing where the list cannot tell."""
    line: Rated | None = next((player for player in ratings.players if player.name == name), None)
    tied = line is not None and (line.group == 0 or line.rating is None)
    if line is None or not tied:
        return {key: None, f"{key}_95": [None, None]}
    ends = [None if end is None else round(end, 1) for end in line.rating_95]
    found = {key: None if line.rating is None else round(line.rating, 1), f"{key}_95": ends}
    if key == "rating":
        found |= {"games": line.score.games, "score_share": round(line.score.share, 4)}
    return found
