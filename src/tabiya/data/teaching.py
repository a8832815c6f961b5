"""The teacher at work: who it is, what it may think, and the workers that ask it.

Each worker has an engine process of its own and answers chunks of positions.
A teacher that dies is replaced and asked again; one that dies three times of
the same chunk ends the work. Nothing here knows where labels are kept, nor on
which machine a worker is.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from tabiya import _core
from tabiya.data.label_store import Answer
from tabiya.data.labels import MoveLabels
from tabiya.data.review import reviewed
from tabiya.errors import UserError
from tabiya.scale.executor import Worker

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
    line: int = 1
    """Where it is asked for its move: how many positions of the line that it expects are wanted."""
    review: bool = False
    """The best move and its score, put into the scores that every move has already."""
    workers: int = 1

    def __post_init__(self) -> None:
        given = [limit for limit in (self.depth, self.nodes, self.movetime) if limit is not None]
        if not given:
            raise UserError("say how much the teacher may think: --depth, --nodes or --movetime")
        if min(given) <= 0:
            raise UserError(f"a teacher's limit must be positive, got {min(given)}")
        if self.line < 1:
            raise UserError(f"--line must be at least 1, got {self.line}")
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


@dataclass(frozen=True)
class Chunk:
    """Consecutive positions that are answered together."""

    number: int
    where: str
    """Names it in an error."""
    packed: NDArray[np.uint8]
    labels: MoveLabels | None = None
    """Those they have already, which a review works on."""


Given = TypeVar("Given")
"""What a teacher says of a chunk: labels, or lines."""


@dataclass(frozen=True)
class Taught(Generic[Given]):
    """What was said of a chunk, and who said it."""

    labels: Given
    teacher: str


def refuse_another(taught: Taught[Any], chunk: Chunk, teacher: str, target: Path, command: str) -> None:
    """Machines may have different engines at one path, and their labels must not be mixed."""
    if taught.teacher != teacher:
        raise UserError(
            f"{target} is labelled by {teacher}, but {chunk.where} were by {taught.teacher}: "
            f"have the same engine as {command} on every machine"
        )


@dataclass(frozen=True)
class Pupils:
    """Hires pupils of one teaching, wherever the work is done."""

    teaching: Teaching

    def __call__(self) -> LabelPupil:
        return LabelPupil(self.teaching)


class Pupil(Worker[Chunk, Taught[Given]]):
    """Asks one teacher about chunks, and takes a new one if it dies."""

    def __init__(self, teaching: Teaching) -> None:
        self._teaching = teaching
        self._teacher: _core.Teacher | None = None

    def introduce(self) -> str:
        """The teacher's own name."""
        try:
            return self._present().name
        except _core.TeacherError as error:
            raise UserError(str(error)) from None

    def answer(self, unit: Chunk) -> Taught[Given]:
        for attempt in range(TRIES):
            try:
                teacher = self._present()
                return Taught(self._ask(teacher, unit.packed, unit.labels), teacher.name)
            except _core.TeacherError as error:
                self.close()
                if attempt == TRIES - 1:
                    raise UserError(
                        f"the teacher failed {TRIES} times on {unit.where}: {error}; what was finished is "
                        "kept, the same command goes on from there"
                    ) from None
        raise AssertionError("unreachable")

    def _present(self) -> _core.Teacher:
        if self._teacher is None:
            self._teacher = self._teaching.open_teacher()
        return self._teacher

    @abstractmethod
    def _ask(self, teacher: _core.Teacher, packed: NDArray[np.uint8], labels: MoveLabels | None) -> Given:
        """Put the question to the teacher."""

    def close(self) -> None:
        if self._teacher is not None:
            self._teacher.close()
            self._teacher = None


class LabelPupil(Pupil[Answer]):
    """Asks for labels: values, every move's score, or a review of those."""

    def _ask(self, teacher: _core.Teacher, packed: NDArray[np.uint8], labels: MoveLabels | None) -> Answer:
        teacher.new_game()
        teaching = self._teaching
        if teaching.review:
            assert labels is not None
            places, verdicts = teacher.best_moves(
                packed, depth=teaching.depth, nodes=teaching.nodes, movetime=teaching.movetime
            )
            return labels[1], reviewed(labels, places, verdicts)
        ask = teacher.all_moves if teaching.all_moves else teacher.values
        return ask(packed, depth=teaching.depth, nodes=teaching.nodes, movetime=teaching.movetime)
