"""The files of a gene pool, written: turn after turn, so that a kill at any moment costs no finished game.

Genomes and games are appended; then the state, which says how much of both
counts, replaces the old one in one step. Between two turns each finished game
goes to the turn file, from which a run that was killed takes them up again.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

from tabiya._core import Genome
from tabiya.errors import UserError
from tabiya.files import replacing
from tabiya.minds.genetic import pool_files
from tabiya.minds.genetic.config import PoolConfig
from tabiya.minds.genetic.world import Fate, Outcome, Pairing, World

_KEPT = ("gene_pool_population", "gene_pool_count", "seed")
"""Settings that a pool is begun with and cannot change."""

_TERMINATION = {"Time forfeiture": "time forfeit"}


class Records:
    """A pool's files, open for one run; no other may have them at the same time."""

    def __init__(self, pool: Path, config: PoolConfig, new_seed: int) -> None:
        self.pool = pool
        self.genomes: dict[int, Genome] = {}
        """Of the living."""
        pool.parent.mkdir(parents=True, exist_ok=True)
        self._lock = _locked(pool)
        self._files: list[IO[bytes]] = []
        try:
            state = pool_files.read_state(pool)
            if state is None:
                self._begin(config, new_seed)
            elif "excerpt" in state:
                raise UserError(
                    f"{pool} is an excerpt of a run: it can be looked at and played against, not gone on with"
                )
            else:
                self._resume(config, state)
            self.played = self._played()
            self._turn: IO[str] = pool_files.turn_file(pool).open("a", encoding="utf-8")
        except BaseException:
            self.close()
            raise

    def _begin(self, config: PoolConfig, new_seed: int) -> None:
        for path in (self.pool, pool_files.games_file(self.pool)):
            if path.exists():
                raise UserError(
                    f"{path} is there already, but no state of a run beside it: "
                    "move it away or name another gene pool file"
                )
        seed = new_seed if config.seed is None else config.seed
        # From here on the files are known as this run's, and a kill before the first turn is mended.
        self.world, first = World.begin(config, seed)
        self._write_state([0, 0])
        self._write_first(first)

    def _write_first(self, first: list[Genome]) -> None:
        self._open()
        self._write("".join(f"{genome.text()}\n" for genome in first) + _alive(self.world), "")
        self.genomes = {genome.id: genome for genome in first}

    def _resume(self, config: PoolConfig, state: dict[str, Any]) -> None:
        paths = (self.pool, pool_files.games_file(self.pool))
        sizes = [pool_files.counted_bytes(self.pool, state, path) for path in paths]
        for key in _KEPT:
            before, now = state["settings"][key], getattr(config, key)
            if now is not None and before != now:
                raise UserError(
                    f"{self.pool} was begun with {key.replace('_', ' ')} = {before}, now it is {now}: "
                    "use the same, or name another gene pool file"
                )
        if sizes[0] == 0:
            self.world, first = World.begin(config, state["settings"]["seed"])
            for path in paths:
                path.write_bytes(b"")
            self._write_first(first)
            return
        self.world = World.from_json(state["world"])
        with pool_files.opened(self.pool, self.pool) as content:
            for id in sorted(self.world.living()):
                self.genomes[id] = pool_files.living_genome(content, id, self.pool)
        for path, size in zip(paths, sizes, strict=True):
            os.truncate(path, size)
        self._open()

    def _open(self) -> None:
        self._files = [path.open("ab") for path in (self.pool, pool_files.games_file(self.pool))]

    def _played(self) -> dict[int, Outcome]:
        """The games of this turn that a run before has finished."""
        path = pool_files.turn_file(self.pool)
        found: dict[int, Outcome] = {}
        if not path.exists():
            return found
        whole = 0
        for line in path.read_bytes().splitlines(keepends=True):
            try:
                entry = json.loads(line) if line.endswith(b"\n") else {}
            except ValueError:
                entry = {}
            if not entry:
                break
            whole += len(line)
            if entry["turn"] == self.world.turn:
                outcome = entry["outcome"]
                found[entry["game"]] = Outcome(**{**outcome, "left": tuple(outcome["left"])})
        os.truncate(path, whole)
        return found

    def note(self, game: int, outcome: Outcome) -> None:
        """Keep a finished game of the turn under way."""
        self.played[game] = outcome
        entry = {"turn": self.world.turn, "game": game, "outcome": vars(outcome)}
        self._turn.write(json.dumps(entry) + "\n")
        self._turn.flush()

    def finish_turn(self, config: PoolConfig, pairings: Sequence[Pairing], seconds: float) -> list[Fate]:
        """Conclude the turn whose games are all played, and write it down."""
        outcomes = [self.played[game] for game in range(len(pairings))]
        number, clock = self.world.games, config.game_clock(self.world.turn)
        fates, newborn = self.world.conclude(config, pairings, outcomes, self.genomes)
        self.world.seconds += seconds
        games = "".join(
            game_to_pgn(number + at + 1, fate, clock, config.unit) for at, fate in enumerate(fates)
        )
        self._write("".join(f"{genome.text()}\n" for genome in newborn) + _alive(self.world), games)
        living = self.world.living()
        self.genomes |= {genome.id: genome for genome in newborn}
        self.genomes = {id: genome for id, genome in self.genomes.items() if id in living}
        self.played = {}
        self._turn.truncate(0)
        return fates

    def _write(self, genomes: str, games: str) -> None:
        sizes = []
        for file, text in zip(self._files, (genomes, games), strict=True):
            file.write(text.encode())
            file.flush()
            sizes.append(os.fstat(file.fileno()).st_size)
        self._write_state(sizes)

    def _write_state(self, sizes: list[int]) -> None:
        first = self.world.pools[0]
        settings = {
            "gene_pool_population": len(first.members),
            "gene_pool_count": len(self.world.pools),
            "seed": self.world.seed,
        }
        state = {
            "format": pool_files.FORMAT,
            "settings": settings,
            "bytes": {"genomes": sizes[0], "games": sizes[1]},
            "world": self.world.to_json(),
        }
        with replacing(pool_files.state_file(self.pool)) as temporary:
            temporary.write_text(json.dumps(state), encoding="utf-8")

    def close(self) -> None:
        for file in (*self._files, getattr(self, "_turn", None), self._lock):
            if file is not None:
                file.close()


