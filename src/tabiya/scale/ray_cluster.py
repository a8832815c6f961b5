"""Work carried out by the machines of a Ray cluster.

Each worker is a Ray actor with one core to itself, on whichever machine has
one free. An actor that is lost with its machine is replaced as soon as there
is room, and its unit is given to another one; so the loss of a machine costs
the time of the units it was working on. Actors belong to the driver: when that
is killed, Ray ends them.

Nothing is sent but hires, units and answers. Every machine needs this package
(and the engines and networks that players are named by) at the same places.
"""

from __future__ import annotations

import contextlib
import importlib
import logging
import os
import socket
import threading
from collections import deque
from dataclasses import dataclass, field
from typing import Any, Generic

from tabiya.errors import UserError
from tabiya.scale.executor import PATIENCE, Answer, Crew, Executor, Hire, Unit, Worker

TRIES = 5
"""How often a unit is given to a worker that is lost with it, and how often in a row a start may fail."""


class RayExecutor(Executor):
    """A Ray cluster; a job that names no number of workers gets one for each of its cores."""

    def __init__(self, address: str | None = None) -> None:
        """None: the cluster that this machine belongs to (or RAY_ADDRESS names), else a new one here."""
        self._address = address
        self._ray: Any = None
        self._connected_here = False
        self._crews: list[RayCrew[Any, Any]] = []

    @property
    def cores(self) -> int:
        return max(1, int(self._connected().cluster_resources().get("CPU", 1)))

    @property
    def usual(self) -> int:
        return self.cores

    def crew(self, hire: Hire[Unit, Answer], workers: int | None = None) -> Crew[Unit, Answer]:
        workers = self.usual if workers is None else workers
        crew = RayCrew(self._connected(), hire, workers, self._crews)
        self._crews.append(crew)
        return crew

    def close(self) -> None:
        if self._ray is not None and self._connected_here:
            self._ray.shutdown()
        self._ray = None

    def _connected(self) -> Any:
        """The ray module, connected."""
        if self._ray is None:
            os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
            ray: Any = importlib.import_module("ray")
            # What a person can mend we say ourselves, in one sentence.
            logging.getLogger("ray").setLevel(logging.ERROR)
            if not ray.is_initialized():
                self._connect(ray)
                self._connected_here = True
            self._ray = ray
        return self._ray

    def _connect(self, ray: Any) -> None:
        options = {} if self._address else {"include_dashboard": False}
        try:
            ray.init(
                address=self._address,
                log_to_driver=False,
                logging_level=logging.ERROR,
                configure_logging=False,
                **options,
            )
        except (ConnectionError, RuntimeError, ValueError, OSError) as error:
            where = f"at {self._address}" if self._address else "here"
            reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
            raise UserError(
                f"no Ray cluster {where} ({reason}): start one with `ray start --head`, or name its address"
            ) from None


class _Actor(Generic[Unit, Answer]):
    """A worker in a process of its own, somewhere."""

    def __init__(self, folder: str) -> None:
        # Players are named by paths relative to where the command was given.
        with contextlib.suppress(OSError):
            os.chdir(folder)
        self._busy = threading.Lock()
        self._worker: Worker[Unit, Answer] | None = None

    def begin(self, hire: Hire[Unit, Answer]) -> None:
        """Apart from the making of the actor, so that what goes wrong comes back as it is."""
        with self._busy, _place_named():
            self._worker = hire()

    def introduce(self) -> Any:
        assert self._worker is not None
        with self._busy, _place_named():
            return self._worker.introduce()

    def answer(self, unit: Unit) -> Answer:
        assert self._worker is not None
        with self._busy, _place_named():
            return self._worker.answer(unit)

    def close(self) -> None:
        worker, self._worker = self._worker, None
        if worker is not None:
            worker.interrupt()
            if self._busy.acquire(timeout=PATIENCE / 2):
                worker.close()


@contextlib.contextmanager
def _place_named() -> Any:
    """A mistake that a person can mend is one on some machine: say which."""
    try:
        yield
    except UserError as error:
        raise type(error)(f"{error} (on {socket.gethostname()})") from None


@dataclass(frozen=True)
class _Task(Generic[Unit]):
    """A unit with an actor; without one the request to introduce oneself."""

    unit: tuple[Unit, ...]
    lost: int = 0
    """How many actors have been lost with it."""


@dataclass
class _Staff:
    """The actors, by what each of them is doing; the keys are Ray's references to what they will answer."""

    starting: dict[Any, Any] = field(default_factory=dict)
    idle: list[Any] = field(default_factory=list)
    busy: dict[Any, tuple[Any, _Task[Any]]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.starting) + len(self.idle) + len(self.busy)

    def begun(self) -> list[Any]:
        return [*self.idle, *(actor for actor, _ in self.busy.values())]


