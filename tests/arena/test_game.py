"""One game: who wins it, by what, and what becomes of a player that misbehaves."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tabiya._core import Board
from tabiya.arena.adjudication import Adjudication, Adjudicator, Tablebases
from tabiya.arena.books import Opening
from tabiya.arena.game import GameAbandoned, GameRules, Pace, play_game
from tabiya.arena.record import GameRecord
from tabiya.errors import UserError
from tabiya.player import Decision, Limit, Player, PlayerFailure
from tabiya.protocols.bounded import Bounded

START = Opening(Board().fen())
FOOLS_MATE = ("f2f3", "e7e5", "g2g4", "d8h4")
DEPTH_1 = GameRules(pace=Pace(depth=1))


class Scripted(Player):
    """Plays given moves, then the first legal one; says a given score and wish."""

    def __init__(
        self, name: str, moves: Sequence[str] = (), score: float | None = None, wants: str | None = None
    ) -> None:
        self.name = name
        self._moves = list(moves)
        self._score, self._wants = score, wants
        self.limits: list[Limit] = []

    def play(self, board: Board, limit: Limit) -> Decision:
        self.limits.append(limit)
        move = self._moves.pop(0) if self._moves else min(board.legal_moves())
        return Decision(move=move, score=self._score, depth=7, wants=self._wants)


class Shuffler(Player):
    """Moves a knight out and back for ever."""

    def __init__(
        self, name: str, score: float | None = None, wdl: tuple[float, float, float] | None = None
    ) -> None:
        self.name, self._score, self._wdl = name, score, wdl

    def play(self, board: Board, limit: Limit) -> Decision:
        out, back = ("g1f3", "f3g1") if board.white_to_move else ("g8f6", "f6g8")
        return Decision(move=out if board.is_legal(out) else back, score=self._score, wdl=self._wdl)


class Misbehaving(Player):
    """Does what it is told when asked for a move."""

    name = "odd"

    def __init__(self, act: Callable[[Board], Decision]) -> None:
        self._act = act

    def play(self, board: Board, limit: Limit) -> Decision:
        return self._act(board)


def fail(error: Exception) -> Callable[[Board], Decision]:
    def act(_board: Board) -> Decision:
        raise error

    return act


def play(white: Player, black: Player, rules: GameRules = DEPTH_1, opening: Opening = START) -> GameRecord:
    return play_game(white, black, opening, rules)


def test_fools_mate_is_won_by_black() -> None:
    record = play(Scripted("w", ["f2f3", "g2g4"]), Scripted("b", ["e7e5", "d8h4"], score=12.0))
    assert (record.result, record.ending, record.reason) == ("0-1", "normal", "checkmate")
    assert [move.san for move in record.moves] == ["f3", "e5", "g4", "Qh4#"]
    assert record.moves[1].score == 12.0
    assert record.moves[1].depth == 7
    assert record.moves[0].score is None


def test_a_threefold_repetition_ends_the_game() -> None:
    record = play(Shuffler("w"), Shuffler("b"))
    assert record.result == "1/2-1/2"
    assert "threefold" in record.reason
    assert len(record.moves) == 8


def test_the_moves_of_the_opening_are_played_first_and_count_as_history() -> None:
    opening = Opening(Board().fen(), ("g1f3", "g8f6", "f3g1", "f6g8"))
    record = play(Shuffler("w"), Shuffler("b"), opening=opening)
    assert "threefold" in record.reason
    assert len(record.moves) == 4


def test_stalemate_and_too_little_material() -> None:
    stalemate = Opening("7k/8/5KQ1/8/8/8/8/8 w - - 0 1")
    record = play(Scripted("w", ["g6f7"]), Scripted("b"), opening=stalemate)
    assert (record.result, record.reason) == ("1/2-1/2", "stalemate")
    last_knight = Opening("8/8/8/8/8/k7/8/1Kn5 w - - 0 1")
    record = play(Scripted("w", ["b1c1"]), Scripted("b"), opening=last_knight)
    assert (record.result, record.reason) == ("1/2-1/2", "insufficient material")


@pytest.mark.parametrize(
    ("act", "ending", "reason"),
    [
        (lambda _: Decision(move="e2e5"), "rules infraction", "odd played the illegal move e2e5"),
        (lambda _: Decision(move="0000"), "rules infraction", "odd played the illegal move 0000"),
        (lambda _: Decision(move="nonsense é"), "rules infraction", "odd played the illegal move nonsense é"),
        (fail(PlayerFailure("odd crashed")), "abandoned", "odd crashed"),
        (
            fail(ZeroDivisionError("oh")),
            "abandoned",
            "odd failed: ZeroDivisionError: oh",
        ),
        (lambda _: None, "abandoned", "odd failed: AttributeError"),
        (lambda _: Decision(move="e2e4", wdl=(1.0,)), "abandoned", "odd failed: ValueError"),  # type: ignore[arg-type]
        (lambda _: Decision(move="e2e4", wants="resign"), "normal", "odd resigned"),
    ],
)
@pytest.mark.parametrize("white", [True, False])
def test_a_player_that_misbehaves_loses_with_the_reason(
    act: Callable[[Board], Decision], ending: str, reason: str, white: bool
) -> None:
    odd, other = Misbehaving(act), Scripted("other")
    record = play(odd, other) if white else play(other, odd)
    assert record.result == ("0-1" if white else "1-0")
    assert record.ending == ending
    assert record.reason.startswith(reason)


def test_a_player_that_cannot_begin_a_game_loses_it() -> None:
    class Stuck(Scripted):
        def new_game(self) -> None:
            raise PlayerFailure("stuck did not start again")

    record = play(Scripted("w"), Stuck("stuck"))
    assert (record.result, record.reason) == ("1-0", "stuck did not start again")
    assert record.moves == ()


def test_a_player_that_scribbles_on_its_board_does_not_change_the_game() -> None:
    def scribble(board: Board) -> Decision:
        move = min(board.legal_moves())
        board.push(move)
        return Decision(move=move)

    record = play(Misbehaving(scribble), Scripted("b", wants="resign"))
    assert record.reason == "b resigned"
    assert len(record.moves) == 1


class Slow(Player):
    name = "slow"

    def play(self, board: Board, limit: Limit) -> Decision:
        time.sleep(0.03)
        return Decision(move=min(board.legal_moves()))


def test_a_fallen_flag_loses() -> None:
    record = play(Scripted("w"), Slow(), GameRules(pace=Pace(clock=0.01), margin=0.0))
    assert (record.result, record.ending, record.reason) == ("1-0", "time forfeit", "slow ran out of time")


def test_a_player_with_a_limit_of_its_own_cannot_run_out_of_time():
    class Slow(Scripted):
        def play(self, board: Board, limit: Limit) -> Decision:
            time.sleep(0.5)
            return super().play(board, limit)

    rules = GameRules(pace=Pace(clock=0.4), margin=0.0)
    slow, other = Slow("slow", FOOLS_MATE[1::2]), Scripted("other", FOOLS_MATE[::2])
    assert play_game(other, slow, START, rules).reason == "slow ran out of time"
    slow, other = Slow("slow", FOOLS_MATE[1::2]), Scripted("other", FOOLS_MATE[::2])
    record = play_game(other, Bounded(slow, Limit(nodes=5)), START, rules)
    assert (record.result, record.reason) == ("0-1", "checkmate")
    assert [limit.black_clock for limit in other.limits] == [0.4, 0.4]
    assert [limit.nodes for limit in slow.limits] == [5, 5]


def test_the_margin_forgives_a_late_move() -> None:
    rules = GameRules(pace=Pace(clock=0.01), margin=60.0)
    record = play(Slow(), Scripted("b", ["e7e5", "e5e4"], wants="resign"), rules)
    assert record.reason == "b resigned"


def test_the_players_see_their_clocks_run_and_gain() -> None:
    white = Scripted("w", ["g1f3", "f3g1", "g1f3", "f3g1"])
    play(white, Shuffler("b"), GameRules(pace=Pace(clock=100.0, increment=5.0, moves=2)))
    clocks = [limit.white_clock for limit in white.limits]
    assert clocks[0] == 100.0
    assert all(limit.white_increment == 5.0 for limit in white.limits)
    assert [limit.moves_to_go for limit in white.limits[:4]] == [2, 1, 2, 1]
    # After two moves the starting time comes on top: 100 + 2 · 5 + 100, less what was used.
    assert clocks[1] is not None
    assert clocks[2] is not None
    assert 95 < clocks[1] <= 105
    assert 195 < clocks[2] <= 210


def test_a_limit_for_each_move_reaches_the_players() -> None:
    white = Scripted("w", wants="resign")
    play(white, Scripted("b"), GameRules(pace=Pace(nodes=500, depth=3)))
    assert (white.limits[0].nodes, white.limits[0].depth, white.limits[0].white_clock) == (500, 3, None)


@pytest.mark.parametrize(
    ("text", "pace"),
    [
        ("10+0.1", Pace(clock=10, increment=0.1)),
        ("60", Pace(clock=60)),
        ("40/60+0.5", Pace(clock=60, increment=0.5, moves=40)),
    ],
)
def test_time_controls_are_read_and_written(text: str, pace: Pace) -> None:
    assert Pace.parse_clock(text) == pace
    assert pace.time_control() == text


@pytest.mark.parametrize("text", ["", "ten", "10+", "-1", "0", "0/10", "1e9999", "10+0.1+2"])
def test_a_time_control_that_makes_no_sense_is_refused(text: str) -> None:
    with pytest.raises(UserError):
        Pace.parse_clock(text)


def test_both_scores_together_decide_a_game() -> None:
    rules = GameRules(pace=Pace(depth=1), adjudication=Adjudication(resign_score=500, resign_moves=2))
    record = play(Shuffler("w", 900), Shuffler("b", -700), rules)
    assert (record.result, record.ending) == ("1-0", "adjudication")
    assert len(record.moves) == 4
    # One who disagrees, or says nothing, is not overruled.
    assert play(Shuffler("w", 900), Shuffler("b", -400), rules).ending == "normal"
    assert play(Shuffler("w", 900), Shuffler("b", None), rules).ending == "normal"


def test_a_mind_that_speaks_of_wins_and_losses_can_be_adjudicated_too() -> None:
    rules = GameRules(pace=Pace(depth=1), adjudication=Adjudication(resign_score=500, resign_moves=2))
    record = play(Shuffler("w", wdl=(0.99, 0.01, 0.0)), Shuffler("b", wdl=(0.0, 0.01, 0.99)), rules)
    assert (record.result, record.ending) == ("1-0", "adjudication")


def test_level_scores_draw_only_from_the_given_move_on() -> None:
    def plies(first: int) -> int:
        rules = GameRules(
            pace=Pace(depth=1), adjudication=Adjudication(draw_score=10, draw_moves=1, draw_from=first)
        )
        record = play(Shuffler("w", 0), Shuffler("b", 5), rules)
        assert record.ending == "adjudication"
        return len(record.moves)

    assert plies(1) == 2
    assert plies(3) == 6


def test_a_score_that_leaves_the_band_starts_the_count_anew() -> None:
    adjudicator = Adjudicator(Adjudication(draw_score=10, draw_moves=2, draw_from=1))
    board, verdicts = Board(), []
    for move, score in zip(
        ["g1f3", "g8f6", "f3g1", "f6g8", "g1f3", "g8f6"], [0, 0, 50, 0, 0, 0], strict=True
    ):
        board.push(move)
        verdicts.append(adjudicator.after(board, score))
    assert verdicts == [None] * 6


def test_a_game_that_is_too_long_is_a_draw() -> None:
    rules = GameRules(pace=Pace(depth=1), adjudication=Adjudication(max_moves=3))
    record = play(Shuffler("w"), Shuffler("b"), rules)
    assert (record.result, record.ending, len(record.moves)) == ("1/2-1/2", "adjudication", 6)
    assert "3 moves" in record.reason


def test_a_draw_needs_both_players() -> None:
    class Offering(Shuffler):
        def play(self, board: Board, limit: Limit) -> Decision:
            return Decision(move=super().play(board, limit).move, wants="draw")

    assert play(Offering("w"), Offering("b")).reason == "draw agreed"
    assert "threefold" in play(Offering("w"), Shuffler("b")).reason


def test_a_game_that_is_called_off_counts_for_nobody() -> None:
    asked = []

    def abandoned() -> bool:
        asked.append(1)
        return len(asked) > 3

    with pytest.raises(GameAbandoned):
        play_game(Shuffler("w"), Shuffler("b"), START, DEPTH_1, abandoned=abandoned)


def test_missing_tables_are_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no folder of Syzygy tables"):
        Tablebases(tmp_path / "none")
    with pytest.raises(UserError, match="no Syzygy tables"):
        Tablebases(tmp_path)


def test_tables_end_a_game_they_know(data_folder: Path) -> None:
    tables = Tablebases(data_folder / "syzygy")
    try:
        rules = GameRules(pace=Pace(depth=1), tablebases=tables)
        won = Opening("8/8/8/4k3/8/8/8/KQ6 w - - 0 1")
        record = play(Scripted("w", ["a1b2"]), Scripted("b"), rules, won)
        assert (record.result, record.reason, len(record.moves)) == ("1-0", "adjudicated: tablebase", 1)
        assert tables.result(Board("8/8/8/4k3/8/8/8/KN6 w - - 0 1")) == "1/2-1/2"
        assert tables.result(Board("8/8/8/4k3/8/8/8/KQ6 w - - 90 80")) is None
        assert tables.result(Board()) is None
    finally:
        tables.close()
