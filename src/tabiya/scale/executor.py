"""What a job that fans out is to whoever carries it out: workers, units, answers, and nothing of where.

A job says how one of its workers is made (`Hire`) and hands out units of work.
A worker loads its engine or network once and answers unit after unit; the
driver, which alone writes files, takes the answers in whatever order they
come. A unit may be answered twice, if the machine that had it is lost, so an
answer hangs on its unit alone and a worker changes nothing outside itself;
the driver is given each answer once.

Hires, units and answers may travel to another machine: they are made of plain
data, so that `pickle` can carry them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, TypeAlias, TypeVar

Unit = TypeVar("Unit")
Answer = TypeVar("Answer")

PATIENCE = 5.0
"""Seconds a worker gets to break off its unit when all is to stop."""


class Worker(ABC, Generic[Unit, Answer]):
    """One who answers units, one after the other, with what it has loaded once."""

    def introduce(self) -> Any:
        """Who it is, for the record; a `UserError` where what it needs is not there."""
        return None

    @abstractmethod
    def answer(self, unit: Unit) -> Answer:
        """The answer to one unit, the same whoever gives it and whatever was answered before."""

    def interrupt(self) -> None:
        """Called from another thread: end the running unit soon, by any answer or exception."""

    def close(self) -> None:
        """Give back processes and files."""


Hire: TypeAlias = Callable[[], Worker[Unit, Answer]]
"""Makes a worker, wherever it is called."""


class Crew(ABC, Generic[Unit, Answer]):
    """The workers of one job, hired as units come in; a context manager, so that they are sent home."""

    workers: int
    """How many units are answered at the same time, at the most; may be changed before one is given."""

    @abstractmethod
    def introduce(self) -> Any:
        """What the first worker says of itself; asked before any unit is given."""

    @abstractmethod
    def give(self, unit: Unit) -> None:
        """Have a unit answered, at once or when a worker is free."""

    @abstractmethod
    def take(self, timeout: float | None = None) -> tuple[Unit, Answer] | None:
        """A unit with its answer; None after so many seconds, or if no unit is with the crew.

        What a worker raised is raised here, and the crew is of no more use.
        """

    @abstractmethod
    def close(self) -> None:
        """Break off what is still being answered and send the workers home."""

    def answers(self, units: Iterable[Unit]) -> Iterator[tuple[Unit, Answer]]:
        """Every unit with its answer, as they come; the next unit is drawn when a worker is free.

        Whoever stops listening early is done with the crew.
        """
        given = 0
        try:
            for unit in units:
                self.give(unit)
                given += 1
                if given >= self.workers:
                    found = self._next()
                    given -= 1
                    yield found
            while given:
                found = self._next()
                given -= 1
                yield found
        finally:
            if given:
                self.close()

    def _next(self) -> tuple[Unit, Answer]:
        found = self.take()
        assert found is not None, "a crew that has units waits for their answers"
        return found

    def __enter__(self) -> Crew[Unit, Answer]:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()


class Executor(ABC):
    """Where work is carried out."""

    @property
    @abstractmethod
    def cores(self) -> int:
        """How many units can be worked on at once."""

    @property
    @abstractmethod
    def usual(self) -> int:
        """How many workers a job gets that names no number."""

    @abstractmethod
    def crew(self, hire: Hire[Unit, Answer], workers: int | None = None) -> Crew[Unit, Answer]:
        """Workers for a job, not more than asked for; None: the usual number."""

    def close(self) -> None:  # noqa: B027 - this machine has nothing to let go of
        """Let go of machines."""

    def __enter__(self) -> Executor:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()
