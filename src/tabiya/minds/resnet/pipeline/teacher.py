"""The teacher's part: finding the engine, and labelling a list of positions within its time.

The labels are made by `tabiya.data.label`, chunk by chunk, so a stop at any
point loses at most a chunk. A budget of teacher's time is kept by asking for
more positions as long as the time lasts: the first of the list are labelled,
whoever counted.
"""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

from tabiya.data.fens import read_positions
from tabiya.data.label import LabelJob
from tabiya.data.label_source import Task
from tabiya.data.teaching import Teaching
from tabiya.errors import UserError
from tabiya.minds.resnet.pipeline.config import TeacherSettings
from tabiya.minds.resnet.pipeline.stages import Work, plain
from tabiya.protocols.engine_path import engine_command


def teaching_of(settings: TeacherSettings) -> Teaching:
    """The engine with its full path, also where Debian keeps it off the PATH; `UserError` if absent."""
    command = settings.command
    try:
        words = engine_command(command)
    except ValueError as error:
        raise UserError(f"the teacher's command {command!r} cannot be read: {error}") from None
    if words is None:
        raise UserError(f"no engine {command!r} found: install it, or name another as [teacher] command")
    options = {} if settings.hash is None else {"Hash": str(settings.hash)}
    for option in settings.options:
        name, _, value = option.partition("=")
        options[name.strip()] = value.strip()
    return Teaching(
        command=words[0],
        arguments=tuple(words[1:]),
        options=options,
        depth=settings.depth,
        nodes=settings.nodes,
        movetime=None if settings.movetime is None else settings.movetime / 1000,
        all_moves=True,
        workers=settings.workers,
    )


def teacher_settings(settings: TeacherSettings | None) -> dict[str, Any]:
    """What of the teacher decides the labels."""
    if settings is None:
        return {}
    return {f"teacher.{name}": value for name, value in plain(settings).items() if name != "workers"}


def label_positions(
    work: Work, positions: Path, target: Path, teacher: TeacherSettings, minutes: float | None = None
) -> dict[str, Any]:
    """Label every legal move of the first positions of a list: all, or as many as `minutes` allow.

    The minutes are those of one engine: two at work spend two in one.
    """
    teaching = teaching_of(teacher)
    task = Task(target.stem, target, partial(read_positions, positions))
    total = len(read_positions(positions))
    wanted = total if minutes is None else min(total, _begun(target, teaching))
    while True:
        job = LabelJob(task, teaching, wanted)
        with work.show(f"labelling {target.stem}", job.wanted, job.done, "positions") as meter:

            def advance(amount: int, meter: Any = meter) -> None:
                meter.advance(amount)
                work.clock.check()

            entries = job.run(advance)
        wanted = job.wanted
        if minutes is None or wanted >= total:
            break
        spent = entries["seconds"] * teaching.workers
        affordable = _affordable(60 * minutes - spent, spent, wanted, teaching.chunk)
        if not affordable:
            break
        wanted = min(total, wanted + affordable)
    return {
        "asked": total,
        "labelled": wanted,
        "teacher": entries["teacher"],
        "limit": entries["limit"],
        "teacher_seconds": round(entries["seconds"] * teaching.workers, 1),
    }


def _begun(target: Path, teaching: Teaching) -> int:
    """Where an earlier attempt came to, or one chunk for each engine; always whole chunks."""
    ledger = target.with_name(target.name + ".json")
    try:
        labelled = int(json.loads(ledger.read_text())["labelled"])
    except (OSError, ValueError, KeyError, TypeError):
        labelled = 0  # whatever is wrong with it, the labeller itself will say
    chunk = teaching.chunk
    return max(chunk * teaching.workers, labelled // chunk * chunk)


def _affordable(left: float, spent: float, labelled: int, chunk: int) -> int:
    """How many more positions, in whole chunks, the seconds left will pay: never more than double.

    The first chunks say little about the price of the rest, so it is asked again and again.
    """
    if left <= 0:
        return 0
    price = max(spent, 0.05) / labelled
    return int(min(left / price, labelled)) // chunk * chunk
