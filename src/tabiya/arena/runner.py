"""Many games, several at once: which are to be played, by whom, and what happens when one is told to stop.

Every worker has players of its own, so no player is ever asked by two threads,
and it may be anywhere (`tabiya.scale`). A game depends on its number alone
(opening, colours, seeds), never on the order in which games finish, so an
interrupted run that goes on later plays the games that an uninterrupted one
would have played.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import count

from tabiya._core import Board
from tabiya.arena.books import Opening
from tabiya.arena.game import GameRules, play_game
from tabiya.arena.record import GameRecord
from tabiya.errors import UserError
from tabiya.player import Decision, Limit, OpenPlayer, Player, PlayerFailure, PlayerName
from tabiya.scale.executor import Executor, Worker
from tabiya.scale.local import LOCAL


@dataclass(frozen=True)
class Fixture:
    """A game that is to be played; players are numbers in the list of entrants."""

    number: int
    opening: int
    white: int
    black: int


@dataclass(frozen=True)
class Entrant:
    """A player as it was asked for, and the name it has in the games."""

    spec: str
    name: str


def entrants(specs: Sequence[str]) -> list[Entrant]:
    """Players by their written names, or by `name=` among their options; equal names are numbered."""
    found: list[Entrant] = []
    for spec in specs:
        name = PlayerName.parse(spec).options.get("name") or spec
        taken = {entrant.name for entrant in found}
        numbered = (name if number == 1 else f"{name} ({number})" for number in count(1))
        found.append(Entrant(spec, next(free for free in numbered if free not in taken)))
    return found


@dataclass(frozen=True, kw_only=True)
class Event:
    """All that the games of a match or tournament have in common."""

    entrants: Sequence[Entrant]
    openings: Sequence[Opening]
    rules: GameRules
    open_player: OpenPlayer
    seed: int = 0
    concurrency: int | None = 1
    """Games at once; None: as many as whoever carries them out likes."""

    def __post_init__(self) -> None:
        if self.concurrency is not None and self.concurrency < 1:
            raise UserError(f"the games played at once must be at least 1, got {self.concurrency}")


def play_all(
    event: Event,
    fixtures: Iterable[Fixture],
    finished: Callable[[GameRecord], bool],
    opened: Callable[[int, str], None] = lambda _index, _name: None,
    executor: Executor = LOCAL,
) -> None:
    """Play the fixtures; `finished` is told of each game, in this thread, and says whether to go on.

    One of each player is opened before the first game, and a `PlayerError`
    from that (no such engine, a wrong option) ends everything at once; an
    engine that is there and breaks (`PlayerFailure`) loses its games instead.
    `opened` is told what each of the players calls itself.
    """
    with executor.crew(Tables(event), event.concurrency) as crew:
        names: tuple[str, ...] = crew.introduce()
        for index, name in enumerate(names):
            opened(index, name)
        for fixture, played in crew.answers(fixtures):
            for index, own in zip((fixture.white, fixture.black), played.names, strict=True):
                _refuse_another(event.entrants[index], names[index], own)
            if not finished(played.record):
                break


def _refuse_another(entrant: Entrant, first: str, name: str | None) -> None:
    """Machines may have different engines under one name, and their games must not be counted together."""
    if name is not None and name != first and first != entrant.name:
        raise UserError(
            f"{entrant.name} calls itself {first} on one machine and {name} on another: "
            "have the same engine on every machine"
        )


@dataclass(frozen=True)
class PlayedFixture:
    """A finished game, and what its two players call themselves where it was played."""

    record: GameRecord
    names: tuple[str | None, str | None]
    """None: it did not start there."""


@dataclass(frozen=True)
class Tables:
    """Hires those who play the games of an event, wherever the work is done."""

    event: Event

    def __call__(self) -> Table:
        return Table(self.event)


class Table(Worker[Fixture, PlayedFixture]):
    """Plays one game at a time with players of its own, opened when first needed."""

    def __init__(self, event: Event) -> None:
        self._event = event
        self._players: dict[int, Player] = {}
        self._stopping = threading.Event()

    def introduce(self) -> tuple[str, ...]:
        """What the players call themselves."""
        return tuple(self._player(index).name for index in range(len(self._event.entrants)))

    def answer(self, unit: Fixture) -> PlayedFixture:
        event, fixture = self._event, unit
        for index in (fixture.white, fixture.black):
            sow(self._player(index), f"{event.seed} {fixture.number} {event.entrants[index].name}")
        record = play_game(
            self._player(fixture.white),
            self._player(fixture.black),
            event.openings[fixture.opening],
            event.rules,
            number=fixture.number,
            names=(event.entrants[fixture.white].name, event.entrants[fixture.black].name),
            abandoned=self._stopping.is_set,
        )
        return PlayedFixture(record, (self._name(fixture.white), self._name(fixture.black)))

    def interrupt(self) -> None:
        self._stopping.set()
        for player in list(self._players.values()):
            player.stop()

    def close(self) -> None:
        for player in self._players.values():
            player.close()
        self._players.clear()

    def _player(self, index: int) -> Player:
        if index not in self._players:
            entrant, open_player = self._event.entrants[index], self._event.open_player
            try:
                self._players[index] = open_player(entrant.spec)
            except PlayerFailure:
                self._players[index] = _Absent(entrant, open_player)
        return self._players[index]

    def _name(self, index: int) -> str | None:
        player = self._player(index)
        return None if isinstance(player, _Absent) else player.name


class _Absent(Player):
    """An engine that is there but broke while it was being started: it loses until it starts."""

    def __init__(self, entrant: Entrant, open_player: OpenPlayer) -> None:
        self.name = entrant.name
        self._spec, self._open = entrant.spec, open_player
        self._present: Player | None = None

    def new_game(self) -> None:
        if self._present is None:
            self._present = self._open(self._spec)
        self._present.new_game()

    def play(self, board: Board, limit: Limit) -> Decision:
        if self._present is None:
            raise PlayerFailure(f"{self.name} did not start")
        return self._present.play(board, limit)

    def stop(self) -> None:
        if self._present is not None:
            self._present.stop()

    def close(self) -> None:
        if self._present is not None:
            self._present.close()


def sow(player: Player, text: str) -> None:
    """Give a player that takes a seed one that follows from `text`; others are left alone."""
    for option in player.options():
        if option.name.casefold() == "seed" and option.kind == "spin":
            low, high = max(0, option.low or 0), 2**31 - 1 if option.high is None else option.high
            drawn = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")
            player.set_option(option.name, str(low + drawn % (high - low + 1)))
