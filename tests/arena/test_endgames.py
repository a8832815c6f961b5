"""Endgames: the judges' verdicts, the positions, the figures.

Real tables are too big to carry along. King and queen against king has a rule
short enough to write down, so the tests bring a table of their own for it; the
developer's tables, where there are any, check the rest.
"""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import chess
import chess.syzygy
import pytest

from tabiya._core import Board
from tabiya.arena.endgames import (
    Judged,
    Tables,
    count_men,
    expected_score,
    load_endgames,
    measure_endgames,
    random_material,
    random_position,
)
from tabiya.arena.evaluation import Examiner
from tabiya.errors import UserError
from tabiya.player import Decision, Limit, Player

LIMIT = Limit(nodes=1)


class QueenTable:
    """K+Q v K and nothing else: the queen's side wins unless the queen hangs or it stalemates."""

    def __init__(self, has_dtz: bool = True) -> None:
        self.has_dtz = has_dtz

    def probe_wdl(self, board: chess.Board) -> int:
        queens = board.queens
        if chess.popcount(board.occupied) == 2:
            return 0
        if chess.popcount(board.occupied) > 3 or not queens:
            raise chess.syzygy.MissingTableError("no such table")
        if board.occupied_co[board.turn] & queens:
            return 2
        hanging = any(board.is_capture(move) for move in board.legal_moves)
        return 0 if hanging or board.is_stalemate() else -2

    def probe_dtz(self, board: chess.Board) -> int:
        """Ten half-moves from anywhere: a mate at once is all that is told apart here."""
        if not self.has_dtz:
            raise chess.syzygy.MissingTableError("no such table")
        return -10

    def close(self) -> None:
        pass


class Plays(Player):
    """Plays what it was told for a position, else the first legal move, with its opinion of the value."""

    def __init__(
        self, moves: dict[str, str] | None = None, wdl: tuple[float, float, float] | None = None
    ) -> None:
        self.moves, self.wdl = moves or {}, wdl

    def play(self, board: Board, limit: Limit) -> Decision:
        return Decision(move=self.moves.get(board.fen(), board.legal_moves()[0]), wdl=self.wdl)


@pytest.fixture
def tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tables:
    (tmp_path / "KQvK.rtbw").touch()
    monkeypatch.setattr(chess.syzygy, "open_tablebase", lambda _: QueenTable())
    return Tables(tmp_path)


def measure(positions: list[Judged], player: Player, teacher: Player | None = None) -> dict[str, Any]:
    from tabiya.arena.endgames import EndgameSet

    with Examiner("player", lambda _: player, LIMIT) as examiner:
        if teacher is None:
            return measure_endgames(EndgameSet(positions, []), examiner)
        with Examiner("teacher", lambda _: teacher, Limit(nodes=77)) as judge:
            return measure_endgames(EndgameSet(positions, []), examiner, judge)


def test_the_moves_that_keep_a_win_neither_hang_the_queen_nor_stalemate(tables: Tables) -> None:
    judged = tables.judge("7k/8/8/6Q1/8/8/8/K7 w - - 0 1")
    assert judged is not None
    assert judged.value == 1.0
    assert judged.keeping is not None
    legal = set(Board(judged.fen).legal_moves())
    # Qg6 stalemates; on g7 and g8 the queen stands beside the king without support.
    assert legal - judged.keeping == {"g5g6", "g5g7", "g5g8"}


def test_the_fastest_move_is_the_mate(tables: Tables) -> None:
    judged = tables.judge("7k/8/5K2/6Q1/8/8/8/8 w - - 0 1")
    assert judged is not None
    assert judged.fastest == frozenset({"g5g7"})


def test_the_losing_side_keeps_its_value_with_every_move_of_a_lost_position(tables: Tables) -> None:
    judged = tables.judge("7k/8/5K2/Q7/8/8/8/8 b - - 0 1")
    assert judged is not None
    assert (judged.value, judged.keeping) == (0.0, frozenset({"h8h7", "h8g8"}))


def test_without_dtz_tables_there_is_no_fastest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "KQvK.rtbw").touch()
    monkeypatch.setattr(chess.syzygy, "open_tablebase", lambda _: QueenTable(has_dtz=False))
    judged = Tables(tmp_path).judge("7k/8/5K2/6Q1/8/8/8/8 w - - 0 1")
    assert judged is not None
    assert judged.keeping
    assert judged.fastest is None


