"""What every evaluation without games shares: asking a player, sampling, intervals, the record of a run.

Puzzles, agreement, endgames, openings and suites all put positions to a player
and compare its answers with something known. How a player is asked (one by
one, by several threads, or in batches), what happens when it breaks, and how a
share gets its interval is decided here once, so that figures of different
evaluations mean the same thing.
"""

from __future__ import annotations

import hashlib
import json
import math
import queue
import random
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, fields
from itertools import islice
from pathlib import Path
from typing import Any, Protocol, TypeVar, cast, runtime_checkable

from tabiya._core import Board
from tabiya.arena.provenance import provenance
from tabiya.errors import UserError
from tabiya.files import numbered_lines, write_json
from tabiya.player import Decision, Limit, OpenPlayer, Player, PlayerError, PlayerFailure

BATCH = 512
"""The most positions put to a player at once."""

PATIENCE = 5
"""Failures in a row after which a player is held to be broken for good."""

NAMED = 100
"""Unusable inputs and failures that a result names; all are counted."""

Item = TypeVar("Item")
Advance = Callable[[], None]
"""Called once for every position answered."""


@runtime_checkable
class BatchPlayer(Protocol):
    """A player that answers many unrelated positions at once, as a network does best."""

    def play_batch(self, boards: Sequence[Board], limit: Limit) -> list[Decision]:
        """One decision for each board, in the same order."""


@dataclass(frozen=True)
class Skipped:
    """Something in an input file that could not be used, and why."""

    where: str
    why: str


class Examiner:
    """Puts positions to one named player, and counts what became of them.

    Every position stands alone: the player is told that a new game begins, so
    an answer depends neither on the order of the questions nor on the number
    of threads. A player that breaks (crashes, hangs, plays an illegal move)
    has no answer for that position, which counts as wrong; it is opened anew
    for the next one.
    """

    def __init__(self, name: str, open_player: OpenPlayer, limit: Limit, concurrency: int = 1) -> None:
        if concurrency < 1:
            raise UserError(f"--concurrency must be at least 1, got {concurrency}")
        self.name = name
        self.limit = limit
        self.asked = 0
        self.nodes = 0
        self.failures: list[Skipped] = []
        self._open = open_player
        self._failed_in_a_row = 0
        self._count = threading.Lock()
        self._players: queue.SimpleQueue[Player] = queue.SimpleQueue()
        first = open_player(name)
        self._players.put(first)
        self._in_batches = isinstance(first, BatchPlayer)
        self._threads = 1 if self._in_batches else concurrency
        self._pool = ThreadPoolExecutor(self._threads)
        try:
            for _ in range(self._threads - 1):
                self._players.put(open_player(name))
        except BaseException:
            self.close()
            raise

    def answers(self, boards: Iterable[Board], advance: Advance = lambda: None) -> Iterator[Decision | None]:
        """The player's decision for each board, in order; None where it broke."""
        for batch in in_batches(boards):
            for decision in self._ask_all(batch):
                self.asked += 1
                self.nodes += decision.nodes if decision else 0
                advance()
                yield decision

    def figures(self) -> dict[str, Any]:
        """What belongs beside any figure: the work done and the questions it broke on."""
        return {
            "nodes_per_move": self.nodes / self.asked if self.asked else None,
            "failures": len(self.failures),
            "failed_on": [asdict(failure) for failure in self.failures[:NAMED]],
        }

    def close(self) -> None:
        """Drop the questions that wait, let the running ones end, close the players."""
        self._pool.shutdown(cancel_futures=True)
        while not self._players.empty():
            self._players.get_nowait().close()

    def __enter__(self) -> Examiner:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    def _ask_all(self, boards: list[Board]) -> Iterable[Decision | None]:
        if self._in_batches:
            return self._ask_batch(boards)
        # One player needs no thread, and without one Ctrl-C reaches it at once.
        return map(self._ask, boards) if self._threads == 1 else self._pool.map(self._ask, boards)

    def _ask(self, board: Board) -> Decision | None:
        player = self._players.get()
        try:
            player.new_game()
            decision = _legal(player, board, player.play(board, self.limit))
        except PlayerFailure as failure:
            player = self._replace(player, failure, board)
            return None
        finally:
            self._players.put(player)
        self._failed_in_a_row = 0
        return decision

    def _ask_batch(self, boards: Sequence[Board]) -> list[Decision | None]:
        player = self._players.get()
        try:
            player.new_game()
            decisions = cast(BatchPlayer, player).play_batch(boards, self.limit)
            if len(decisions) != len(boards):
                raise PlayerFailure(f"{player.name} gave {len(decisions)} answers to {len(boards)} positions")
            for board, decision in zip(boards, decisions, strict=True):
                _legal(player, board, decision)
        except PlayerFailure:
            decisions = []
        finally:
            self._players.put(player)
        # One bad position must not cost its whole batch: then they are asked one by one.
        return list(decisions) if decisions else [self._ask(board) for board in boards]

    def _replace(self, player: Player, failure: PlayerFailure, board: Board) -> Player:
        """Note the failure and open the player anew."""
        with self._count:
            self.failures.append(Skipped(board.fen(), str(failure)))
            self._failed_in_a_row += 1
            if self._failed_in_a_row >= PATIENCE:
                raise PlayerError(
                    f"{self.name} failed on {PATIENCE} positions running, the last time because {failure}"
                )
        player.close()
        return self._open(self.name)