def _locked(pool: Path) -> IO[bytes]:
    lock = pool.with_name(f".{pool.name}.lock").open("ab")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        lock.close()
        raise UserError(f"{pool} is being evolved by another run: wait for it or end it first") from None
    return lock


def _alive(world: World) -> str:
    return pool_files.living_lines(
        {number: sorted(member.id for member in pool.members) for number, pool in enumerate(world.pools)}
    )


def game_to_pgn(number: int, fate: Fate, clock: float, unit: str) -> str:
    """A game of the pool as PGN, with a blank line after it."""
    outcome, pairing = fate.outcome, fate.pairing
    result = {"White": "1-0", "Black": "0-1", None: "1/2-1/2"}[outcome.winner]
    tags = {
        "Event": f"Gene pool {pairing.pool}",
        "Site": "?",
        "Date": "????.??.??",
        "Round": number,
        "White": pairing.white,
        "Black": pairing.black,
        "Result": result,
        "PlyCount": outcome.plies,
        "TimeControl": f"{clock:g}" if unit == "seconds" else "-",
        "Clock": f"{clock:g} {unit}",
        "ClocksLeft": f"{outcome.left[0]:g} {outcome.left[1]:g}",
        "Termination": _TERMINATION.get(outcome.reason, "normal"),
        "GameEnd": outcome.reason,
        "Died": fate.dead,
        "Born": fate.born,
    }
    head = "\n".join(f'[{name} "{value}"]' for name, value in tags.items())
    return f"{head}\n\n{outcome.movetext}\n\n"
