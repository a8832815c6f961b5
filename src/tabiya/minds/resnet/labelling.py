"""Positions at the teacher's, in a thread of their own, while the GPU goes on training.

A labelling can be asked whether it is finished, told to stop with what it has,
or sent home; what it has labelled is on disk in any case.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

from tabiya.data.label import LabelJob
from tabiya.data.label_source import Task
from tabiya.data.labels import MoveLabels
from tabiya.data.teaching import Teaching

Joined: TypeAlias = tuple[MoveLabels, dict[str, int]]
"""Labels, and the counts of what was left out of them."""


class Labelling:
    """Positions being labelled by engines of their own while everything else goes on."""

    def __init__(self, task: Task, teaching: Teaching, select: Callable[[Path], Joined]) -> None:
        self.name = task.name
        self._task, self._teaching, self._select = task, teaching, select
        self._labels: Joined | None = None
        self._stopping = threading.Event()
        self._dismissed = False
        self._error: BaseException | None = None
        self.seconds = 0.0
        self.taken = False
        self._labelled = 0
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    @property
    def finished(self) -> bool:
        return not self._thread.is_alive()

    def result(self, stop: bool) -> Joined:
        """The labels: of all positions, or of those labelled when it was told to stop."""
        if stop:
            self._stopping.set()
        self._thread.join()
        if self._error is not None:
            raise self._error
        assert self._labels is not None
        self.taken = True
        return self._labels

    def dismiss(self) -> None:
        """Stop, and leave the labels as they are."""
        self._dismissed = True
        self._stopping.set()
        self._thread.join()

    def _work(self) -> None:
        try:
            job = LabelJob(self._task, self._teaching)
            self._labelled = job.done
            try:
                entries = job.run(self._advance)
            except _StoppedError:
                if self._dismissed:
                    return
                # What is labelled out of order waits for the gaps before it, a moment's work.
                chunk = self._teaching.chunk
                job = LabelJob(self._task, self._teaching, max(self._labelled // chunk * chunk, chunk))
                entries = job.run()
            self.seconds = float(entries["seconds"])
            self._labels = self._select(self._task.target)
        except BaseException as error:
            self._error = error

    def _advance(self, amount: int) -> None:
        self._labelled += amount
        if self._stopping.is_set():
            raise _StoppedError


class _StoppedError(Exception):
    """The labelling was told to stop."""
