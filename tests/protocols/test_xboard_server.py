"""Our players as xboard engines, asked by hand and by python-chess."""

from __future__ import annotations

import sys
import threading

import chess
import chess.engine
import pytest

from tabiya._core import Board
from tabiya.minds.simple.random_mover import RandomMover
from tabiya.minds.simple.turing import Turing
from tabiya.player import Decision, Limit, Player, PlayerFailure
from tabiya.protocols.xboard_server import XboardServer, serve


class Scripted(Player):
    """Answers with prepared decisions, then with the first legal move; may wait for `stop` first."""

    name = "scripted"

    def __init__(self, *decisions: Decision, waits: bool = False) -> None:
        self.decisions = list(decisions)
        self.limits: list[Limit] = []
        self.games = 0
        self._waits = waits
        self._stopped = threading.Event()

    def play(self, board: Board, limit: Limit) -> Decision:
        self._stopped.clear()
        self.limits.append(limit)
        if self._waits:
            self._stopped.wait(60)
        return self.decisions.pop(0) if self.decisions else Decision(move=board.legal_moves()[0])

    def stop(self) -> None:
        self._stopped.set()

    def new_game(self) -> None:
        self.games += 1


def asked(talk, player: Player, *lines: str) -> XboardServer:
    server = XboardServer(player, talk)
    for line in lines:
        assert server.handle(line)
    return server


def test_protover_2_lists_the_features_and_closes_them(talk):
    asked(talk, Turing(), "xboard", "protover 2")
    features = " ".join(talk.lines)
    for feature in (
        "ping=1",
        "setboard=1",
        "usermove=1",
        "colors=0",
        "san=0",
        "sigint=0",
        'variants="normal"',
    ):
        assert feature in features
    assert 'option="Depth -spin 2 1 6"' in features
    assert talk.lines[-1] == "feature done=1"


def test_the_opponents_move_is_answered(talk):
    player = Scripted(Decision(move="c7c5"))
    asked(talk, player, "new", "usermove e2e4")
    assert talk.wait_for("move") == "move c7c5"
    assert player.games == 1


def test_a_plain_move_is_a_move_too(talk):
    asked(talk, Scripted(Decision(move="c7c5")), "new", "e2e4")
    talk.wait_for("move c7c5")


def test_go_plays_the_side_to_move_and_then_answers_the_other(talk):
    server = asked(talk, Scripted(Decision(move="e2e4"), Decision(move="g1f3")), "new", "go")
    talk.wait_for("move e2e4")
    server.handle("usermove e7e5")
    talk.wait_for("move g1f3")


def test_in_force_mode_moves_are_taken_down_and_not_answered(talk):
    server = asked(talk, Scripted(), "new", "force", "usermove e2e4", "usermove e7e5", "ping 1")
    assert talk.lines == ["pong 1"]
    assert server._board.moves == ["e2e4", "e7e5"]


def test_playother_waits_for_the_side_to_move(talk):
    server = asked(talk, Scripted(Decision(move="e7e5")), "new", "force", "playother", "ping 1")
    assert talk.lines == ["pong 1"]
    server.handle("usermove e2e4")
    talk.wait_for("move e7e5")


@pytest.mark.parametrize(
    ("lines", "limit"),
    [
        (["level 0 5 0"], Limit(white_clock=300, black_clock=300)),
        (["level 40 5:30 0"], Limit(white_clock=330, black_clock=330, moves_to_go=40)),
        (
            ["level 0 2 12"],
            Limit(white_clock=120, black_clock=120, white_increment=12, black_increment=12),
        ),
        (
            ["level 0 0:10 0.1"],
            Limit(white_clock=10, black_clock=10, white_increment=0.1, black_increment=0.1),
        ),
        (["level 0 5 0", "time 1234", "otim 2345"], Limit(white_clock=12.34, black_clock=23.45)),
        (["level 0 5 0", "time -20", "otim 100"], Limit(white_clock=0, black_clock=1)),
        (["st 3"], Limit(movetime=3)),
        (["st 0.05", "sd 4"], Limit(movetime=0.05, depth=4)),
        (["level 0 5 0", "st 2", "level 0 1 0"], Limit(white_clock=60, black_clock=60)),
        (["level five 5 0", "st", "sd deep", "st 2"], Limit(movetime=2)),
    ],
)
def test_every_time_control_reaches_the_player(talk, lines, limit):
    player = Scripted()
    asked(talk, player, "new", *lines, "go")
    talk.wait_for("move")
    assert player.limits == [limit]


