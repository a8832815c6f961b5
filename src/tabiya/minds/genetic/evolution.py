"""A run of gene pools: games on all cores of a machine or of several, turn after turn, until told to stop.

Who watches is told of every turn; who controls can ask for a pause (after the
running games) or for the end. Both are handed in, so a run needs no terminal.
"""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from tabiya._core import Genome, StopFlag, genetic_game
from tabiya.minds.genetic.config import PoolConfig
from tabiya.minds.genetic.records import Records
from tabiya.minds.genetic.world import Fate, Outcome, Pairing, World
from tabiya.scale.executor import Crew, Executor, Worker
from tabiya.scale.local import LOCAL

_GLANCE = 0.1
"""Seconds between two looks at the controls while games are running."""


class Control(Protocol):
    """How a run is told to pause or to end."""

    def look(self) -> None:
        """Take note of keys and signals; called between games and while waiting."""

    def holds(self) -> bool:
        """Whether no new game shall begin."""

    def hold(self) -> bool:
        """Called when no game runs any more; returns when it goes on, with True, or ends, with False."""


class Watcher(Protocol):
    """Who is shown each turn."""

    def turn(self, world: World, fates: list[Fate], clock: float) -> None: ...


class Untouched:
    """Nobody at the controls."""

    def look(self) -> None:
        pass

    def holds(self) -> bool:
        return False

    def hold(self) -> bool:
        return True


@dataclass(frozen=True)
class Figures:
    """What a run did, for its last line and for programs."""

    pool: str
    turns: int
    games: int
    seconds: float
    games_this_run: int
    seconds_this_run: float
    nodes_this_run: int
    leaves_this_run: int
    oldest: int
    """The survivor that the pool file's name stands for as a player."""


class _EndedError(Exception):
    """The controls asked for the end."""


@dataclass(frozen=True)
class Bout:
    """A game to be played, as plain data."""

    game: int
    """Its number in the turn."""
    white: str
    """A genome's text."""
    black: str
    clock: float
    unit: Literal["seconds", "nodes"]
    """What the clock counts: seconds or positions."""


class Ring(Worker[Bout, "Outcome | None"]):
    """Plays one game at a time; genomes come with it, so there is nothing to load."""

    def __init__(self) -> None:
        self._stop = StopFlag()

    def answer(self, unit: Bout) -> Outcome | None:
        """None: it was broken off."""
        found = genetic_game(Genome(unit.white), Genome(unit.black), unit.clock, unit.unit, self._stop)
        if found is None:
            return None
        return Outcome(
            winner=found["winner"],
            reason=found["reason"],
            plies=len(found["moves"]),
            movetext=found["movetext"],
            left=(found["left"][0], found["left"][1]),
            nodes=found["nodes"],
            leaves=found["leaves"],
        )

    def interrupt(self) -> None:
        self._stop.set()


class Evolution:
    """One run on one pool file; a context manager, so that its files are closed."""

    def __init__(
        self, pool: Path, config: PoolConfig, *, new_seed: int = 0, executor: Executor = LOCAL
    ) -> None:
        self.config = config
        self._executor = executor
        self.records = Records(pool, config, new_seed)
        self._games = self._nodes = self._leaves = 0
        # Seconds of the turn under way that were a pause.
        self._held = 0.0

    def __enter__(self) -> Evolution:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.records.close()

    def run(self, watcher: Watcher | None = None, control: Control | None = None) -> Figures:
        """Evolve until a maximum is reached or the controls say so; KeyboardInterrupt ends it at once."""
        control = control or Untouched()
        began = time.perf_counter()
        config, records = self.config, self.records
        # Every member of every pool is in one game of a turn.
        most = config.gene_pool_count * config.gene_pool_population // 2
        workers = max(1, min(config.maximum_simultaneous_games, most, self._executor.cores))
        try:
            with self._executor.crew(Ring, workers) as crew:
                turn_began = began
                while not self._enough():
                    clock, pairings = config.game_clock(records.world.turn), records.world.pairings()
                    self._play(crew, pairings, clock, control)
                    now = time.perf_counter()
                    fates = records.finish_turn(config, pairings, now - turn_began - self._held)
                    turn_began, self._held = now, 0.0
                    if watcher is not None:
                        watcher.turn(records.world, fates, clock)
        except _EndedError:
            pass
        seconds = time.perf_counter() - began
        return Figures(
            str(records.pool),
            records.world.turn,
            records.world.games,
            round(records.world.seconds, 3),
            self._games,
            round(seconds, 3),
            self._nodes,
            self._leaves,
            min(records.world.living()),
        )

    def _enough(self) -> bool:
        config, world = self.config, self.records.world
        return (config.maximum_games is not None and world.games >= config.maximum_games) or (
            config.maximum_minutes is not None and world.seconds >= 60 * config.maximum_minutes
        )

    def _play(
        self, crew: Crew[Bout, Outcome | None], pairings: list[Pairing], clock: float, control: Control
    ) -> None:
        """Play what is left of a turn; each game is noted as it ends."""
        genomes, records = self.records.genomes, self.records
        left = deque(game for game in range(len(pairings)) if game not in records.played)
        running = 0
        while left or running:
            control.look()
            while left and running < crew.workers and not control.holds():
                game = left.popleft()
                pair = pairings[game]
                white, black = genomes[pair.white].text(), genomes[pair.black].text()
                crew.give(Bout(game, white, black, clock, self.config.unit))
                running += 1
            if not running:
                began = time.perf_counter()
                if not control.hold():
                    raise _EndedError
                self._held += time.perf_counter() - began
                continue
            found = crew.take(_GLANCE)
            if found is None:
                continue
            running -= 1
            bout, outcome = found
            assert outcome is not None, "games are stopped only when the run ends"
            records.note(bout.game, outcome)
            self._games += 1
            self._nodes += outcome.nodes
            self._leaves += outcome.leaves
