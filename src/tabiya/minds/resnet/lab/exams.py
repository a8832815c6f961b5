"""What the networks know without playing: puzzles solved, and agreement with held-out labels."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from tabiya.arena.agree import load_labels, measure_agreement
from tabiya.arena.evaluation import Advance, Examiner
from tabiya.arena.puzzles import load_puzzles, measure_puzzles
from tabiya.files import checksum
from tabiya.learn.lab.exams import answer, answers, unanswered
from tabiya.learn.lab.folder import LabFolder
from tabiya.learn.lab.games import Progress, silent
from tabiya.minds.resnet.lab.games import opener
from tabiya.minds.resnet.lab.plan import Lab
from tabiya.minds.resnet.lab.variants import comparison
from tabiya.player import Limit, OpenPlayer

Ask = Callable[[Examiner, Advance], dict[str, Any]]


def kinds(lab: Lab) -> list[str]:
    """The exams that a lab asks for: `puzzles-MODE`, `agree`."""
    measures = lab.measures
    found = [f"puzzles-{mode}" for mode in measures.puzzle_modes] if measures.puzzles else []
    return [*found, "agree"] if measures.labels else found


def sit_exams(lab: Lab, folder: LabFolder, others: OpenPlayer, progress: Progress = silent) -> None:
    """Put every question that was not answered yet to every network."""
    names = [variant.name for variant in comparison(lab).variants]
    for kind in kinds(lab):
        mode = kind.removeprefix("puzzles-") if kind.startswith("puzzles-") else lab.measures.mode
        settings = _settings(lab, kind) | {"mode": mode}
        missing = unanswered(folder, kind, names, settings)
        if not missing:
            continue
        positions, ask = _questions(lab, kind)
        open_player = opener(lab, folder, mode, others)
        for name in missing:
            with (
                progress(f"{kind}: {name}", positions) as meter,
                Examiner(name, open_player, Limit(nodes=1)) as examiner,
            ):
                put = partial(ask, examiner, meter.advance)
                answer(folder, name, kind, settings, put)


def figures(lab: Lab, folder: LabFolder, name: str) -> dict[str, dict[str, Any]]:
    """What a network answered, by the exam's kind; only what is there."""
    return answers(folder, name, kinds(lab))


def _settings(lab: Lab, kind: str) -> dict[str, Any]:
    measures = lab.measures
    if kind == "agree":
        assert measures.labels is not None
        files, count = [Path(path) for path in measures.labels.split(":")], measures.label_count
    else:
        assert measures.puzzles is not None
        files, count = [Path(measures.puzzles)], measures.puzzle_count
    return {"sha256": [checksum(file) for file in files], "count": count, "seed": measures.seed}


def _questions(lab: Lab, kind: str) -> tuple[int, Ask]:
    """How many positions an exam has, and how it is put to a network."""
    measures = lab.measures
    if kind == "agree":
        assert measures.labels is not None
        paths = [Path(path) for path in measures.labels.split(":")]
        labels = load_labels(paths, measures.label_count, measures.seed, unseen=True)
        return len(labels), lambda examiner, advance: measure_agreement(labels, examiner, advance)
    assert measures.puzzles is not None
    puzzles = load_puzzles(Path(measures.puzzles), measures.puzzle_count, measures.seed)
    return puzzles.positions, lambda examiner, advance: measure_puzzles(puzzles, examiner, advance)