def test_new_forgets_the_depth_limit(talk):
    player = Scripted()
    asked(talk, player, "sd 3", "st 1", "new", "go")
    talk.wait_for("move")
    assert player.limits == [Limit(movetime=1)]


def test_thinking_is_shown_after_post(talk):
    thought = Decision(move="e2e4", score=35, depth=4, nodes=1234, seconds=0.1, pv=("e2e4", "e7e5"))
    server = asked(talk, Scripted(thought, Decision(move="g1f3")), "new", "post", "go")
    talk.wait_for("move e2e4")
    assert talk.lines[0] == "4 35 10 1234 e2e4 e7e5"
    server.handle("nopost")
    server.handle("usermove e7e5")
    talk.wait_for("move g1f3")
    assert len(talk.lines) == 3


@pytest.mark.parametrize(("score", "shown"), [(29_997, "100003"), (-29_998, "-100002")])
def test_a_mate_is_shown_as_the_protocol_wants_it(talk, score, shown):
    asked(talk, Scripted(Decision(move="e2e4", score=score)), "new", "post", "go")
    assert talk.wait_for("1 ").split()[1] == shown


def test_move_now_ends_the_thought(talk):
    server = asked(talk, Scripted(Decision(move="e2e4"), waits=True), "new", "go")
    assert talk.lines == []
    server.handle("?")
    talk.wait_for("move e2e4")


def test_ping_is_answered_after_the_move_under_way(talk):
    server = asked(talk, Scripted(Decision(move="e2e4"), waits=True), "new", "go", "ping 7")
    assert talk.lines == []
    server.handle("?")
    talk.wait_for("pong 7")
    assert talk.lines == ["move e2e4", "pong 7"]


@pytest.mark.parametrize(
    "word", ["new", "force", "result 1-0 {resigns}", "setboard 8/8/8/4k3/8/8/8/4K2R w - - 0 1"]
)
def test_a_change_of_game_drops_the_thought_under_way(talk, word):
    server = asked(talk, Scripted(waits=True), "new", "go", word, "ping 2")
    assert talk.wait_for("pong") == "pong 2"
    server.end()
    assert talk.starting("move") == []


def test_undo_and_remove_take_moves_back(talk):
    server = asked(talk, Scripted(), "new", "force", "e2e4", "e7e5", "g1f3", "undo")
    assert server._board.moves == ["e2e4", "e7e5"]
    server.handle("remove")
    assert server._board.moves == []
    server.handle("undo")
    assert talk.starting("Error (no move to take back): undo") != []


def test_white_and_black_of_the_old_protocol_set_the_side_to_move(talk):
    server = asked(talk, Scripted(), "new", "force", "black")
    assert not server._board.white_to_move
    server.handle("usermove e7e5")
    talk.wait_for("move")


@pytest.mark.parametrize("move", ["e2e5", "e7e5", "g1g1", "Nf6"])
def test_an_illegal_move_is_refused_and_changes_nothing(talk, move):
    server = asked(talk, Scripted(), "new", f"usermove {move}")
    assert talk.lines == [f"Illegal move: {move}"]
    assert server._board.moves == []


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        ("usermove", "Illegal move (not a move):"),
        ("usermove zz", "Illegal move (not a move): zz"),
        ("make coffee", "Error (unknown command): make coffee"),
        ("edit", "Error (command not supported): edit"),
        ("nps 100", "Error (command not supported): nps"),
        ("variant atomic", "Error (only normal chess is played here): variant"),
        ("setboard nonsense", "tellusererror Illegal position"),
        ("level 1 2", "Error (level must read"),
        ("option Depth=deep", "Error (scripted has no option"),
    ],
)
def test_what_makes_no_sense_is_answered(talk, line, answer):
    asked(talk, Scripted(), "new", line)
    assert [each.startswith(answer) for each in talk.lines] == [True]


