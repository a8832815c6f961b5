"""Work carried out by threads of this process.

Threads, because all that is heavy here lets go of Python's lock: Rust, engines
in processes of their own, networks. Each thread makes its own worker, so no
engine is ever asked by two.
"""

from __future__ import annotations

import os
import queue
import threading
from typing import Any, Generic

from tabiya.scale.executor import PATIENCE, Answer, Crew, Executor, Hire, Unit, Worker


class LocalExecutor(Executor):
    """This machine; a job that names no number of workers gets one."""

    @property
    def cores(self) -> int:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1

    @property
    def usual(self) -> int:
        return 1

    def crew(self, hire: Hire[Unit, Answer], workers: int | None = None) -> Crew[Unit, Answer]:
        return LocalCrew(hire, self.usual if workers is None else workers)


LOCAL = LocalExecutor()
"""Where work is done unless something else is said."""


class _Question(Generic[Unit]):
    """A unit, or without one the request to introduce oneself."""

    def __init__(self, *unit: Unit) -> None:
        self.unit = unit


class _Failed:
    def __init__(self, error: BaseException) -> None:
        self.error = error


class LocalCrew(Crew[Unit, Answer]):
    """Threads that are started as units come in, up to a number."""

    def __init__(self, hire: Hire[Unit, Answer], workers: int) -> None:
        self.workers = workers
        self._hire = hire
        self._open = 0
        self._waiting: queue.SimpleQueue[_Question[Unit] | None] = queue.SimpleQueue()
        self._done: queue.SimpleQueue[tuple[_Question[Unit], Any] | _Failed] = queue.SimpleQueue()
        self._stopping = threading.Event()
        self._threads: list[threading.Thread] = []
        self._hired: list[Worker[Unit, Answer]] = []

    def introduce(self) -> Any:
        assert not self._open, "a crew is asked who it is before it is given units"
        self._ask(_Question())
        found = self._take(None)
        assert found is not None
        return found[1]

    def give(self, unit: Unit) -> None:
        self._ask(_Question(unit))

    def take(self, timeout: float | None = None) -> tuple[Unit, Answer] | None:
        if not self._open:
            return None
        found = self._take(timeout)
        return None if found is None else (found[0].unit[0], found[1])

    def close(self) -> None:
        self._stopping.set()
        for _ in self._threads:
            self._waiting.put(None)
        if self._open:
            for worker in list(self._hired):
                worker.interrupt()
        for thread in self._threads:
            # Not for ever: an engine may hang.
            thread.join(PATIENCE)
        self._threads.clear()

    def _ask(self, question: _Question[Unit]) -> None:
        assert not self._stopping.is_set(), "the crew was sent home"
        self._open += 1
        self._waiting.put(question)
        if len(self._threads) < min(self._open, self.workers):
            name = f"worker-{len(self._threads)}"
            self._threads.append(threading.Thread(target=self._work, name=name, daemon=True))
            self._threads[-1].start()

    def _take(self, timeout: float | None) -> tuple[_Question[Unit], Any] | None:
        try:
            found = self._done.get(timeout=timeout)
        except queue.Empty:
            return None
        self._open -= 1
        if isinstance(found, _Failed):
            raise found.error
        return found

    def _work(self) -> None:
        worker: Worker[Unit, Answer] | None = None
        try:
            worker = self._hire()
            self._hired.append(worker)
            while (question := self._waiting.get()) is not None and not self._stopping.is_set():
                found = worker.answer(*question.unit) if question.unit else worker.introduce()
                self._done.put((question, found))
        except BaseException as error:
            self._done.put(_Failed(error))
        finally:
            if worker is not None:
                self._hired.remove(worker)
                worker.close()
