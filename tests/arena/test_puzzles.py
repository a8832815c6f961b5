"""Puzzles: what counts as right, as solved, and what a bad file is told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tabiya._core import Board
from tabiya.arena.evaluation import Examiner
from tabiya.arena.puzzles import Puzzle, PuzzleSet, load_puzzles, measure_puzzles, read_puzzles
from tabiya.errors import UserError
from tabiya.player import Decision, Limit, Player, PlayerFailure

HEADER = "PuzzleId,FEN,Moves,Rating,RatingDeviation,Popularity,NbPlays,Themes,GameUrl,OpeningTags\n"
START = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"
# Black blunders with a2a3; Rb8 and Rd8 both give mate on the back rank.
TWO_MATES = "6k1/5ppp/8/8/8/8/r4PPP/1R1R2K1 b - - 0 1"


class Book(Player):
    """Answers by the moves played since the puzzle's FEN; resigns itself to the first legal move."""

    def __init__(self, answers: dict[tuple[str, ...], str]) -> None:
        self.answers = answers

    def play(self, board: Board, limit: Limit) -> Decision:
        move = self.answers.get(tuple(board.moves), board.legal_moves()[0])
        if move == "crash":
            raise PlayerFailure("book crashed")
        return Decision(move=move)


def measure(puzzles: list[Puzzle], answers: dict[tuple[str, ...], str]) -> dict[str, Any]:
    with Examiner("book", lambda _: Book(answers), Limit(nodes=1)) as examiner:
        return measure_puzzles(PuzzleSet(puzzles, []), examiner)


def puzzle(fen: str, moves: str, rating: int = 1500, themes: str = "") -> Puzzle:
    return Puzzle("x", fen, tuple(moves.split()), rating, tuple(themes.split()), 2)


def test_the_solver_answers_the_opponents_moves() -> None:
    (first, expected), (second, then) = puzzle(START, "e2e4 e7e5 g1f3 b8c6").solver_positions()
    assert (first.moves, expected) == (["e2e4"], "e7e5")
    assert (second.moves, then) == (["e2e4", "e7e5", "g1f3"], "b8c6")


def test_figures_by_hand() -> None:
    puzzles = [
        puzzle(START, "e2e4 e7e5 g1f3 b8c6", 1399, "opening long"),  # both right
        puzzle(START, "d2d4 d7d5 c2c4 e7e6", 1400, "opening"),  # the second right, the first wrong
        puzzle(START, "c2c4 e7e5", 1599, "short"),  # wrong
    ]
    figures = measure(
        puzzles,
        {
            ("e2e4",): "e7e5",
            ("e2e4", "e7e5", "g1f3"): "b8c6",
            ("d2d4",): "g8f6",
            ("d2d4", "d7d5", "c2c4"): "e7e6",
            ("c2c4",): "c7c5",
        },
    )
    assert (figures["puzzles"], figures["solved"], figures["solved_share"]) == (3, 1, 1 / 3)
    assert (figures["moves"], figures["moves_right"], figures["moves_right_share"]) == (5, 3, 3 / 5)
    bands = [
        (band["from"], band["to"], band["puzzles"], band["solved_share"]) for band in figures["by_rating"]
    ]
    assert bands == [(1200, 1400, 1, 1.0), (1400, 1600, 2, 0.0)]
    lengths = [(row["moves"], row["puzzles"], row["solved_share"]) for row in figures["by_length"]]
    assert lengths == [(1, 1, 0.0), (2, 2, 0.5)]
    themes = [(row["theme"], row["puzzles"], row["solved_share"]) for row in figures["by_theme"]]
    assert themes == [("opening", 2, 0.5), ("long", 1, 1.0), ("short", 1, 0.0)]
    low, high = figures["solved_95"]
    assert low < 1 / 3 < high


def test_another_mate_is_as_good() -> None:
    figures = measure([puzzle(TWO_MATES, "a2a3 b1b8")], {("a2a3",): "d1d8"})
    assert figures["solved"] == figures["moves_right"] == 1


def test_a_move_that_only_checks_is_no_other_mate() -> None:
    # With a pawn on h6 the king has air: Rd8 checks, Rb8 was asked for.
    board = "6k1/5pp1/7p/8/8/8/r4PPP/1R1R2K1 b - - 0 1"
    assert measure([puzzle(board, "a2a3 b1b8")], {("a2a3",): "d1d8"})["solved"] == 0


def test_an_earlier_mate_than_the_solutions_solves_the_puzzle() -> None:
    longer = puzzle(TWO_MATES, "a2a3 b1b7 h7h6 b7b8")
    figures = measure([longer], {("a2a3",): "b1b8", ("a2a3", "b1b7", "h7h6"): "g1f1"})
    assert figures["solved"] == 1
    assert figures["moves_right"] == 1, "the second position is still asked, and was answered wrong"


def test_a_mate_after_a_wrong_move_does_not_mend_the_puzzle() -> None:
    late = puzzle(TWO_MATES, "a2a3 b1c1 a3a2 d1d8")
    figures = measure([late], {("a2a3",): "g1f1", ("a2a3", "b1c1", "a3a2"): "d1d8"})
    assert (figures["solved"], figures["moves_right"]) == (0, 1)


