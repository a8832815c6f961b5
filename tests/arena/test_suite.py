"""EPD suites: the format as it is met, and what counts as right."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tabiya._core import Board
from tabiya.arena.evaluation import Examiner
from tabiya.arena.suite import load_suite, measure_suite, split_epd
from tabiya.errors import UserError
from tabiya.player import Decision, Limit, Player

START = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -"
CASTLE = "r3k2r/8/8/8/8/8/8/R3K2R w KQkq -"
PROMOTE = "7k/P7/8/8/8/8/8/K7 w - -"


class Plays(Player):
    """Plays the one move it knows."""

    def __init__(self, move: str) -> None:
        self.move = move

    def play(self, board: Board, limit: Limit) -> Decision:
        return Decision(move=self.move)


def suite_of(tmp_path: Path, *lines: str) -> Path:
    path = tmp_path / "suite.epd"
    path.write_text("\n".join(lines) + "\n")
    return path


def measure(path: Path, move: str) -> dict[str, Any]:
    with Examiner("plays", lambda _: Plays(move), Limit(nodes=1)) as examiner:
        return measure_suite(load_suite(path), examiner)


@pytest.mark.parametrize(
    ("operations", "right"),
    [
        ('bm e4; id "one";', True),
        ("bm e2e4", True),
        ("bm g1f3", False),
        ("bm Nf3 e4 d4;", True),
        ("bm Nf3, e4;", True),
        ("bm e4!;", True),
        ("0 1 ; bm e4 ; id 7", True),
        ("0 1 bm e4", True),
        ("; bm e4 + ; id BK.01", True),
        ("am e4;", False),
        ("am d4;", True),
        ("bm e4; am d4;", True),
        ("bm Nf3; am d4;", False),
        ('c0 "a; b"; bm e4;', True),
    ],
)
def test_best_and_avoided_moves_in_every_dialect(tmp_path: Path, operations: str, right: bool) -> None:
    figures = measure(suite_of(tmp_path, f"{START} {operations}"), "e2e4")
    assert (figures["positions"], figures["right"], figures["share"]) == (1, int(right), float(right))


@pytest.mark.parametrize(
    ("line", "move"),
    [(f"{CASTLE} bm 0-0-0;", "e1c1"), (f"{CASTLE} bm O-O;", "e1g1"), (f"{PROMOTE} bm a8=Q+;", "a7a8q")],
)
def test_castling_and_promotion_are_understood(tmp_path: Path, line: str, move: str) -> None:
    assert measure(suite_of(tmp_path, line), move)["right"] == 1


def test_what_went_wrong_is_named(tmp_path: Path) -> None:
    path = suite_of(tmp_path, f'{START} bm d4; id "T.1";', f'{START} bm e4; id "T.2";', f"{START} bm c4;")
    figures = measure(path, "e2e4")
    assert figures["share"] == 1 / 3
    assert [(wrong["id"], wrong["move"]) for wrong in figures["wrong"]] == [
        ("T.1", "e2e4"),
        ("line 3", "e2e4"),
    ]


def test_points_are_given_where_the_comment_has_them(tmp_path: Path) -> None:
    path = suite_of(
        tmp_path,
        f'{START} bm d4; c0 "d4=100, e4=46, Nf3=23";',
        f'{START} bm e4; c0 "e4=80, d4=70";',
        f'{START} bm e4; c0 "Polgar-Berkes, Budapest=2003 or so";',
    )
    figures = measure(path, "e2e4")
    assert (figures["points"], figures["points_possible"], figures["points_share"]) == (126, 180, 0.7)


def test_a_promotion_has_points_too(tmp_path: Path) -> None:
    path = suite_of(tmp_path, f'{PROMOTE} bm a8=Q+; c0 "a8=Q+=90, a8=N=10";')
    assert measure(path, "a7a8q")["points"] == 90


def test_without_points_there_are_none(tmp_path: Path) -> None:
    figures = measure(suite_of(tmp_path, f'{START} bm e4; c0 "a comment";'), "e2e4")
    assert figures["points"] is figures["points_share"] is None


def test_numbered_ids_make_groups(tmp_path: Path) -> None:
    lines = [
        f'{START} bm {move}; id "{name}.{n:03}";'
        for n in (1, 2)
        for name, move in (("A B", "e4"), ("C", "d4"))
    ]
    groups = measure(suite_of(tmp_path, *lines), "e2e4")["by_group"]
    assert [(group["group"], group["positions"], group["share"]) for group in groups] == [
        ("A B", 2, 1.0),
        ("C", 2, 0.0),
    ]


def test_lines_that_are_no_test_are_left_out_and_named(tmp_path: Path) -> None:
    path = suite_of(
        tmp_path,
        "# a comment",
        f"{START} bm e4;",
        f"{START} D1 20 ;D2 400",
        f"{START} bm e5;",
        "8/8/8/8/8/8/8/8 w - - bm e4;",
        "nonsense",
    )
    figures = measure(path, "e2e4")
    assert (figures["positions"], figures["skipped"]) == (1, 4)
    assert [line["where"].rpartition(":")[2] for line in figures["skipped_lines"]] == ["3", "4", "5", "6"]


def test_a_file_without_tests_is_refused_with_the_first_reason(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"no position with bm or am in .*neither bm nor am.*suite\.epd:1"):
        load_suite(suite_of(tmp_path, f"{START} D1 20"))


@settings(deadline=None)
@given(st.text(alphabet='rnbqkpRNBQKP12345678/wb- ;"bmamid0cx=+,', max_size=120))
def test_any_line_is_taken_apart_or_refused(line: str) -> None:
    if len(line.partition(";")[0].split()) < 4:
        with pytest.raises(ValueError, match="four fields"):
            split_epd(line)
        return
    fen, operations = split_epd(line)
    assert len(fen.split()) == 6
    assert all(opcode and ";" not in opcode for opcode in operations)
