"""A longer look corrects the scores of a shorter one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tabiya import _core
from tabiya.data.label import LabelJob
from tabiya.data.label_source import tasks_of
from tabiya.data.labels import MoveLabels, load_move_labels, offsets_of, write_move_labels
from tabiya.data.review import OVERRULED, reviewed
from tabiya.data.scale import MOVE_MATE
from tabiya.data.teaching import Teaching
from tabiya.errors import UserError


def labels_of(*scores: list[int]) -> MoveLabels:
    counts = np.array([len(each) for each in scores])
    flat = np.concatenate([np.array(each, np.int16) for each in scores])
    return np.zeros((len(scores), 32), np.uint8), offsets_of(counts), flat


def review(scores: list[int], place: int, verdict: int) -> list[int]:
    found = reviewed(labels_of(scores), np.array([place], np.int16), np.array([verdict], np.int16))
    return found.tolist()


def test_a_confirmed_move_keeps_its_lead_over_the_others():
    assert review([50, 20, -80], 0, 90) == [90, 60, -40]


def test_an_overruled_favourite_falls_behind_the_better_move():
    assert review([50, 20, -80], 1, 70) == [70 - OVERRULED, 70, 70 - OVERRULED - 130]


def test_a_mate_that_was_missed_does_not_lift_the_other_moves():
    assert review([300, 20, -80], 1, MOVE_MATE - 3) == [300, MOVE_MATE - 3, -80]


def test_where_the_best_move_is_mated_the_others_are_too():
    assert review([-300, -900], 0, -MOVE_MATE + 8) == [-MOVE_MATE + 8, -MOVE_MATE + 7]


def test_positions_without_a_verdict_stay_as_they_were():
    labels = labels_of([10, 5], [1, 2, 3], [7])
    found = reviewed(labels, np.array([-1, 0, 0], np.int16), np.array([0, 40, -7], np.int16))
    assert found.tolist() == [10, 5, 40, 40 - OVERRULED - 1, 40 - OVERRULED, -7]


HANGING = "rnb1kbnr/pppp1ppp/8/4p1q1/4P3/5N2/PPPP1PPP/RNBQKB1R w KQkq - 2 3"
"""The queen on g5 can be taken."""


def test_a_teacher_reviews_a_label_file(stockfish: str, tmp_path: Path):
    packed = _core.pack_fens([HANGING, "7k/5Q2/6K1/8/8/8/8/8 b - - 0 1"])
    moves = _core.Board(HANGING).legal_moves()
    counts = np.diff(_core.legal_indices(packed, "uci")[0])
    assert counts.tolist() == [len(moves), 0]
    blind = np.where(np.array(moves) == "d2d4", 20, 0).astype(np.int16)
    write_move_labels(tmp_path / "old.moves", (packed, offsets_of(counts), blind))
    teaching = Teaching(command=stockfish, nodes=2000, review=True)
    [task] = tasks_of(tmp_path / "old.moves", teaching.kind, tmp_path / "new")
    entries = LabelJob(task, teaching).run()
    assert entries["labelled"] == 2
    _, offsets, scores = load_move_labels(tmp_path / "new" / "old.moves")
    assert offsets.tolist() == [0, len(moves), len(moves)]
    assert moves[int(scores.argmax())] == "f3g5"
    assert scores.max() > 300


def test_positions_without_labels_cannot_be_reviewed(stockfish: str, tmp_path: Path):
    (tmp_path / "some.fen").write_text(HANGING + "\n")
    teaching = Teaching(command=stockfish, nodes=100, review=True)
    [task] = tasks_of(tmp_path / "some.fen", teaching.kind, tmp_path)
    with pytest.raises(UserError, match="a review needs move labels"):
        LabelJob(task, teaching)
