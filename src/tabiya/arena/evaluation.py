"""What every evaluation without games shares: asking a player, sampling, intervals, the record of a run.

Puzzles, agreement, endgames, openings and suites all put positions to a player
and compare its answers with something known. How a player is asked (one by
one, by several workers, or in batches), what happens when it breaks, and how a
share gets its interval is decided here once, so that figures of different
evaluations mean the same thing.
"""

from __future__ import annotations

import copyreg
import hashlib
import json
import math
import random
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from itertools import islice
from pathlib import Path
from typing import Any, Protocol, TypeVar, cast, runtime_checkable

from tabiya._core import Board
from tabiya.arena.provenance import provenance
from tabiya.errors import UserError
from tabiya.files import numbered_lines, write_json
from tabiya.player import Decision, Limit, OpenPlayer, Player, PlayerError, PlayerFailure
from tabiya.scale.executor import Executor, Worker
from tabiya.scale.local import LOCAL

BATCH = 512
"""The most positions put to a player at once."""

PAPER = 16
"""The most positions that one worker takes at once from those that are asked one by one."""

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
    of those who answer. A player that breaks (crashes, hangs, plays an illegal
    move) has no answer for that position, which counts as wrong; it is opened
    anew for the next one.
    """

    def __init__(
        self,
        name: str,
        open_player: OpenPlayer,
        limit: Limit,
        concurrency: int | None = None,
        executor: Executor = LOCAL,
    ) -> None:
        """`concurrency` is of players that are asked for one position at a time."""
        if concurrency is not None and concurrency < 1:
            raise UserError(f"--concurrency must be at least 1, got {concurrency}")
        self.name = name
        self.limit = limit
        self.asked = 0
        self.nodes = 0
        self.failures: list[Skipped] = []
        self._papers = 0
        self._crew = executor.crew(Candidates(name, open_player, limit), concurrency)
        try:
            self._in_batches: bool = self._crew.introduce()
        except BaseException:
            self.close()
            raise
        if self._in_batches:
            self._crew.workers = executor.usual

    def answers(self, boards: Iterable[Board], advance: Advance = lambda: None) -> Iterator[Decision | None]:
        """The player's decision for each board, in order; None where it broke."""
        first = due = self._papers
        marked: dict[int, Marks] = {}
        for paper, marks in self._marks(boards):
            # One who stopped listening earlier may have left answers behind.
            if paper.number < first:
                continue
            marked[paper.number] = marks
            while due in marked:
                found = marked.pop(due)
                due += 1
                self.failures += found.failures
                for decision in found.decisions:
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
        """Drop the questions that wait, break off the running ones, close the players."""
        self._crew.close()

    def __enter__(self) -> Examiner:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    def _marks(self, boards: Iterable[Board]) -> Iterator[tuple[Paper, Marks]]:
        """Papers with their marks, as they come."""
        given = 0
        for paper in self._cut(boards):
            self._crew.give(paper)
            given += 1
            while given >= self._crew.workers and (found := self._crew.take()) is not None:
                given -= 1
                yield found
        while (found := self._crew.take()) is not None:
            yield found

    def _cut(self, boards: Iterable[Board]) -> Iterator[Paper]:
        for batch in in_batches(boards):
            size = BATCH if self._in_batches else len(batch) // (4 * self._crew.workers)
            for part in in_batches(batch, size if self._in_batches else max(1, min(PAPER, size))):
                self._papers += 1
                yield Paper(self._papers - 1, part)


@dataclass(frozen=True)
class Paper:
    """Positions that one worker answers."""

    number: int
    boards: list[Board]


@dataclass(frozen=True)
class Marks:
    """What became of a paper: one entry for each position, and why some have no decision."""

    decisions: list[Decision | None]
    failures: list[Skipped]


@dataclass(frozen=True)
class Candidates:
    """Hires those who answer for one player, wherever the work is done."""

    name: str
    open_player: OpenPlayer
    limit: Limit

    def __call__(self) -> Candidate:
        return Candidate(self)


class Candidate(Worker[Paper, Marks]):
    """One player, opened anew when it breaks."""

    def __init__(self, hired: Candidates) -> None:
        self._hired = hired
        self._player = hired.open_player(hired.name)
        self._failed_in_a_row = 0

    def introduce(self) -> bool:
        """Whether it answers in batches."""
        return isinstance(self._player, BatchPlayer)

    def answer(self, unit: Paper) -> Marks:
        failures: list[Skipped] = []
        if isinstance(self._player, BatchPlayer) and (together := self._batch(unit.boards)):
            return Marks(together, failures)
        return Marks([self._ask(board, failures) for board in unit.boards], failures)

    def interrupt(self) -> None:
        self._player.stop()

    def close(self) -> None:
        self._player.close()

    def _batch(self, boards: Sequence[Board]) -> list[Decision | None]:
        """All at once; nothing if one position broke it, which must not cost the others their answers."""
        player = self._player
        try:
            player.new_game()
            decisions = cast(BatchPlayer, player).play_batch(boards, self._hired.limit)
            if len(decisions) != len(boards):
                raise PlayerFailure(f"{player.name} gave {len(decisions)} answers to {len(boards)} positions")
            return [_legal(player, board, one) for board, one in zip(boards, decisions, strict=True)]
        except PlayerFailure:
            return []

    def _ask(self, board: Board, failures: list[Skipped]) -> Decision | None:
        try:
            self._player.new_game()
            decision = _legal(self._player, board, self._player.play(board, self._hired.limit))
        except PlayerFailure as failure:
            failures.append(Skipped(board.fen(), str(failure)))
            self._open_anew(failure)
            return None
        self._failed_in_a_row = 0
        return decision

    def _open_anew(self, failure: PlayerFailure) -> None:
        self._failed_in_a_row += 1
        if self._failed_in_a_row >= PATIENCE:
            raise PlayerError(
                f"{self._hired.name} failed on {PATIENCE} positions running, the last time because {failure}"
            )
        self._player.close()
        self._player = self._hired.open_player(self._hired.name)


def _board(start_fen: str, moves: list[str]) -> Board:
    board = Board(start_fen)
    for move in moves:
        board.push(move)
    return board


# So that a board can travel to a worker in another process.
copyreg.pickle(Board, lambda board: (_board, (board.start_fen, board.moves)))


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
