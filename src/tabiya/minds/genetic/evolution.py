"""A run of gene pools: games on all cores, turn after turn, until told to stop.

Who watches is told of every turn; who controls can ask for a pause (after the
running games) or for the end. Both are handed in, so a run needs no terminal.
"""

from __future__ import annotations

import os
import time
from collections import deque
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from tabiya._core import Genome, StopFlag, genetic_game
from tabiya.minds.genetic.config import PoolConfig
from tabiya.minds.genetic.records import Records
from tabiya.minds.genetic.world import Fate, Outcome, Pairing, World

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


class Evolution:
    """One run on one pool file; a context manager, so that its files are closed."""

    def __init__(self, pool: Path, config: PoolConfig, *, new_seed: int = 0) -> None:
        self.config = config
        self.records = Records(pool, config, new_seed)
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        half = config.gene_pool_population // 2
        self.workers = max(1, min(config.maximum_simultaneous_games, half, cores))
        self._stop = StopFlag()
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
        executor = ThreadPoolExecutor(self.workers, thread_name_prefix="game")
        try:
            turn_began = began
            while not self._enough():
                clock, pairings = config.game_clock(records.world.turn), records.world.pairings()
                self._play(executor, pairings, clock, control)
                now = time.perf_counter()
                fates = records.finish_turn(config, pairings, now - turn_began - self._held)
                turn_began, self._held = now, 0.0
                if watcher is not None:
                    watcher.turn(records.world, fates, clock)
        except _EndedError:
            pass
        finally:
            self._stop.set()
            executor.shutdown(wait=True, cancel_futures=True)
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
        self, executor: ThreadPoolExecutor, pairings: list[Pairing], clock: float, control: Control
    ) -> None:
        """Play what is left of a turn; each game is noted as it ends."""
        genomes, records = self.records.genomes, self.records
        left = deque(game for game in range(len(pairings)) if game not in records.played)
        running: dict[Future[Outcome | None], int] = {}
        while left or running:
            control.look()
            while left and len(running) < self.workers and not control.holds():
                game = left.popleft()
                pair = pairings[game]
                running[executor.submit(self._game, genomes[pair.white], genomes[pair.black], clock)] = game
            if not running:
                began = time.perf_counter()
                if not control.hold():
                    raise _EndedError
                self._held += time.perf_counter() - began
                continue
            for done in wait(running, timeout=_GLANCE, return_when=FIRST_COMPLETED).done:
                game = running.pop(done)
                outcome = done.result()
                assert outcome is not None, "games are stopped only when the run ends"
                records.note(game, outcome)
                self._games += 1
                self._nodes += outcome.nodes
                self._leaves += outcome.leaves

    def _game(self, white: Genome, black: Genome, clock: float) -> Outcome | None:
        found = genetic_game(white, black, clock, self.config.unit, self._stop)
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