class RayCrew(Crew[Unit, Answer]):
    """Actors of a cluster; a unit goes only to one that has shown that it is there."""

    def __init__(
        self, ray: Any, hire: Hire[Unit, Answer], workers: int, crews: list[RayCrew[Any, Any]]
    ) -> None:
        """`crews` are all of the driver: those with nothing to do make room for one that hires."""
        self.workers = workers
        self._ray, self._crews = ray, crews
        self._hire = ray.put(hire)
        self._remote = ray.remote(_Actor).options(
            num_cpus=1, max_concurrency=2, max_restarts=0, scheduling_strategy="SPREAD"
        )
        self._staff = _Staff()
        self._waiting: deque[_Task[Unit]] = deque()
        self._failed_starts = 0

    def introduce(self) -> Any:
        assert not self._waiting, "a crew is asked who it is before it is given units"
        self._waiting.append(_Task(()))
        found = self._take(None)
        assert found is not None
        return found[1]

    def give(self, unit: Unit) -> None:
        self._waiting.append(_Task((unit,)))
        self._assign()

    def take(self, timeout: float | None = None) -> tuple[Unit, Answer] | None:
        found = self._take(timeout)
        return None if found is None else (found[0].unit[0], found[1])

    def close(self) -> None:
        self._waiting.clear()
        self._dismiss()
        if self in self._crews:
            self._crews.remove(self)

    def _dismiss(self) -> None:
        """Send all actors home."""
        ray, staff = self._ray, self._staff
        self._staff = _Staff()
        if not ray.is_initialized():
            return
        # One that has not begun may be waiting for a core, and would not hear of it.
        with contextlib.suppress(ray.exceptions.RayError):
            farewells = [actor.close.remote() for actor in staff.begun()]
            if farewells:
                ray.wait(farewells, num_returns=len(farewells), timeout=PATIENCE)
        for actor in [*staff.starting.values(), *staff.begun()]:
            with contextlib.suppress(Exception):
                ray.kill(actor, no_restart=True)

    def _assign(self) -> None:
        """Give what waits to who is free, and hire for the rest."""
        staff = self._staff
        while self._waiting and staff.idle:
            actor, task = staff.idle.pop(), self._waiting.popleft()
            answer = actor.answer.remote(*task.unit) if task.unit else actor.introduce.remote()
            staff.busy[answer] = (actor, task)
        wanted = min(len(self._waiting) - len(staff.starting), self.workers - len(staff))
        if wanted > 0:
            for crew in self._crews:
                if crew is not self and not crew._waiting and not crew._staff.busy:
                    crew._dismiss()
        for _ in range(wanted):
            actor = self._remote.remote(os.getcwd())
            staff.starting[actor.begin.remote(self._hire)] = actor

    def _take(self, timeout: float | None) -> tuple[_Task[Unit], Any] | None:
        ray, staff = self._ray, self._staff
        while True:
            self._assign()
            pending = [*staff.busy, *staff.starting]
            if not staff.busy and not self._waiting:
                return None
            ready, _ = ray.wait(pending, num_returns=1, timeout=timeout)
            if not ready:
                return None
            if ready[0] in staff.starting:
                self._begun(ready[0])
            elif (found := self._answered(ready[0])) is not None:
                return found

    def _begun(self, reference: Any) -> None:
        actor = self._staff.starting.pop(reference)
        try:
            self._get(reference)
        except self._ray.exceptions.RayError as error:
            self._failed_starts += 1
            if self._failed_starts >= TRIES:
                raise UserError(
                    f"{TRIES} workers in a row did not start on the Ray cluster, the last because "
                    f"{_in_short(error)}: this package must be installed on every machine"
                ) from None
            return
        self._failed_starts = 0
        self._staff.idle.append(actor)

    def _answered(self, reference: Any) -> tuple[_Task[Unit], Any] | None:
        actor, task = self._staff.busy.pop(reference)
        try:
            found = self._get(reference)
        except self._ray.exceptions.RayError as error:
            # The answer, or its actor, is gone with a machine: another does it again. Who is idle may
            # be gone too, and a unit shall not be lost with one after the other of them.
            for gone in (actor, *self._staff.idle):
                with contextlib.suppress(Exception):
                    self._ray.kill(gone, no_restart=True)
            self._staff.idle.clear()
            if task.lost + 1 >= TRIES:
                raise UserError(
                    f"{TRIES} workers were lost with the same unit of work, the last because "
                    f"{_in_short(error)}; what was finished is kept"
                ) from None
            self._waiting.appendleft(_Task(task.unit, task.lost + 1))
            return None
        self._staff.idle.append(actor)
        return task, found

    def _get(self, reference: Any) -> Any:
        """What an actor returned or raised; a RayError only where it did neither."""
        try:
            return self._ray.get(reference)
        except self._ray.exceptions.RayTaskError as error:
            cause = getattr(error, "cause", None)
            raise (cause if isinstance(cause, Exception) else RuntimeError(str(error))) from None


def _in_short(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0].rstrip(".") if lines else type(error).__name__