def _legal(player: Player, board: Board, decision: Decision) -> Decision:
    try:
        legal = board.is_legal(decision.move)
    except ValueError:
        legal = False
    if not legal:
        raise PlayerFailure(f"{player.name} played the illegal move {decision.move}")
    return decision


def in_batches(items: Iterable[Item], size: int = BATCH) -> Iterator[list[Item]]:
    """Lists of `size` items, the last one shorter."""
    rest = iter(items)
    while batch := list(islice(rest, size)):
        yield batch


def sample(items: Iterable[Item], count: int | None, seed: int) -> list[Item]:
    """`count` of the items, every choice as likely, in their own order; all of them for None.

    The items are seen once and only `count` are held, so a file may be of any
    length; one seed and one file give one sample.
    """
    if count is None:
        return list(items)
    if count < 1:
        raise UserError(f"--max must be at least 1, got {count}")
    chance = random.Random(seed)
    held: list[tuple[int, Item]] = []
    for number, item in enumerate(items):
        if number < count:
            held.append((number, item))
        elif (place := chance.randrange(number + 1)) < count:
            held[place] = (number, item)
    return [item for _, item in sorted(held, key=lambda pair: pair[0])]


def share(right: int, asked: int) -> float | None:
    """right ÷ asked; None where nothing was asked."""
    return right / asked if asked else None


def mean(values: Sequence[float]) -> float | None:
    """The average; None of nothing."""
    return math.fsum(values) / len(values) if values else None


def wilson(right: int, asked: int) -> list[float] | None:
    """Wilson's 95 % interval [low, high] of a share; None where nothing was asked.

    >>> [round(bound, 4) for bound in wilson(8, 10)]
    [0.4902, 0.9433]
    """
    if not asked:
        return None
    z = 1.959963984540054
    p = right / asked
    middle = p + z * z / (2 * asked)
    half = z * math.sqrt(p * (1 - p) / asked + z * z / (4 * asked * asked))
    scale = 1 + z * z / asked
    # At the ends the square root and the middle agree only up to rounding.
    low = 0.0 if right == 0 else (middle - half) / scale
    high = 1.0 if right == asked else (middle + half) / scale
    return [low, high]


def read_lines(path: Path) -> Iterator[tuple[int, str]]:
    """The lines that hold anything, numbered from 1, of a text file, plain or .gz, .bz2 or .zst.

    Letters of another encoding than UTF-8 (old collections have them in
    names) become question marks; they never stand in moves or positions.
    Zero bytes, which some old programs left at the ends of lines, are dropped.
    """
    for number, line in numbered_lines(path):
        yield number, line.decode("utf-8", "replace").removeprefix("\ufeff").replace("\0", "").rstrip()


def limit_figures(limit: Limit) -> dict[str, Any]:
    """A limit as it stands in a result: only what was set."""
    return {
        field.name: getattr(limit, field.name)
        for field in fields(limit)
        if getattr(limit, field.name) != field.default
    }


def write_record(folder: Path, question: str, player: str, record: dict[str, Any]) -> Path:
    """One small JSON of a run under `folder`; the same question to the same player has the same name.

    `record` holds what defines the run (limit, seed, files …) and its `figures`.
    """
    whole = {"question": question, "player": player, **provenance(), **record}
    setting = {key: value for key, value in record.items() if key != "figures"} | {"player": player}
    mark = hashlib.sha256(json.dumps(setting, sort_keys=True).encode()).hexdigest()[:8]
    plain = re.sub(r"[^A-Za-z0-9]+", "-", player).strip("-")[-40:]
    target = folder / f"eval-{question}-{plain}-{mark}.json"
    write_json(target, whole)
    return target
