"""Phase b: hard positions, the teacher's word on every move of them, and the network as its own teacher.

curate → label → join → train → value → distil → export. `value` shows the
network every successor of many positions of the games; what it thinks of them
is written as move labels, from which `distil` teaches the policy what the
value already knows.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from tabiya.data.curate import swings
from tabiya.data.join import join
from tabiya.data.labels import write_move_labels
from tabiya.data.shards import ShardFolder
from tabiya.errors import UserError
from tabiya.minds.resnet.judge import Judge
from tabiya.minds.resnet.pipeline.config import PhaseB, Pipeline, TeacherSettings
from tabiya.minds.resnet.pipeline.doubt import THREADS, doubtful, likeliest_moves
from tabiya.minds.resnet.pipeline.phase_a import games_folder
from tabiya.minds.resnet.pipeline.positions import (
    Packed,
    first_of_each,
    not_known,
    playable,
    sampled_positions,
    shuffled,
    write_list,
)
from tabiya.minds.resnet.pipeline.runs import export_stage, train_stage, weights_of
from tabiya.minds.resnet.pipeline.sources import GAMES, LABELS, OWN
from tabiya.minds.resnet.pipeline.stages import Need, Stage, Work, plain
from tabiya.minds.resnet.pipeline.teacher import label_positions, teacher_settings
from tabiya.minds.resnet.valuing import value_moves

VALUE_CHUNK = 1 << 18
"""Positions whose own labels are one file: what a stop loses at most."""

LAST = "b/distil"
"""The stage whose weights phase c begins with."""


def stages_b(pipeline: Pipeline, before: list[Stage]) -> list[Stage]:
    """The chain after phase a's, which `before` is."""
    phase = pipeline.b
    if phase is None:
        raise UserError("the pipeline has no phase b: its file lacks the table [b]")

    def places(work: Work) -> dict[str, str]:
        return places_b(pipeline, work)

    asks = phase.curate.max_positions > 0
    stages = [_curate_stage(pipeline, phase)]
    if asks and pipeline.teacher is not None:
        stages.append(_label_stage(pipeline.teacher))
    stages.append(_join_stage(pipeline, phase, asks))
    stages.append(train_stage("b/train", "train", phase.train, places, goes_on_from="a/train"))
    stages.append(_value_stage(pipeline, phase))
    stages.append(train_stage(LAST, "distil", phase.distil, places, goes_on_from="b/train"))
    done = [*before, *stages]
    stages.append(export_stage("b/export", "distil", "b", phase.distil, pipeline.half, before=done))
    return stages


def places_b(pipeline: Pipeline, work: Work) -> dict[str, str]:
    """What the @names stand for after phase b."""
    own = sorted((work.folder / "b" / "own").glob("*.moves"))
    return {
        GAMES: str(games_folder(pipeline, work.folder)),
        LABELS: str(work.folder / "b" / "labels.moves"),
        OWN: ":".join(map(str, own)),
    }


def _curate_stage(pipeline: Pipeline, phase: PhaseB) -> Stage:
    settings = phase.curate
    by_network = settings.by == "network" and settings.max_positions > 0

    def do(work: Work) -> dict[str, Any]:
        folder = ShardFolder.open(games_folder(pipeline, work.folder))
        looked_at, packed = 0, np.zeros((0, 32), np.uint8)
        if by_network:
            looked_at, packed = _doubtful(folder, pipeline, phase, work)
        elif settings.max_positions:
            packed, counts = swings(folder, settings.loss)
            looked_at = counts["looked_at"]
        hard = len(packed)
        packed = packed[first_of_each(packed)]
        packed = packed[playable(packed) & not_known(packed, list(map(Path, phase.labels)))]
        packed = shuffled(packed, settings.seed, settings.max_positions)
        write_list(work.folder / "b" / "hard.fen", packed)
        return {"looked_at": looked_at, "hard": hard, "asked": len(packed)}

    needs: tuple[Need, ...] = ("device",) if by_network and pipeline.a.train.device == "cuda" else ()
    told = {**plain(settings), "labels": list(phase.labels)}
    return Stage(name="b/curate", part="curate", settings=told, do=do, needs=needs)


def _doubtful(folder: ShardFolder, pipeline: Pipeline, phase: PhaseB, work: Work) -> tuple[int, Packed]:
    """Positions of the games where phase a's policy loses by its own value of the successors."""
    packed = sampled_positions(folder, phase.curate.look_at, phase.curate.seed)
    packed = packed[playable(packed)]
    judge = Judge.load(weights_of(work.folder, "a/train"), pipeline.a.train.device)
    return len(packed), packed[doubtful(judge, packed, likeliest_moves(judge, packed), phase.curate.loss)]


def _label_stage(teacher: TeacherSettings) -> Stage:
    def do(work: Work) -> dict[str, Any]:
        folder = work.folder / "b"
        return label_positions(work, folder / "hard.fen", folder / "hard.moves", teacher)

    return Stage(name="b/label", part="label", settings=teacher_settings(teacher), do=do, needs=("teacher",))


def _join_stage(pipeline: Pipeline, phase: PhaseB, asks: bool) -> Stage:
    def do(work: Work) -> dict[str, Any]:
        files = [work.folder / "b" / "hard.moves"] if asks else []
        files += map(Path, phase.labels)
        puzzles = None if pipeline.puzzles is None else Path(pipeline.puzzles)
        labels, counts = join(files, puzzles, (games_folder(pipeline, work.folder),))
        if not len(labels[0]):
            raise UserError(
                "no labelled position is left to learn from: raise curate.max_positions, lower curate.loss, "
                "or name files of labels"
            )
        write_move_labels(work.folder / "b" / "labels.moves", labels)
        return dict(counts)

    told = {"labels": list(phase.labels), "puzzles": pipeline.puzzles}
    return Stage(name="b/join", part="label", settings=told, do=do)


def _value_stage(pipeline: Pipeline, phase: PhaseB) -> Stage:
    settings, device = phase.value, phase.train.device

    def do(work: Work) -> dict[str, Any]:
        folder = ShardFolder.open(games_folder(pipeline, work.folder))
        packed = sampled_positions(folder, settings.positions, settings.seed)
        packed = packed[playable(packed)]
        judge = None
        with work.show("valuing successors", len(packed), 0, "positions") as meter:
            for number, first in enumerate(range(0, len(packed), VALUE_CHUNK)):
                path = work.folder / "b" / "own" / f"{number:04}.moves"
                part = packed[first : first + VALUE_CHUNK]
                if not path.exists():
                    work.clock.check()
                    judge = judge or Judge.load(weights_of(work.folder, "b/train"), device)
                    write_move_labels(path, value_moves(judge, part, THREADS, least=settings.least))
                meter.advance(len(part))
        return {"positions": len(packed), "files": -(-len(packed) // VALUE_CHUNK)}

    needs: tuple[Need, ...] = ("device",) if device == "cuda" else ()
    return Stage(name="b/value", part="value", settings=plain(settings), do=do, needs=needs)
