"""How fast engines search, spoken to as a chess program would: over UCI, each as a process of its own.

Our minds (`tabiya uci MIND`) and outside engines get the same positions, the
same table and one thread, position by position in turn, so that a busy machine
slows them alike. Speed is nodes by the engine's own count over the time its
process had on a processor, where the system tells it; `stop` is timed by the
clock on the wall, from the word to the answer.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

from tabiya.errors import UserError
from tabiya.player import PlayerName
from tabiya.protocols.engine_path import find_program

POSITIONS = (
    "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
    "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",
    "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1",
    "r4rk1/1pp1qppp/p1np1n2/2b1p1B1/2B1P1b1/P1NP1N2/1PP1QPPP/R4RK1 w - - 0 10",
    "rnbqkb1r/pp2pppp/3p1n2/8/3NP3/2N5/PPP2PPP/R1BQKB1R b KQkq - 2 5",
    "r1bq1rk1/pp2ppbp/2np1np1/8/3NP3/2N1BP2/PPPQ2PP/R3KB1R b KQ - 3 9",
    "2rq1rk1/pb1n1ppN/4p3/1pb5/3P1Pn1/P1N5/1PQ1B1PP/R1B2RK1 b - - 0 16",
    "r1bqr1k1/pp1n1pbp/2pp1np1/8/2PNP3/2N3P1/PP3PBP/R1BQR1K1 w - - 0 11",
    "8/5pk1/4p1p1/3pP2p/3P3P/1r4P1/R4PK1/8 w - - 4 38",
    "6k1/5p2/3p2p1/2pPp2p/2P1P2P/1q3PP1/3Q2K1/8 w - - 0 40",
    "3r2k1/p4pp1/1p2p2p/8/2P5/1P2P2P/P4PP1/3R2K1 b - - 0 24",
    "8/8/1p1k4/p1p2pp1/P1P1p3/1P2P1P1/4KP2/8 w - - 0 45",
)
"""Openings, middlegames and endings, quiet and sharp."""


@dataclass(frozen=True, kw_only=True)
class Effort:
    """How much is measured."""

    nodes: int = 300_000
    """For each position, of the speed."""
    depth: int = 12
    """Of the time to a depth."""
    stops: int = 100
    rounds: int = 3
    hash: int = 64
    seed: int = 0
    positions: Sequence[str] = POSITIONS

    def __post_init__(self) -> None:
        for name in ("nodes", "depth", "rounds", "hash"):
            if getattr(self, name) < 1:
                raise UserError(f"{name} must be at least 1, got {getattr(self, name)}")

    @property
    def searches(self) -> int:
        return self.rounds * len(self.positions) + len(self.positions) + self.stops


class Engine:
    """A UCI engine in its process; a UserError says what went wrong with it."""

    def __init__(self, written: str, hash_size: int) -> None:
        self.name = written
        command, options = _command(written)
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        self.say("uci")
        self.own_name = next(
            (line.removeprefix("id name ") for line in self.hear("uciok") if line.startswith("id name ")), ""
        )
        for name, value in {"Hash": str(hash_size), "Threads": "1", **options}.items():
            self.say(f"setoption name {name} value {value}")
        self.ready()

    def __enter__(self) -> Engine:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _where: TracebackType | None
    ) -> None:
        try:
            self.say("quit")
            self._process.wait(5)
        except (UserError, subprocess.TimeoutExpired):
            pass
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                stream.close()

    def say(self, line: str) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(line + "\n")
            self._process.stdin.flush()
        except OSError:
            raise UserError(f"{self.name} died before it was told {line!r}") from None

    def hear(self, last: str) -> list[str]:
        """All lines up to the one that begins with `last`."""
        assert self._process.stdout is not None
        lines: list[str] = []
        while not lines or not lines[-1].startswith(last):
            line = self._process.stdout.readline()
            if not line:
                raise UserError(f"{self.name} died before it said {last!r}")
            lines.append(line.rstrip("\n"))
        return lines

    def ready(self) -> None:
        self.say("isready")
        self.hear("readyok")

    def begin(self, fen: str) -> None:
        self.say("ucinewgame")
        self.say(f"position fen {fen}")
        self.ready()

    def search(self, fen: str, go: str) -> Search:
        """One search from an empty table to its end."""
        self.begin(fen)
        wall, processor = time.perf_counter(), self.processor_seconds()
        self.say(go)
        lines = self.hear("bestmove")
        wall = time.perf_counter() - wall
        after = self.processor_seconds()
        spent = wall if processor is None or after is None else after - processor
        return Search(_last(lines, "nodes"), _last(lines, "depth"), wall, spent)

    def stopped_after(self, fen: str, seconds: float) -> float:
        """Seconds from `stop` to the answer, after so long a thought without an end."""
        self.begin(fen)
        self.say("go infinite")
        time.sleep(seconds)
        began = time.perf_counter()
        self.say("stop")
        self.hear("bestmove")
        return time.perf_counter() - began

    def processor_seconds(self) -> float | None:
        """What the process has had of processors so far; None where the system does not tell."""
        try:
            text = Path(f"/proc/{self._process.pid}/stat").read_text()
        except OSError:
            return None
        fields = text.rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Search:
    """What one search took."""

    nodes: int
    depth: int
    seconds: float
    processor_seconds: float


@dataclass
class _Found:
    rounds: list[dict[str, Any]] = field(default_factory=list)
    to_depth: list[Search] = field(default_factory=list)
    stops: list[float] = field(default_factory=list)


def measure(
    engines: Sequence[Engine], effort: Effort, advance: Callable[[], None] = lambda: None
) -> list[dict[str, Any]]:
    """Speed, time to depth and obedience to `stop` of each, in turn on every position."""
    found = [_Found() for _ in engines]
    for turn in range(effort.rounds):
        searches: list[list[Search]] = [[] for _ in engines]
        for number, fen in enumerate(effort.positions):
            for at in _in_turn(len(engines), turn + number):
                searches[at].append(engines[at].search(fen, f"go nodes {effort.nodes}"))
                advance()
        for each, made in zip(found, searches, strict=True):
            nodes, spent = sum(one.nodes for one in made), sum(one.processor_seconds for one in made)
            each.rounds.append({"nodes": nodes, "seconds": spent, "nps": nodes / max(spent, 1e-2)})
    for number, fen in enumerate(effort.positions):
        for at in _in_turn(len(engines), number):
            found[at].to_depth.append(engines[at].search(fen, f"go depth {effort.depth}"))
            advance()
    chance = random.Random(effort.seed)
    for number in range(effort.stops):
        fen, seconds = effort.positions[number % len(effort.positions)], chance.uniform(0.02, 0.2)
        for at in _in_turn(len(engines), number):
            found[at].stops.append(engines[at].stopped_after(fen, seconds))
            advance()
    return [_figures(engine, each, effort) for engine, each in zip(engines, found, strict=True)]


def _in_turn(count: int, turn: int) -> list[int]:
    """All of them, each time another first."""
    return [(turn + at) % count for at in range(count)]


def _figures(engine: Engine, found: _Found, effort: Effort) -> dict[str, Any]:
    stops = sorted(1000 * each for each in found.stops)
    rates = sorted(each["nps"] for each in found.rounds)
    return {
        "player": engine.name,
        "engine": engine.own_name,
        "nps": round(rates[len(rates) // 2]),
        "rounds": [round(each["nps"]) for each in found.rounds],
        "nodes": found.rounds[-1]["nodes"],
        "to_depth": {
            "depth": effort.depth,
            "seconds": round(sum(each.processor_seconds for each in found.to_depth), 3),
            "nodes": sum(each.nodes for each in found.to_depth),
            "each": [
                {"fen": fen, "nodes": one.nodes, "seconds": round(one.seconds, 4)}
                for fen, one in zip(effort.positions, found.to_depth, strict=True)
            ],
        },
        "stop_ms": {
            "times": len(stops),
            "median": round(stops[len(stops) // 2], 3),
            "p95": round(stops[min(len(stops) - 1, len(stops) * 95 // 100)], 3),
            "most": round(stops[-1], 3),
        }
        if stops
        else None,
    }


def _command(written: str) -> tuple[list[str], dict[str, str]]:
    """How the engine behind a player's name is started, and the options it is then told."""
    name = PlayerName.parse(written)
    if name.kind != "uci":
        return [sys.executable, "-m", "tabiya", "uci", written], {}
    program = find_program(name.where)
    if program is None:
        raise UserError(f"no engine {name.where!r}: uci: takes the path of a program")
    return [program], dict(name.options)


def _last(lines: Sequence[str], word: str) -> int:
    """The number behind a word in the last line of information that has it."""
    for line in reversed(lines):
        words = line.split()
        if line.startswith("info ") and word in words[:-1]:
            text = words[words.index(word) + 1]
            if text.isdigit():
                return int(text)
    return 0
