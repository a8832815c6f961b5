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

from tabiya import _core
from tabiya.data.label_ledger import Ledger
from tabiya.data.label_source import Task
from tabiya.data.label_store import LabelStore, MoveStore, ValueStore
from tabiya.data.labels import MoveLabels
from tabiya.data.teaching import Teaching, Workers
from tabiya.errors import UserError

SYNC_SECONDS = 5.0
"""How often the ledger is written and the labels are forced to disk."""


class LabelJob:
    """One task under one teacher: open it, look at `done` and `wanted`, run it."""

    def __init__(self, task: Task, teaching: Teaching, max_positions: int | None = None) -> None:
        self.target, self.teaching = task.target, teaching
        self._labels: MoveLabels | None = None
        if teaching.review:
            if task.labels is None:
                raise UserError(f"a review needs move labels, and {task.name} has none: name a .moves file")
            self._labels = task.labels()
        self._packed = task.load() if self._labels is None else self._labels[0]
        total = len(self._packed)
        self.wanted = total if max_positions is None else min(total, max_positions)
        try:
            teacher = teaching.open_teacher()
        except _core.TeacherError as error:
            raise UserError(str(error)) from None
        self._idle: list[_core.Teacher] = [teacher]
        self.ledger = Ledger(
            task.target.with_name(task.target.name + ".json"),
            {
                "teacher": teacher.name,
                "options": teaching.options,
                "limit": teaching.limit,
                "labels": _asked_for(teaching),
                "chunk": teaching.chunk,
                "positions": total,
                "checksum": _fingerprint(self._packed, self._labels),
            },
        )
        try:
            with _full_disk_named(task.target):
                self._store = self._open_store(total)
        except BaseException:
            teacher.close()
            raise
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
        workers = Workers(
            self.teaching, self._packed, self._store.bounds, self._chunks, self._idle, self._labels
        )
        started = saved = time.monotonic()
        before = self.ledger.seconds
        try:
            with _full_disk_named(self.target):
                for chunk, answer in workers.answers():
                    self._store.write(chunk, answer)
                    first, end = self._store.bounds(chunk)
                    advance(end - first)
                    if time.monotonic() - saved > SYNC_SECONDS:
                        saved = time.monotonic()
                        self._store.sync()
                        self._account(before + saved - started)
                self._store.finish()
                self.ledger.complete = True
                self._account(before + time.monotonic() - started)
        finally:
            workers.stop()
            if not self.ledger.complete:
                with suppress(OSError):
                    self._account(before + time.monotonic() - started)
            self._store.close()
        return self.ledger.entries()

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
