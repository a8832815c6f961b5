"""The second stage: what the networks know without playing, and their games."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any

from tabiya.arena.agree import load_labels, measure_agreement
from tabiya.arena.evaluation import Advance, Examiner
from tabiya.arena.game import Pace
from tabiya.arena.puzzles import load_puzzles, measure_puzzles
from tabiya.learn.lab.exams import Ask, drawn_settings, sit_exam
from tabiya.learn.lab.folder import LabFolder
from tabiya.learn.lab.games import LabGames, Meter, Progress, opener, silent
from tabiya.minds.resnet.lab.plan import Lab, Measures
from tabiya.minds.resnet.lab.variants import names_of
from tabiya.minds.resnet.player import open_player as open_resnet
from tabiya.player import Limit, OpenPlayer, PlayerName


def play(lab: Lab, folder: LabFolder, others: OpenPlayer, progress: Progress = silent) -> int:
    """Ask and play whatever is missing; how many games there are then."""
    measures, names = lab.measures, names_of(lab)

    def opener_of(mode: str) -> OpenPlayer:
        # Not every network of an experiment was taught Q, so successors are valued without it.
        options = {"mode": mode, "value": "bins", "threads": str(measures.threads)}
        own = {name: PlayerName("resnet", str(folder.network(name)), options=options) for name in names}
        return opener(own, open_resnet, others)

    for kind in kinds(lab):
        mode = measures.mode if kind == "agree" else kind.removeprefix("puzzles-")
        settings = drawn_settings(*_drawn_from(measures, kind), measures.seed) | {"mode": mode}
        questions = partial(_questions, measures, kind, opener_of(mode))
        sit_exam(folder, kind, names, settings, questions, progress)
    _play_games(measures, folder, names, opener_of(measures.mode), progress)
    return measures.expected_games(len(names))


def kinds(lab: Lab) -> list[str]:
    """The exams that a lab asks for: `puzzles-MODE`, `agree`."""
    measures = lab.measures
    found = [f"puzzles-{mode}" for mode in measures.puzzle_modes] if measures.puzzles else []
    return [*found, "agree"] if measures.labels else found


def _drawn_from(measures: Measures, kind: str) -> tuple[list[Path], int]:
    """An exam's files, and how many positions are drawn from them."""
    if kind == "agree":
        assert measures.labels is not None
        return [Path(path) for path in measures.labels.split(":")], measures.label_count
    assert measures.puzzles is not None
    return [Path(measures.puzzles)], measures.puzzle_count


def _questions(measures: Measures, kind: str, open_player: OpenPlayer) -> tuple[int, Ask]:
    files, count = _drawn_from(measures, kind)
    measure: Callable[[Examiner, Advance], dict[str, Any]]
    if kind == "agree":
        labels = load_labels(files, count, measures.seed, unseen=True)
        positions, measure = len(labels), partial(measure_agreement, labels)
    else:
        puzzles = load_puzzles(files[0], count, measures.seed)
        positions, measure = puzzles.positions, partial(measure_puzzles, puzzles)

    def ask(name: str, meter: Meter) -> dict[str, Any]:
        with Examiner(name, open_player, Limit(nodes=1)) as examiner:
            return measure(examiner, meter.advance)

    return positions, ask


def _play_games(
    measures: Measures, folder: LabFolder, names: list[str], open_player: OpenPlayer, progress: Progress
) -> None:
    sums = folder.begin_games(names, mode=measures.mode)
    games = LabGames(
        folder=folder, open_player=open_player, measures=measures, concurrency=measures.concurrency
    )
    with progress("games between networks", measures.games_between(len(names))) as meter:
        for one, other in combinations(names, 2):
            games.together(one, other, measures.games, {one: sums[one], other: sums[other]}, meter)
    movetime = None if measures.movetime is None else measures.movetime / 1000
    games.with_anchors(names, Pace(movetime=movetime, depth=measures.depth), progress)
