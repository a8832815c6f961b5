"""The phases as chains of stages: which of them a command runs, and what must be there before.

A chain is picked from, never rearranged: whatever stands before the first
stage that is to run must be finished, in this phase and in those before it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal, TypeAlias

import torch

from tabiya.errors import UserError
from tabiya.minds.resnet.pipeline.config import Pipeline
from tabiya.minds.resnet.pipeline.phase_a import stages_a
from tabiya.minds.resnet.pipeline.phase_b import stages_b
from tabiya.minds.resnet.pipeline.phase_c import stages_c
from tabiya.minds.resnet.pipeline.stages import (
    Record,
    Stage,
    Work,
    is_finished,
    require_finished,
    run_stages,
)
from tabiya.minds.resnet.pipeline.teacher import teaching_of

Phase: TypeAlias = Literal["a", "b", "c"]


def chain(pipeline: Pipeline, phase: Phase) -> tuple[list[Stage], list[Stage]]:
    """The stages that a phase builds on, and its own."""
    first = stages_a(pipeline)
    if phase == "a":
        return [], first
    second = stages_b(pipeline, first)
    if phase == "b":
        return first, second
    return [*first, *second], stages_c(pipeline, [*first, *second])


def run_phase(
    pipeline: Pipeline,
    phase: Phase,
    work: Work,
    *,
    config: str,
    only: str | None = None,
    iteration: int | None = None,
    tell: Callable[[Record, bool], None] = lambda _record, _now: None,
) -> dict[str, Any]:
    """Do what is not done yet of a phase, or of the part that is asked for, and say what there is.

    `config` is the file's name, for the commands that errors propose.
    """
    before, stages = chain(pipeline, phase)
    chosen = _chosen(stages, phase, only, iteration, work.folder)
    earlier = [*before, *stages[: stages.index(chosen[0])]]

    def command(stage: Stage) -> str:
        words = f"tabiya pipeline {stage.name[0]} {config}"
        if stage.name[0] == phase and only is not None:
            words += f" --only {stage.part}"
            words += "" if stage.iteration is None else f" --iteration {stage.iteration}"
        return words

    require_finished(earlier, work.folder, command)
    # A wrong setting anywhere in the chain is said before hours of work, and so is what is missing.
    todo = [stage for stage in chosen if not is_finished(stage, work.folder)]
    _require(pipeline, todo)
    records: list[Record] = []

    def note(record: Record, now: bool) -> None:
        records.append(record)
        tell(record, now)

    complete = run_stages(chosen, work, note)
    networks = [record.did["network"] for record in records if "network" in record.did]
    return {
        "phase": phase,
        "work": str(work.folder),
        "complete": complete,
        "network": str(work.folder / networks[-1]) if networks else None,
        "stages": [record.entries() for record in records],
    }


def _chosen(
    stages: Sequence[Stage], phase: str, only: str | None, iteration: int | None, folder: Path
) -> list[Stage]:
    """The stages that a command means."""
    if iteration is not None:
        last = stages[-1].iteration
        if last is None:
            raise UserError(f"phase {phase} has no iterations, only c has")
        if not 1 <= iteration <= last:
            raise UserError(f"iteration must be 1 to {last}, as the config says, got {iteration}")
        stages = [stage for stage in stages if stage.iteration == iteration]
    if only is None:
        return list(stages)
    parts = list(dict.fromkeys(stage.part for stage in stages))
    if only not in parts:
        raise UserError(f"phase {phase} has no part {only!r}, it has {', '.join(parts)}")
    stages = [stage for stage in stages if stage.part == only]
    # Without a number, the iteration that this part has come to.
    todo = [stage for stage in stages if not is_finished(stage, folder)]
    now = (todo or stages[-1:])[0].iteration
    return [stage for stage in stages if stage.iteration == now]


def _require(pipeline: Pipeline, stages: Sequence[Stage]) -> None:
    """`UserError` if the stages need what is not here."""
    needs = {need for stage in stages for need in stage.needs}
    if "device" in needs and not torch.cuda.is_available():
        raise UserError('no CUDA device here: set device = "cpu" in [train], or go on where there is a GPU')
    if "teacher" in needs and pipeline.teacher is not None:
        teaching_of(pipeline.teacher)
