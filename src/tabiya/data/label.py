"""A teacher's verdict on every position of a task, resumable after any kind of end.

Positions are cut into chunks of fixed size, and the teacher starts each one
afresh (`ucinewgame`). So, with a limit of depth or nodes, the labels do not
depend on how many workers there were or how often the work was interrupted.
"""

from __future__ import annotations

import errno
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabiya.data.label_ledger import Ledger
from tabiya.data.label_source import Task
from tabiya.data.label_store import Answer, LabelStore, MoveStore, ValueStore
from tabiya.data.labels import MoveLabels, select
from tabiya.data.teaching import Chunk, Pupils, Taught, Teaching, refuse_another
from tabiya.errors import UserError
from tabiya.scale.executor import Crew
from tabiya.scale.local import LOCAL

SYNC_SECONDS = 5.0
"""How often the ledger is written and the labels are forced to disk."""


class LabelJob:
    """One task under one teacher: open it, look at `done` and `wanted`, run it."""

    def __init__(
        self,
        task: Task,
        teaching: Teaching,
        max_positions: int | None = None,
        crew: Crew[Chunk, Taught[Answer]] | None = None,
    ) -> None:
        """`crew` are pupils of this teaching that stay when the job is done; None: threads of its own."""
        self.target, self.teaching = task.target, teaching
        self._labels: MoveLabels | None = None
        if teaching.review:
            if task.labels is None:
                raise UserError(f"a review needs move labels, and {task.name} has none: name a .moves file")
            self._labels = task.labels()
        self._packed = task.load() if self._labels is None else self._labels[0]
        total = len(self._packed)
        self.wanted = total if max_positions is None else min(total, max_positions)
        self._crew = crew or LOCAL.crew(Pupils(teaching), teaching.workers)
        self._dismiss = self._crew.close if crew is None else lambda: None
        try:
            self._open(task, total)
        except BaseException:
            self._dismiss()
            raise

    def _open(self, task: Task, total: int) -> None:
        teaching = self.teaching
        self._teacher: str = self._crew.introduce()
        self.ledger = Ledger(
            task.target.with_name(task.target.name + ".json"),
            {
                "teacher": self._teacher,
                "options": teaching.options,
                "limit": teaching.limit,
                "labels": _asked_for(teaching),
                "chunk": teaching.chunk,
                "positions": total,
                "checksum": _fingerprint(self._packed, self._labels),
            },
        )
        with _full_disk_named(task.target):
            self._store = self._open_store(total)
        self._chunks = self._store.missing()
        left = sum(end - first for first, end in map(self._store.bounds, self._chunks))
        self.done = self.wanted - left

    def _open_store(self, total: int) -> LabelStore:
        work = [self.target.with_name(self.target.name + ending) for ending in (".part", ".journal")]
        if any(path.exists() for path in (self.target, *work)):
            self.ledger.check(self.target)
        self.target.parent.mkdir(parents=True, exist_ok=True)
        self.ledger.save()
        if self.teaching.kind == "moves":
            return MoveStore(self.target, self._packed, self.wanted, self.teaching.chunk)
        return ValueStore(self.target, total, self.wanted, self.teaching.chunk)

    def run(self, advance: Callable[[int], None] = lambda _amount: None) -> dict[str, Any]:
        """Label what is missing, put the labels in place, and return the ledger's entries.

        `advance` is told of every finished chunk. Whatever ends the work early,
        the chunks that were finished are kept.
        """
        started = saved = time.monotonic()
        before = self.ledger.seconds
        try:
            with _full_disk_named(self.target):
                for chunk, taught in self._crew.answers(map(self._chunk, self._chunks)):
                    refuse_another(taught, chunk, self._teacher, self.target, self.teaching.command)
                    self._store.write(chunk.number, taught.labels)
                    advance(len(chunk.packed))
                    if time.monotonic() - saved > SYNC_SECONDS:
                        saved = time.monotonic()
                        self._store.sync()
                        self._account(before + saved - started)
                self._store.finish()
                self.ledger.complete = True
                self._account(before + time.monotonic() - started)
        finally:
            self._dismiss()
            if not self.ledger.complete:
                with suppress(OSError):
                    self._account(before + time.monotonic() - started)
            self._store.close()
        return self.ledger.entries()

    def _chunk(self, number: int) -> Chunk:
        first, end = self._store.bounds(number)
        packed = np.ascontiguousarray(self._packed[first:end])
        labels = None if self._labels is None else select(self._labels, np.arange(first, end))
        return Chunk(number, f"positions {first + 1} to {end}", packed, labels)

    def _account(self, seconds: float) -> None:
        self.ledger.seconds = seconds
        self.ledger.labelled = self._store.labelled()
        self.ledger.save()


def _asked_for(teaching: Teaching) -> str:
    if teaching.review:
        return "the best move, among scores there were"
    return "one score for each legal move" if teaching.all_moves else "one value"


def _fingerprint(packed: NDArray[np.uint8], labels: MoveLabels | None) -> int:
    """A checksum of positions in their order, and of the scores they had."""
    checksum = 0 if labels is None else zlib.crc32(labels[2].tobytes())
    for first in range(0, len(packed), 1 << 16):
        checksum = zlib.crc32(packed[first : first + (1 << 16)].tobytes(), checksum)
    return checksum


@contextmanager
def _full_disk_named(target: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise
        raise UserError(
            f"no room to write {target} ({error.strerror}): what was labelled is kept, "
            "make room and run the same command again"
        ) from error
