"""The teacher at work: who it is, what it may think, and the threads that ask it.

Each worker thread has an engine process of its own and answers chunks of
positions. A teacher that dies is replaced and asked again; one that dies three
times of the same chunk ends the work. Nothing here knows where labels are kept.
"""

from __future__ import annotations

import queue
import threading
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tabiya import _core
from tabiya.data.label_store import Answer
from tabiya.data.labels import MoveLabels, select
from tabiya.data.review import reviewed
from tabiya.errors import UserError

TRIES = 3
"""How often a chunk is given to a teacher that dies of it."""


@dataclass(frozen=True, kw_only=True)
class Teaching:
    """Who labels, how long it thinks about a position, and what it is asked for."""

    command: str
    """Path of the engine."""
    arguments: tuple[str, ...] = ()
    """What stands after it on its command line."""
    options: dict[str, str] = field(default_factory=dict)
    """UCI options, such as Hash."""
    depth: int | None = None
    nodes: int | None = None
    movetime: float | None = None
    """Seconds."""
    all_moves: bool = False
    """A score for every legal move (MultiPV), not one value for the position."""
    review: bool = False
    """The best move and its score, put into the scores that every move has already."""
    workers: int = 1

    def __post_init__(self) -> None:
        given = [limit for limit in (self.depth, self.nodes, self.movetime) if limit is not None]
        if not given:
            raise UserError("say how much the teacher may think: --depth, --nodes or --movetime")
        if min(given) <= 0:
            raise UserError(f"a teacher's limit must be positive, got {min(given)}")
        if self.all_moves and self.review:
            raise UserError("a teacher scores all moves or reviews the scores they have, not both")
        if self.workers < 1:
            raise UserError(f"there must be at least one worker, got {self.workers}")

    @property
    def kind(self) -> Literal["i16", "moves"]:
        return "moves" if self.all_moves or self.review else "i16"

    @property
    def limit(self) -> dict[str, float]:
        limits = {"depth": self.depth, "nodes": self.nodes, "movetime": self.movetime}
        return {name: value for name, value in limits.items() if value is not None}

    @property
    def chunk(self) -> int:
        """Positions that are done or lost together: a second's work or so, by the limit alone."""
        size = 1024
        if self.nodes is not None:
            size = min(size, 1_000_000 // self.nodes)
        if self.movetime is not None:
            size = min(size, int(2 / self.movetime))
        if self.depth is not None and self.nodes is None and self.movetime is None:
            size = 1024 if self.depth <= 6 else 256 if self.depth <= 10 else 32
        return max(1, size // 16 if self.all_moves else size)

    def open_teacher(self) -> _core.Teacher:
        timeout = 60.0 + 2 * (self.movetime or 0.0)
        return _core.Teacher(self.command, self.options, timeout, self.arguments)


class Workers:
    """Threads with a teacher each, that answer chunk after chunk."""

    def __init__(
        self,
        teaching: Teaching,
        packed: NDArray[np.uint8],
        bounds: Callable[[int], tuple[int, int]],
        chunks: list[int],
        idle: list[_core.Teacher],
        labels: MoveLabels | None = None,
    ) -> None:
        """`labels` of the positions are what a review works on."""
        self._teaching, self._packed, self._bounds, self._idle = teaching, packed, bounds, idle
        self._labels = labels
        self._todo = deque(chunks)
        self._done: queue.Queue[tuple[int, Answer] | BaseException | None] = queue.Queue()
        self._stopping = threading.Event()
        count = min(teaching.workers, len(chunks))
        self._threads = [
            threading.Thread(target=self._work, args=(idle.pop() if idle else None,), daemon=True)
            for _ in range(count)
        ]

    def answers(self) -> Iterator[tuple[int, Answer]]:
        """Chunks with their answers as they come; the first failure is raised."""
        for thread in self._threads:
            thread.start()
        at_work = len(self._threads)
        while at_work:
            item = self._done.get()
            if isinstance(item, BaseException):
                raise item
            if item is None:
                at_work -= 1
            else:
                yield item

    def stop(self) -> None:
        """Let each worker finish its chunk, but do not wait for a teacher that hangs."""
        self._stopping.set()
        for thread in self._threads:
            if thread.is_alive():
                thread.join(timeout=5.0)
        for teacher in self._idle:
            teacher.close()

    def _work(self, teacher: _core.Teacher | None) -> None:
        pupil = Pupil(self._teaching, teacher)
        try:
            while not self._stopping.is_set():
                try:
                    chunk = self._todo.popleft()
                except IndexError:
                    break
                first, end = self._bounds(chunk)
                packed = np.ascontiguousarray(self._packed[first:end])
                labels = None if self._labels is None else select(self._labels, np.arange(first, end))
                self._done.put((chunk, pupil.ask(packed, f"positions {first + 1} to {end}", labels)))
            self._done.put(None)
        except BaseException as error:
            self._done.put(error)
        finally:
            pupil.close()


class Pupil:
    """Asks one teacher about chunks, and takes a new one if it dies."""

    def __init__(self, teaching: Teaching, teacher: _core.Teacher | None = None) -> None:
        self._teaching, self._teacher = teaching, teacher

    def ask(self, packed: NDArray[np.uint8], where: str, labels: MoveLabels | None = None) -> Answer:
        """The labels of one chunk, `labels` those it has already; `where` names it in an error."""
        for attempt in range(TRIES):
            try:
                return self._ask(packed, labels)
            except _core.TeacherError as error:
                self.close()
                if attempt == TRIES - 1:
                    raise UserError(
                        f"the teacher failed {TRIES} times on {where}: {error}; what was finished is kept, "
                        "the same command goes on from there"
                    ) from None
        raise AssertionError("unreachable")

    def _ask(self, packed: NDArray[np.uint8], labels: MoveLabels | None) -> Answer:
        if self._teacher is None:
            self._teacher = self._teaching.open_teacher()
        self._teacher.new_game()
        teaching = self._teaching
        if teaching.review:
            assert labels is not None
            places, verdicts = self._teacher.best_moves(
                packed, depth=teaching.depth, nodes=teaching.nodes, movetime=teaching.movetime
            )
            return labels[1], reviewed(labels, places, verdicts)
        ask = self._teacher.all_moves if teaching.all_moves else self._teacher.values
        return ask(packed, depth=teaching.depth, nodes=teaching.nodes, movetime=teaching.movetime)

    def close(self) -> None:
        if self._teacher is not None:
            self._teacher.close()
            self._teacher = None
