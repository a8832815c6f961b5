"""The games of an experiment: parts of a plan, each in a folder of its own under `games/`.

Each part is kept and resumed by the arena, and left to whichever process is at
it; a rating list is fitted later to all their games together. The networks go by their short names, so that a
folder that was moved goes on all the same.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, TypeAlias

from tabiya.arena.adjudication import Adjudication
from tabiya.arena.books import Book
from tabiya.arena.campaign import Plan
from tabiya.arena.game import GameRules, Pace
from tabiya.arena.mass import run_mass_match
from tabiya.arena.match import MatchStatus
from tabiya.arena.tournament import Form, TournamentStatus, run_tournament
from tabiya.errors import UserError
from tabiya.learn.lab.folder import LabFolder
from tabiya.learn.lab.plan import LabMeasures
from tabiya.player import OpenPlayer, Player, PlayerName


class Meter(Protocol):
    """Is told of work done."""

    def advance(self, amount: float = 1) -> None: ...


Progress: TypeAlias = Callable[[str, float], AbstractContextManager[Meter]]
"""Opens a meter for a piece of work: what it is, and how much."""


class _Silent:
    def advance(self, amount: float = 1) -> None:
        pass


def silent(_what: str, _total: float) -> AbstractContextManager[Meter]:
    return nullcontext(_Silent())


def opener(
    own: Mapping[str, PlayerName], open_own: Callable[[PlayerName], Player], others: OpenPlayer
) -> OpenPlayer:
    """Opens the experiment's players by their short names, and every other as `others` does."""
    return lambda text: open_own(own[text]) if text in own else others(text)


@dataclass(frozen=True, kw_only=True)
class LabGames:
    """Plays the parts of an experiment."""

    folder: LabFolder
    open_player: OpenPlayer
    measures: LabMeasures
    concurrency: int = 1
    resign_score: float | None = None

    @cached_property
    def _book(self) -> Book:
        return self.measures.read_book()

    def together(self, one: str, other: str, games: int, identity: Mapping[str, str], meter: Meter) -> None:
        """Two players that answer many positions at once, all their games side by side."""
        part = f"{one}--{other}"
        plan = self._plan([one, other], games, Pace())
        with self.folder.claim(part) as mine:
            if mine:
                folder, watch = self.folder.games(part), _Watch(meter)
                run_mass_match(plan, folder, self.open_player, identity=identity, watch=watch)

    def with_anchors(self, names: Sequence[str], pace: Pace, progress: Progress) -> None:
        """Each anchor against the anchors before it and every network, game after game."""
        anchors, games = [anchor.player for anchor in self.measures.anchors], self.measures.anchor_games
        for number, anchor in enumerate(anchors):
            players = [anchor, *anchors[:number], *names]
            part = "anchor-" + re.sub(r"[^A-Za-z0-9]+", "-", anchor).strip("-")[-40:]
            with progress(f"games with {anchor}", (len(players) - 1) * games) as meter:
                self.tournament(part, players, games, pace, "gauntlet", meter)

    def tournament(
        self, part: str, players: Sequence[str], games: int, pace: Pace, form: Form, meter: Meter
    ) -> None:
        """Everyone against everyone, or the first against the field; `games` for each pairing."""
        refuse_small_book(self._book, games)
        plan = self._plan(players, games, pace)
        with self.folder.claim(part) as mine:
            if mine:
                folder, watch = self.folder.games(part), _Watch(meter)
                run_tournament(plan, folder, self.open_player, form=form, watch=watch)

    def _plan(self, players: Sequence[str], games: int, pace: Pace) -> Plan:
        adjudication = Adjudication(max_moves=self.measures.max_moves, resign_score=self.resign_score)
        return Plan(
            players=tuple(players),
            games=games,
            rules=GameRules(pace=pace, adjudication=adjudication),
            book=self._book,
            seed=self.measures.seed,
            concurrency=self.concurrency,
        )


def refuse_small_book(book: Book, games: int) -> None:
    """A UserError if the pairs of a pairing's games would have to share openings."""
    if (games + 1) // 2 > len(book):
        raise UserError(
            f"the book has {len(book)} openings for {(games + 1) // 2} pairs of "
            "games, and games would only be repeated: name a larger book"
        )


class _Watch:
    """Tells a meter how many games were added since it was last told."""

    def __init__(self, meter: Meter) -> None:
        self._meter, self._seen = meter, 0

    def __call__(self, status: MatchStatus | TournamentStatus) -> None:
        self._meter.advance(status.games - self._seen)
        self._seen = status.games