def test_a_crash_is_a_wrong_answer() -> None:
    figures = measure(
        [puzzle(START, "e2e4 e7e5"), puzzle(START, "d2d4 d7d5")], {("e2e4",): "crash", ("d2d4",): "d7d5"}
    )
    assert (figures["solved"], figures["failures"]) == (1, 1)


def write(tmp_path: Path, *rows: str, header: str = HEADER) -> Path:
    path = tmp_path / "puzzles.csv"
    path.write_text(header + "".join(rows))
    return path


def row(name: str, moves: str, fen: str = START, rating: str = "1500") -> str:
    return f"{name},{fen},{moves},{rating},,,,mate short,,\n"


def test_illegal_puzzles_are_named_and_the_rest_counts(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        row("good", "e2e4 e7e5"),
        row("bad", "e2e5 e7e5"),
        row("worse", "e2e4 e7e5", "8/8/8/8 w - - 0 1"),
    )
    puzzles = load_puzzles(path)
    assert [one.name for one in puzzles.puzzles] == ["good"]
    assert [one.where.rpartition(":")[2] for one in puzzles.skipped] == ["3", "4"]
    assert "puzzle bad" in puzzles.skipped[0].why
    assert "e2e5" in puzzles.skipped[0].why


def test_a_line_break_inside_a_quoted_column_belongs_to_the_column(tmp_path: Path) -> None:
    path = write(tmp_path, f'a,{START},e2e4 e7e5,900,,,,"fork pin\n",,\n', row("b", "e2e4 e7e5"))
    assert [(one.name, one.themes) for one in read_puzzles(path)] == [
        ("a", ("fork", "pin")),
        ("b", ("mate", "short")),
    ]


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("", "puzzles.csv:1 has no column 'PuzzleId'"),
        ("PuzzleId,FEN,Solution,Rating,Themes\n", "puzzles.csv:1 has no column 'Moves'"),
        (HEADER + row("a", "e2e4 e7e5") + "b,fen\n", "puzzles.csv:3 has 2 columns, a puzzle needs 8"),
        (HEADER + row("a", "e2e4 e5"), "puzzles.csv:2 has 'e5' among the Moves of puzzle a"),
        (HEADER + row("a", "e2e4"), "puzzles.csv:2 gives puzzle a 1 Moves"),
        (HEADER + row("a", "e2e4 e7e5 g1f3"), "puzzles.csv:2 gives puzzle a 3 Moves"),
        (HEADER + row("a", "e2e4 e7e5", rating="hard"), "puzzles.csv:2 has the Rating 'hard' for puzzle a"),
        (HEADER, "no legal puzzle in"),
        (HEADER + row("a", "e2e5 e7e5"), "no legal puzzle in .*puzzle a.*puzzles.csv:2"),
    ],
)
def test_a_file_that_holds_no_puzzles_is_told_where(tmp_path: Path, content: str, sentence: str) -> None:
    path = tmp_path / "puzzles.csv"
    path.write_text(content)
    with pytest.raises(UserError, match=sentence):
        load_puzzles(path)


@settings(deadline=None)
@given(st.binary(max_size=200), st.booleans())
def test_any_bytes_are_puzzles_or_one_sentence(
    tmp_path_factory: pytest.TempPathFactory, raw: bytes, headed: bool
) -> None:
    path = tmp_path_factory.getbasetemp() / "fuzzed.csv"
    path.write_bytes((HEADER.encode() if headed else b"") + raw)
    try:
        told = f"{len(load_puzzles(path).puzzles)} puzzles of fuzzed.csv"
    except UserError as error:
        told = str(error)
    assert "fuzzed.csv" in told


EASY = [
    row("back-rank", "a2a3 b1b8", TWO_MATES),
    # 1...Qxb2 leaves the back rank: 2.Qe8+ Rxe8 3.Rxe8 mate
    row("deflect", "b6b2 e5e8 d8e8 e1e8", "3r2k1/5ppp/1q6/4Q3/8/8/1P3PPP/4R1K1 b - - 0 1"),
    # 1...h6 runs into a fork: 2.Nf7+ and the queen falls
    row("fork", "h7h6 g5f7 h8g8 f7d8", "3q3k/6pp/8/6N1/8/8/5PPP/5RK1 b - - 0 1"),
    row("helper-pawn", "a7a6 f6g7", "6k1/p4p1p/5Q1P/8/8/8/8/6K1 b - - 0 1"),
]


def test_stockfish_solves_most_easy_puzzles(tmp_path: Path, stockfish: str) -> None:
    from tabiya.roster import open_player

    puzzles = load_puzzles(write(tmp_path, *EASY))
    assert not puzzles.skipped
    with Examiner(f"uci:{stockfish}", open_player, Limit(depth=8), 2) as examiner:
        figures = measure_puzzles(puzzles, examiner)
    assert figures["solved"] >= len(puzzles.puzzles) - 1
    assert figures["nodes_per_move"] > 0
