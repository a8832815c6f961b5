"""A chain of stages in a work folder: done once, resumed where they stopped, each with its record.

A stage leaves `NAME.json` beside its files: the settings it was begun with,
what it did, the seconds it took. The record is written before the work, so
that other settings are refused, and again after it, so that a finished stage
is never repeated. What a stage does must be safe to begin again at any point;
this file knows nothing else of it.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias

from tabiya.errors import UserError
from tabiya.files import refuse_other_settings, replacing
from tabiya.learn.config import config_to_dict

FORMAT = "tabiya-stage"
VERSION = 1

Need: TypeAlias = Literal["device", "teacher"]


class Paused(Exception):  # noqa: N818 - nothing went wrong
    """The minutes are over; what was done is kept."""


class Meter(Protocol):
    """Is told how far a stage has come."""

    def advance(self, amount: float = 1) -> None: ...


class Show(Protocol):
    """Opens a progress bar."""

    def __call__(
        self, description: str, total: float | None, done: float = 0, unit: str = ""
    ) -> AbstractContextManager[Meter]: ...


class _Unseen:
    def advance(self, amount: float = 1) -> None:
        pass


def unseen(
    description: str, total: float | None, done: float = 0, unit: str = ""
) -> AbstractContextManager[Meter]:
    """No progress bar at all."""
    return nullcontext(_Unseen())


class Clock:
    """The minutes that a command may take, if it was given any."""

    def __init__(self, minutes: float | None = None) -> None:
        self._end = None if minutes is None else time.monotonic() + 60 * minutes

    def minutes_left(self) -> float | None:
        """Never less than zero; None for as long as it takes."""
        return None if self._end is None else max(0.0, (self._end - time.monotonic()) / 60)

    def check(self) -> None:
        """`Paused` if the time is over."""
        if self._end is not None and time.monotonic() >= self._end:
            raise Paused


@dataclass(frozen=True)
class Work:
    """The folder where a pipeline is made, and the command that is at it."""

    folder: Path
    clock: Clock = field(default_factory=Clock)
    show: Show = unseen


@dataclass(frozen=True, kw_only=True)
class Stage:
    """One step of a chain."""

    name: str
    """Its record's place in the work folder, without the ending: "a/extract", "c/2/label"."""
    part: str
    """What --only calls it and its neighbours."""
    settings: Mapping[str, Any]
    """Whatever decides its result, as JSON holds it."""
    do: Callable[[Work], dict[str, Any]]
    """Makes the stage's files and says what was done, in figures that, but for times, are always the same."""
    needs: tuple[Need, ...] = ()
    iteration: int | None = None

    @property
    def title(self) -> str:
        return self.name.replace("/", " ")


@dataclass
class Record:
    """What a stage was told and what it did."""

    stage: str
    settings: dict[str, Any]
    did: dict[str, Any] = field(default_factory=dict)
    seconds: float = 0.0
    complete: bool = False

    def entries(self) -> dict[str, Any]:
        return {**vars(self), "seconds": round(self.seconds, 1)}

    def save(self, folder: Path) -> None:
        entries = {"format": FORMAT, "version": VERSION, **self.entries()}
        with replacing(record_path(folder, self.stage)) as part:
            part.write_text(json.dumps(entries, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, folder: Path, stage: str) -> Record | None:
        """The record of a stage that was begun."""
        path = record_path(folder, stage)
        try:
            entries = json.loads(path.read_text(encoding="utf-8"))
            if (entries.pop("format"), entries.pop("version")) != (FORMAT, VERSION):
                raise UserError(f"{path} is the record of another version of this program")
            return cls(**entries)
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise UserError(f"{path} is damaged ({error}): delete it to do the stage again") from None


def record_path(folder: Path, stage: str) -> Path:
    return folder / f"{stage}.json"


def plain(config: Any) -> dict[str, Any]:
    """A config as flat settings: the table [shape] becomes shape.blocks, shape.channels and so on."""
    return _flat(config_to_dict(config))


def _flat(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, Mapping):
            flat |= _flat(value, f"{prefix}{name}.")
        else:
            flat[prefix + name] = value
    return flat


def recorded(stage: Stage, folder: Path) -> Record | None:
    """The stage's record, if it was begun with these settings; `UserError` if with others."""
    record = Record.load(folder, stage.name)
    if record is not None:
        refuse_other_settings(folder / stage.name, record.settings, _as_json(stage.settings))
    return record


def _as_json(settings: Mapping[str, Any]) -> dict[str, Any]:
    stored: dict[str, Any] = json.loads(json.dumps(settings))
    return stored


def is_finished(stage: Stage, folder: Path) -> bool:
    record = recorded(stage, folder)
    return record is not None and record.complete


def require_finished(stages: Sequence[Stage], folder: Path, command: Callable[[Stage], str]) -> None:
    """`UserError` with the command to give first if a stage that others build on is not finished."""
    for stage in stages:
        if not is_finished(stage, folder):
            raise UserError(f"stage {stage.title} is not finished in {folder}: run `{command(stage)}` first")


def run_stages(stages: Sequence[Stage], work: Work, tell: Callable[[Record, bool], None]) -> bool:
    """Do what is not done yet, in order; False if the time was over first.

    `tell` hears of each finished stage, and whether it was finished just now.
    """
    for stage in stages:
        record = recorded(stage, work.folder) or Record(stage.name, _as_json(stage.settings))
        if record.complete:
            tell(record, False)
            continue
        record.save(work.folder)
        started, before = time.monotonic(), record.seconds
        try:
            work.clock.check()
            record.did, record.complete = _as_json(stage.do(work)), True
        except Paused:
            return False
        finally:
            record.seconds = before + time.monotonic() - started
            record.save(work.folder)
        tell(record, True)
    return True
