"""Many games, several at once: which are to be played, by whom, and what happens when one is told to stop.

Every worker is a thread with players of its own, so no player is ever asked
by two threads. A game depends on its number alone (opening, colours, seeds),
never on the order in which games finish, so an interrupted run that goes on
later plays the games that an uninterrupted one would have played.
"""

from __future__ import annotations

import hashlib
import queue
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count

from tabiya._core import Board
from tabiya.arena.books import Opening
from tabiya.arena.game import GameAbandoned, GameRules, play_game
from tabiya.arena.record import GameRecord
from tabiya.errors import UserError
from tabiya.player import Decision, Limit, OpenPlayer, Player, PlayerFailure, PlayerName

_PATIENCE = 5.0
"""Seconds a worker gets to break off its game when all is to stop."""


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
    concurrency: int = 1

    def __post_init__(self) -> None:
        if self.concurrency < 1:
            raise UserError(f"the games played at once must be at least 1, got {self.concurrency}")


def play_all(
    event: Event,
    fixtures: Iterable[Fixture],
    finished: Callable[[GameRecord], bool],
    opened: Callable[[int, Player], None] = lambda _index, _player: None,
) -> None:
    """Play the fixtures; `finished` is told of each game, in this thread, and says whether to go on.

    One of each player is opened before the first game, and a `PlayerError`
    from that (no such engine, a wrong option) ends everything at once; an
    engine that is there and breaks (`PlayerFailure`) loses its games instead.
    `opened` is shown each of the players.
    """
    waiting = iter(list(fixtures))
    first = _Worker(event)
    try:
        for index in range(len(event.entrants)):
            opened(index, first.player(index))
    except BaseException:
        first.close()
        raise
    crew = _Crew(event, waiting, first)
    try:
        for record in crew.results():
            if not finished(record):
                break
    finally:
        crew.stop()


class _Worker:
    """The players of one thread, opened when first needed."""

    def __init__(self, event: Event) -> None:
        self._event = event
        self._players: dict[int, Player] = {}

    def player(self, index: int) -> Player:
        if index not in self._players:
            entrant, open_player = self._event.entrants[index], self._event.open_player
            try:
                self._players[index] = open_player(entrant.spec)
            except PlayerFailure:
                self._players[index] = _Absent(entrant, open_player)
        return self._players[index]

    def play(self, fixture: Fixture, stopping: threading.Event) -> GameRecord:
        event = self._event
        seats = (fixture.white, fixture.black)
        for index in seats:
            sow(self.player(index), f"{event.seed} {fixture.number} {event.entrants[index].name}")
        return play_game(
            self.player(fixture.white),
            self.player(fixture.black),
            event.openings[fixture.opening],
            event.rules,
            number=fixture.number,
            names=(event.entrants[fixture.white].name, event.entrants[fixture.black].name),
            abandoned=stopping.is_set,
        )

    def interrupt(self) -> None:
        for player in list(self._players.values()):
            player.stop()

    def close(self) -> None:
        for player in self._players.values():
            player.close()
        self._players.clear()


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


class _Crew:
    """The workers of one event and what they bring back."""

    def __init__(self, event: Event, waiting: Iterator[Fixture], first: _Worker) -> None:
        self._waiting = waiting
        self._taking = threading.Lock()
        self._stopping = threading.Event()
        self._done: queue.SimpleQueue[GameRecord | BaseException | None] = queue.SimpleQueue()
        self._workers = [first] + [_Worker(event) for _ in range(event.concurrency - 1)]
        self._threads = [
            threading.Thread(target=self._work, args=(worker,), name=f"arena-{i}", daemon=True)
            for i, worker in enumerate(self._workers)
        ]
        for thread in self._threads:
            thread.start()

    def results(self) -> Iterator[GameRecord]:
        """Games as they finish, until all are played or a worker breaks."""
        working = len(self._threads)
        while working:
            answer = self._done.get()
            if isinstance(answer, BaseException):
                raise answer
            if answer is None:
                working -= 1
            else:
                yield answer

    def stop(self) -> None:
        """Break off what is still being played and give the players back."""
        self._stopping.set()
        for worker, thread in zip(self._workers, self._threads, strict=True):
            if thread.is_alive():
                worker.interrupt()
        for thread in self._threads:
            thread.join(_PATIENCE)

    def _take(self) -> Fixture | None:
        with self._taking:
            return None if self._stopping.is_set() else next(self._waiting, None)

    def _work(self, worker: _Worker) -> None:
        try:
            while (fixture := self._take()) is not None:
                self._done.put(worker.play(fixture, self._stopping))
        except GameAbandoned:
            pass
        except BaseException as error:
            self._done.put(error)
        finally:
            worker.close()
            self._done.put(None)


def sow(player: Player, text: str) -> None:
    """Give a player that takes a seed one that follows from `text`; others are left alone."""
    for option in player.options():
        if option.name.casefold() == "seed" and option.kind == "spin":
            low, high = max(0, option.low or 0), 2**31 - 1 if option.high is None else option.high
            drawn = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")
            player.set_option(option.name, str(low + drawn % (high - low + 1)))