def test_castling_by_the_kings_steps_is_a_move(talk):
    lines = ["force", "e2e4", "e7e5", "g1f3", "g8f6", "f1c4", "f8c5", "usermove e1g1", "usermove e8g8"]
    server = asked(talk, Scripted(), "new", *lines)
    assert talk.lines == []
    assert server._board.moves[-2:] == ["e1g1", "e8g8"]


def test_a_mate_by_us_is_claimed(talk):
    asked(talk, Turing(), "new", "setboard 6k1/5ppp/8/8/8/8/8/3RK3 w - - 0 1", "go")
    talk.wait_for("1-0")
    assert talk.lines == ["move d1d8", "1-0 {White mates}"]


def test_a_mate_of_us_is_acknowledged(talk):
    asked(talk, Scripted(), "setboard 6k1/5ppp/8/8/8/8/8/3RK3 w - - 0 1", "d1d8", "ping 1")
    assert talk.lines == ["1-0 {White mates}", "pong 1"]


def test_a_draw_by_repetition_is_claimed(talk):
    moves = ["g1f3", "g8f6", "f3g1", "f6g8"] * 2
    server = asked(talk, Scripted(), "new", "force", *moves[:-1], "playother")
    server._own_color = True
    server.handle(moves[-1])
    assert talk.lines == ["1/2-1/2 {Threefold repetition}"]


def test_a_player_may_resign_or_offer_a_draw(talk):
    asked(talk, Scripted(Decision(move="e2e4", wants="resign")), "new", "go")
    assert talk.wait_for("resign") == "resign"
    asked(talk, Scripted(Decision(move="e2e4", wants="draw")), "new", "go")
    talk.wait_for("offer draw")


@pytest.mark.parametrize(("wdl", "taken"), [((0.1, 0.3, 0.6), True), ((0.6, 0.3, 0.1), False), (None, False)])
def test_a_draw_is_taken_by_the_one_who_stands_worse(talk, wdl, taken):
    server = asked(talk, Scripted(Decision(move="e2e4", wdl=wdl)), "new", "go")
    talk.wait_for("move")
    server.handle("draw")
    assert (talk.lines[-1] == "offer draw") is taken


def test_a_player_that_breaks_resigns_and_the_server_lives(talk):
    class Broken(Scripted):
        def play(self, board: Board, limit: Limit) -> Decision:
            raise PlayerFailure("its net is torn")

    server = asked(talk, Broken(), "new", "go")
    talk.wait_for("resign")
    assert talk.lines[0] == "tellusererror scripted failed: its net is torn"
    server.handle("ping 1")
    talk.wait_for("pong 1")


@pytest.mark.parametrize("last", [[b"quit\n", b"ping 1\n"], []], ids=["quit", "end of input"])
def test_quit_and_the_end_of_input_both_end_it(talk, last):
    serve(Scripted(waits=True), [b"new\n", b"go\n", *last], talk)
    assert talk.lines == []


@pytest.mark.parametrize("mind", ["turing", "random"])
def test_python_chess_plays_with_us_as_an_xboard_engine(mind):
    command = [sys.executable, "-m", "tabiya", "xboard", mind]
    board = chess.Board()
    with chess.engine.SimpleEngine.popen_xboard(command, timeout=60) as engine:
        for limit in (
            chess.engine.Limit(time=0.05),
            chess.engine.Limit(depth=1),
            chess.engine.Limit(white_clock=2, black_clock=2, white_inc=0.1, black_inc=0.1),
        ):
            result = engine.play(board, limit, info=chess.engine.INFO_ALL)
            assert result.move in board.legal_moves
            board.push(result.move)
        # Another line of play: python-chess takes moves back with `undo` and `remove`.
        other = chess.Board("r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1")
        assert engine.play(other, chess.engine.Limit(depth=1)).move in other.legal_moves
        engine.quit()


def test_a_whole_game_is_played_to_its_end(talk):
    server = asked(talk, RandomMover(seed=3), "new", "st 1", "force")
    board = Board()
    for _ in range(600):
        if board.outcome() is not None:
            break
        talk.lines.clear()
        server.handle("go")
        board.push(talk.wait_for("move").split()[1])
        server.handle("force")
    else:
        pytest.fail("the game never ended")
    assert talk.lines[-1].startswith(board.outcome()[0])
