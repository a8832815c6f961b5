"""Phase c: the network plays itself, the teacher corrects what it did worst, and all is learned again.

Each iteration is a chain of its own, selfplay → choose → label → join → train
→ export, in the folder c/NUMBER. Labels are never thrown away: every
iteration learns from all that was ever labelled, its own mistakes among it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from tabiya.data.join import join
from tabiya.data.labels import held_out, load_move_labels, write_move_labels
from tabiya.data.shards import ShardFolder
from tabiya.errors import UserError
from tabiya.files import replacing
from tabiya.minds.resnet.judge import Judge
from tabiya.minds.resnet.pipeline import phase_b
from tabiya.minds.resnet.pipeline.config import PhaseC, Pipeline, TeacherSettings
from tabiya.minds.resnet.pipeline.doubt import THREADS, doubtful
from tabiya.minds.resnet.pipeline.phase_a import games_folder
from tabiya.minds.resnet.pipeline.positions import (
    book_openings,
    first_of_each,
    game_openings,
    not_known,
    playable,
    shuffled,
    write_list,
)
from tabiya.minds.resnet.pipeline.runs import export_stage, train_stage, weights_of
from tabiya.minds.resnet.pipeline.sources import LABELS, MISTAKES
from tabiya.minds.resnet.pipeline.stages import Need, Stage, Work, plain
from tabiya.minds.resnet.pipeline.teacher import label_positions, teacher_settings
from tabiya.minds.resnet.selfplay import self_play

PARTS = ("selfplay", "label", "train")


def stages_c(pipeline: Pipeline, before: list[Stage]) -> list[Stage]:
    """The chains of all iterations, one after the other; `before` is phase a's and b's."""
    if pipeline.c is None or pipeline.teacher is None:
        raise UserError("the pipeline has no phase c: its file lacks the table [c]")
    stages: list[Stage] = []
    for number in range(1, pipeline.c.iterations + 1):
        iteration = _Iteration(pipeline, pipeline.c, pipeline.teacher, number)
        stages += iteration.stages([*before, *stages])
    return stages


class _Iteration:
    """One round of playing, asking and learning."""

    def __init__(self, pipeline: Pipeline, phase: PhaseC, teacher: TeacherSettings, number: int) -> None:
        self._pipeline, self._phase, self._teacher, self._number = pipeline, phase, teacher, number
        self._name = f"c/{number}"
        self._last = phase_b.LAST if number == 1 else f"c/{number - 1}/train"
        self._needs: tuple[Need, ...] = ("device",) if phase.train.device == "cuda" else ()

    def stages(self, before: Sequence[Stage]) -> list[Stage]:
        phase, teacher = self._phase, self._teacher
        choice = {"label": phase.label, "margin": phase.selfplay.margin, "max_positions": phase.max_positions}
        budget = {"teacher_minutes": phase.teacher_minutes}
        stages = [
            self._stage(
                "selfplay",
                "selfplay",
                {**plain(phase.selfplay), **{f"openings.{k}": v for k, v in plain(phase.openings).items()}},
                self._self_play,
                self._needs,
            ),
            self._stage(
                "choose",
                "selfplay",
                choice,
                self._choose,
                self._needs if phase.label == "mistakes" else (),
            ),
            self._stage("label", "label", teacher_settings(teacher) | budget, self._label, ("teacher",)),
            self._stage("join", "label", {"puzzles": self._pipeline.puzzles}, self._join),
            train_stage(
                f"{self._name}/train",
                "train",
                phase.train,
                self._places,
                goes_on_from=self._last,
                iteration=self._number,
            ),
        ]
        stages.append(
            export_stage(
                f"{self._name}/export",
                "train",
                f"c{self._number:02}",
                phase.train,
                self._pipeline.half,
                before=[*before, *stages],
                iteration=self._number,
            )
        )
        return stages

    def _stage(
        self, kind: str, part: str, settings: dict[str, Any], do: Any, needs: tuple[Need, ...] = ()
    ) -> Stage:
        name = f"{self._name}/{kind}"
        return Stage(name=name, part=part, settings=settings, do=do, needs=needs, iteration=self._number)

    def _folder(self, work: Work, number: int | None = None) -> Path:
        return work.folder / "c" / str(number or self._number)

    def _labels_before(self, work: Work) -> Path:
        """All that was labelled before this iteration."""
        if self._number == 1:
            return Path(phase_b.places_b(self._pipeline, work)[LABELS])
        return self._folder(work, self._number - 1) / "labels.moves"

    def _judge(self, work: Work) -> Judge:
        return Judge.load(weights_of(work.folder, self._last), self._phase.train.device)

    def _self_play(self, work: Work) -> dict[str, Any]:
        openings = self._phase.openings
        seed = openings.seed + self._number
        if openings.book is not None:
            fens = book_openings(openings.book, openings.count, seed)
        else:
            games = ShardFolder.open(games_folder(self._pipeline, work.folder))
            fens = game_openings(games, openings.count, seed, (openings.from_ply, openings.to_ply))
        settings = self._phase.selfplay
        settings = replace(settings, seed=settings.seed + self._number)
        with work.show("self-play", None):
            played = self_play(self._judge(work), fens, settings, THREADS)
        path = self._folder(work) / "played.npz"
        with replacing(path) as part, part.open("wb") as file:
            np.savez(file, packed=played.packed, likeliest=played.likeliest)
        results = Counter(result for result, _ in played.results)
        endings = Counter(reason for _, reason in played.results)
        return {
            "openings": len(fens),
            "games": len(played.results),
            "positions": len(played.packed),
            "results": dict(sorted(results.items())),
            "endings": dict(sorted(endings.items())),
        }

    def _choose(self, work: Work) -> dict[str, Any]:
        phase = self._phase
        with np.load(self._folder(work) / "played.npz", allow_pickle=False) as stored:
            packed, likeliest = stored["packed"], stored["likeliest"]
        first = first_of_each(packed)
        packed, likeliest = packed[first], likeliest[first]
        keep = playable(packed) & not_known(packed, [self._labels_before(work)])
        packed, likeliest = packed[keep], likeliest[keep]
        did = {"different": len(first), "not_known": len(packed)}
        if phase.label == "mistakes":
            packed = packed[doubtful(self._judge(work), packed, likeliest, phase.selfplay.margin)]
            did["mistakes"] = len(packed)
        packed = shuffled(packed, phase.selfplay.seed + self._number, phase.max_positions)
        write_list(self._folder(work) / "asked.fen", packed)
        return did | {"asked": len(packed)}

    def _label(self, work: Work) -> dict[str, Any]:
        folder = self._folder(work)
        return label_positions(
            work, folder / "asked.fen", folder / "asked.moves", self._teacher, self._phase.teacher_minutes
        )

    def _join(self, work: Work) -> dict[str, Any]:
        folder = self._folder(work)
        games = (games_folder(self._pipeline, work.folder),)
        puzzles = None if self._pipeline.puzzles is None else Path(self._pipeline.puzzles)
        gained, _ = join([folder / "asked.moves"], puzzles, games)
        write_move_labels(folder / "gained.moves", gained)
        labels, counts = join([folder / "gained.moves", self._labels_before(work)])
        write_move_labels(folder / "labels.moves", labels)
        return {**counts, "gained": len(gained[0])}

    def _places(self, work: Work) -> dict[str, str]:
        gained = [self._folder(work, number) / "gained.moves" for number in range(1, self._number + 1)]
        return phase_b.places_b(self._pipeline, work) | {
            LABELS: str(self._folder(work) / "labels.moves"),
            MISTAKES: ":".join(map(str, gained)) if _teach_something(gained) else "",
        }


def _teach_something(files: list[Path]) -> bool:
    """Whether there is a position in the files that is not held out."""
    return any(not held_out(load_move_labels(path)[0]).all() for path in files)
