"""Agreement with a teacher: figures by hand, ties, and players that say little."""

from __future__ import annotations

import math
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tabiya import _core
from tabiya._core import Board
from tabiya.arena.agree import kendall_tau_b, load_labels, measure_agreement
from tabiya.arena.evaluation import Examiner
from tabiya.data.labels import held_out, write_move_labels
from tabiya.data.scale import win_probability
from tabiya.errors import UserError
from tabiya.player import Decision, Limit, Player, PlayerFailure, ScoredMove

# Four legal moves, in the labels' order: a1b1, a1b2, a2a3, a2a4.
PAWN = "7k/8/8/8/8/8/P7/K7 w - - 0 1"
# Three legal moves: a8a7, a8b7, a8b8.
LONE_KING = "k7/8/8/8/8/8/P6P/K7 b - - 0 1"


class Ranks(Player):
    """Chooses the first of its candidates; candidates by side to move."""

    def __init__(self, white: list[ScoredMove], black: list[ScoredMove]) -> None:
        self.white, self.black = white, black

    def play(self, board: Board, limit: Limit) -> Decision:
        moves = self.white if board.white_to_move else self.black
        if not moves:
            raise PlayerFailure("ranks crashed")
        return Decision(move=moves[0].move, moves=tuple(moves) if len(moves) > 1 else ())


def by_p(**chances: float) -> list[ScoredMove]:
    return [ScoredMove(move, p=p) for move, p in chances.items()]


def measure(tmp_path: Path, white: list[ScoredMove], black: list[ScoredMove]) -> dict[str, Any]:
    path = tmp_path / "labels.tsv"
    path.write_text(f"{PAWN}\t0 50 50 10\n{LONE_KING}\t-100 -29990 -400\n")
    with Examiner("ranks", lambda _: Ranks(white, black), Limit(nodes=1)) as examiner:
        return measure_agreement(load_labels([path]), examiner)


def test_figures_by_hand(tmp_path: Path) -> None:
    figures = measure(
        tmp_path,
        by_p(a2a3=0.4, a1b1=0.3, a1b2=0.2, a2a4=0.1),  # its first is one of the teacher's two best
        by_p(a8b7=0.5, a8b8=0.3, a8a7=0.2),  # the teacher's order upside down
    )
    assert figures["positions"] == 2
    assert (figures["top1"], figures["top3"], figures["top5"]) == (0.5, 1.0, 1.0)
    # White: 3 pairs in order, 2 against, 1 tied by the teacher; Black: mate, -400, -100 against 1, 2, 3.
    assert figures["kendall_tau"] == pytest.approx((1 / math.sqrt(6 * 5) - 1) / 2)
    assert figures["kendall_positions"] == 2
    # Nothing lost by White; Black walked into mate, which is worth 0.
    assert figures["score_loss"] == pytest.approx(win_probability(-100) / 2)
    assert figures["blunders"] == 0.5


def test_scores_rank_where_there_are_no_probabilities(tmp_path: Path) -> None:
    moves = [
        ScoredMove(move, score=score)
        for move, score in (("a1b2", 9.0), ("a2a3", 9.0), ("a2a4", 1.0), ("a1b1", 0.0))
    ]
    figures = measure(tmp_path, moves, [ScoredMove(move) for move in ("a8a7", "a8b8", "a8b7")])
    assert figures["kendall_tau"] == pytest.approx(1.0)


def test_a_player_with_one_move_has_only_a_top1(tmp_path: Path) -> None:
    figures = measure(tmp_path, by_p(a2a3=1.0), by_p(a8a7=1.0))
    assert figures["top1"] == 1.0
    assert figures["top3"] is figures["top5"] is figures["kendall_tau"] is None


def test_three_of_four_moves_make_a_top3_but_no_top5_and_no_tau(tmp_path: Path) -> None:
    figures = measure(tmp_path, by_p(a1b1=0.5, a2a4=0.3, a2a3=0.2), by_p(a8b7=0.5, a8b8=0.3, a8a7=0.2))
    assert (figures["top1"], figures["top3"]) == (0.0, 1.0)
    assert figures["top5"] is figures["kendall_tau"] is None


def test_a_crash_agrees_with_nobody_and_costs_what_can_be_lost(tmp_path: Path) -> None:
    figures = measure(tmp_path, by_p(a2a3=1.0), [])
    assert (figures["top1"], figures["failures"]) == (0.5, 1)
    assert figures["score_loss"] == pytest.approx(win_probability(-100) / 2)


def test_labels_are_sampled_by_the_seed(tmp_path: Path) -> None:
    path = tmp_path / "labels.tsv"
    path.write_text("".join(f"7k/8/8/8/8/8/P7/K7 w - - 0 {n}\t0 50 50 {n}\n" for n in range(1, 200)))
    chosen = [[label.scores["a2a4"] for label in load_labels([path], 10, seed)] for seed in (1, 1, 2)]
    assert chosen[0] == chosen[1] != chosen[2]
    assert len(chosen[0]) == 10


def test_labels_that_do_not_fit_the_position_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "labels.tsv"
    path.write_text(f"{PAWN}\t0 50 50\n")
    with pytest.raises(UserError, match="labels"):
        load_labels([path])


def test_an_empty_label_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "labels.tsv"
    path.write_text("")
    with pytest.raises(UserError, match=r"no labelled position in .*labels\.tsv"):
        load_labels([path])


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(-3, 3), st.integers(-3, 3)), max_size=12))
def test_tau_b_is_what_counting_pairs_gives(points: list[tuple[int, int]]) -> None:
    def order(a: int, b: int) -> int:
        return (a > b) - (a < b)

    pairs = [(order(a[0], b[0]), order(a[1], b[1])) for a, b in combinations(points, 2)]
    untied = sum(x != 0 for x, _ in pairs) * sum(y != 0 for _, y in pairs)
    tau = kendall_tau_b([float(x) for x, _ in points], [float(y) for _, y in points])
    if untied:
        assert tau == pytest.approx(sum(x * y for x, y in pairs) / math.sqrt(untied))
    else:
        assert tau is None


def test_only_positions_that_no_mind_trains_on_are_asked_when_unseen_ones_are_wanted(tmp_path: Path) -> None:
    packed = _core.random_positions(1500, 8)
    packed = packed[np.unique(_core.position_keys(packed), return_index=True)[1]]
    offsets, _, _ = _core.successors(packed)
    write_move_labels(tmp_path / "l.moves", (packed, offsets, np.zeros(offsets[-1], np.int16)))
    unseen = load_labels([tmp_path / "l.moves"], unseen=True)
    assert {label.packed for label in unseen} == {row.tobytes() for row in packed[held_out(packed)]}
    assert 0 < len(unseen) < len(packed) // 20


def test_a_file_without_unseen_positions_says_how_to_take_all(tmp_path: Path) -> None:
    start = np.frombuffer(_core.Board().packed(), np.uint8).reshape(1, 32)
    assert not held_out(start)[0]
    write_move_labels(tmp_path / "l.moves", (start, np.array([0, 20]), np.zeros(20, np.int16)))
    with pytest.raises(UserError, match="--split all"):
        load_labels([tmp_path / "l.moves"], unseen=True)