def test_a_position_beyond_the_tables_has_no_verdict(tables: Tables) -> None:
    assert tables.judge("7k/8/8/6Q1/8/8/8/KR6 w - - 0 1") is None
    assert tables.judge("4k3/8/8/8/8/8/8/4K2R w K - 0 1") is None


def test_a_win_that_the_fifty_move_rule_undoes_is_a_draw(
    tables: Tables, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(QueenTable, "probe_wdl", lambda *_: 1)
    judged = tables.judge("7k/8/8/6Q1/8/8/8/K7 w - - 0 1")
    assert judged is not None
    assert judged.value == 0.5


def test_figures_by_hand() -> None:
    won = "7k/8/8/6Q1/8/8/8/K7 w - - 0 1"
    lost = "7k/8/5K2/Q7/8/8/8/8 b - - 0 1"
    positions = [
        Judged(won, 3, 1.0, frozenset({"g5g4", "g5g3"}), frozenset({"g5g4"})),
        Judged(lost, 3, 0.0, frozenset({"h8h7", "h8g8"}), frozenset({"h8h7"})),
        Judged(won, 4, 1.0, frozenset({"g5g3"}), frozenset({"g5g3"})),
    ]
    player = Plays({won: "g5g4", lost: "h8g8"}, wdl=(0.5, 0.3, 0.2))
    three, four = measure(positions, player)["by_men"]
    assert (three["men"], three["judge"], three["positions"]) == (3, "syzygy", 2)
    assert (three["optimal_share"], three["dtz_optimal_share"]) == (1.0, 0.5)
    assert three["value_error"] == pytest.approx((abs(0.65 - 1) + abs(0.65 - 0)) / 2)
    assert (four["men"], four["optimal_share"], four["dtz_optimal_share"]) == (4, 0.0, 0.0)
    assert four["value_error"] == pytest.approx(0.35)


def test_a_player_without_a_value_has_no_value_error() -> None:
    won = Judged("7k/8/8/6Q1/8/8/8/K7 w - - 0 1", 3, 1.0, frozenset({"g5g4"}))
    row = measure([won], Plays())["by_men"][0]
    assert row["value_error"] is None
    assert row["dtz_optimal_share"] is None


def test_random_positions_are_legal_not_over_and_the_same_for_one_seed(tables: Tables) -> None:
    sets = [load_endgames(tables=tables, teacher=None, men=None, count=40, seed=seed) for seed in (5, 5, 6)]
    assert sets[0] == sets[1] != sets[2]
    assert len({position.fen for position in sets[0].positions}) > 30
    for position in sets[0].positions:
        board = Board(position.fen)
        assert board.outcome() is None
        assert position.men == 3
        assert position.keeping
        assert position.keeping <= set(board.legal_moves())


def test_random_set_ups_hold_the_material_in_either_colour() -> None:
    chance = random.Random(3)
    seen: Counter[tuple[str, str]] = Counter()
    for _ in range(400):
        if fen := random_position("KPvKR", chance):
            men = sorted(letter for letter in fen.split()[0] if letter.isalpha())
            seen["".join(men), fen.split()[1]] += 1
    assert set(seen) == {(men, side) for men in ("KPkr", "KRkp") for side in "wb"}


@pytest.mark.parametrize("men", [3, 5, 8])
def test_random_material_has_both_kings_and_as_many_men(men: int) -> None:
    chance = random.Random(men)
    for _ in range(50):
        material = random_material(men, chance)
        assert len(material) == men + 1
        assert [side[0] for side in material.split("v")] == ["K", "K"]


class Teacher(Player):
    """Thinks every position is worth 0.8 to White and 0.2 to Black, but a king on b1 spoils it all."""

    def play(self, board: Board, limit: Limit) -> Decision:
        white = 0.1 if board.piece_at("b1") == "K" else 0.8
        win = white if board.white_to_move else 1 - white
        return Decision(move=board.legal_moves()[0], wdl=(win, 0.0, 1 - win))


def test_beyond_the_tables_a_teacher_judges_and_is_named() -> None:
    fen = "7k/7p/8/8/8/8/P7/K7 w - - 0 1"
    with Examiner("teacher", lambda _: Teacher(), Limit(nodes=77)) as teacher:
        taught = load_endgames(tables=None, teacher=teacher, men=[5, 6], count=10)
    assert {(position.men, position.keeping) for position in taught.positions} == {(5, None), (6, None)}
    assert len(taught.positions) == 10
    position = Judged(fen, 4, 0.8)
    for move, share in (("a2a3", 1.0), ("a1b1", 0.0)):
        figures = measure([position], Plays({fen: move}), Teacher())
        assert figures["teacher"] == {"player": "teacher", "limit": {"nodes": 77}, "tolerance": 0.05}
        row = figures["by_men"][0]
        assert (row["judge"], row["optimal_share"], row["dtz_optimal_share"]) == ("teacher", share, None)


def test_a_move_that_mates_or_stalemates_needs_no_teacher() -> None:
    mate, stalemate = "7k/8/5K2/6Q1/8/8/8/8 w - - 0 1", "7k/8/8/6Q1/8/8/8/K7 w - - 0 1"
    player = Plays({mate: "g5g7", stalemate: "g5g6"})
    for fen, share in ((mate, 1.0), (stalemate, 0.0)):
        assert measure([Judged(fen, 3, 0.9)], player, Teacher())["by_men"][0]["optimal_share"] == share


def test_a_teacher_without_scores_is_refused() -> None:
    with (
        Examiner("mute", lambda _: Plays(), LIMIT) as teacher,
        pytest.raises(UserError, match="mute gives moves but no scores"),
    ):
        load_endgames(tables=None, teacher=teacher, men=[4], count=3)


@pytest.mark.parametrize(
    ("decision", "expected"),
    [
        (Decision(move="e2e4", wdl=(0.5, 0.3, 0.2), score=900), 0.65),
        (Decision(move="e2e4", score=0), 0.5),
        (Decision(move="e2e4", score=29_990), 1.0),
        (Decision(move="e2e4", score=-29_990), 0.0),
        (Decision(move="e2e4"), None),
        (None, None),
    ],
)
def test_what_a_decision_says_of_the_result(decision: Decision | None, expected: float | None) -> None:
    assert expected_score(decision) == (None if expected is None else pytest.approx(expected))


def test_positions_come_from_a_file_and_bad_ones_are_named(tables: Tables, tmp_path: Path) -> None:
    path = tmp_path / "list.epd"
    path.write_text(
        "# a comment\n"
        "7k/8/8/6Q1/8/8/8/K7 w - - id 1;\n"
        "nonsense\n"
        "7k/8/6Q1/8/8/8/8/K7 b - - 0 1\n"  # stalemate
        "7k/8/8/6Q1/8/8/8/KR6 w - - 0 1\n"  # four men
    )
    found = load_endgames(tables=tables, teacher=None, men=None, count=10, positions=path)
    assert [position.men for position in found.positions] == [3]
    assert sorted(one.where.rpartition(":")[2] for one in found.skipped) == ["3", "4", "5"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"tables": False}, "endgames need a judge"),
        ({"men": [5]}, "no tables of 5 men .* --teacher"),
        ({"men": [2]}, "random endgames have 3 to"),
        ({"men": [40]}, "random endgames have 3 to"),
        ({"count": 0}, "--max must be at least 1"),
    ],
)
def test_what_cannot_be_judged_is_said(tables: Tables, arguments: dict[str, Any], sentence: str) -> None:
    chosen = {
        "men": None,
        "count": 5,
        **arguments,
        "tables": tables if arguments.get("tables", True) else None,
    }
    with pytest.raises(UserError, match=sentence):
        load_endgames(teacher=None, **chosen)


def test_a_folder_without_tables_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no Syzygy tables"):
        Tables(tmp_path)


def test_a_damaged_table_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "KQvK.rtbw").write_bytes(b"not a table at all" * 10)
    with pytest.raises(UserError, match=r"Syzygy table in .* is damaged"):
        Tables(tmp_path).judge("7k/8/8/6Q1/8/8/8/K7 w - - 0 1")


def test_men_are_pieces_and_pawns() -> None:
    assert count_men("7k/7p/8/8/8/8/P7/KB6 w - - 0 1") == 5


def test_real_tables_agree_with_themselves(data_folder: Path) -> None:
    tables = Tables(data_folder / "syzygy")
    try:
        found = load_endgames(tables=tables, teacher=None, men=None, count=60, seed=1)
    finally:
        tables.close()
    for position in found.positions:
        assert position.keeping, "some move always keeps the value"
        assert position.fastest
        assert position.fastest <= position.keeping
