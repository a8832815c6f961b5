"""Our players as UCI engines, asked by hand and by python-chess."""

from __future__ import annotations

import subprocess
import sys
import threading

import chess
import chess.engine
import pytest

from tabiya._core import Board
from tabiya.minds.simple.montecarlo import MonteCarlo
from tabiya.minds.simple.random_mover import RandomMover
from tabiya.minds.simple.turing import Turing
from tabiya.player import Decision, Limit, Player, PlayerFailure, PlayerOption, Report
from tabiya.protocols.uci_server import UciServer, serve


class Recorder(Player):
    """Remembers what it was asked; plays the first legal move with a fixed opinion."""

    name = "recorder"

    def __init__(self) -> None:
        self.limits: list[Limit] = []
        self.boards: list[Board] = []
        self.settings: dict[str, str] = {}
        self.games = 0

    def play(self, board: Board, limit: Limit) -> Decision:
        self.limits.append(limit)
        self.boards.append(board)
        move = board.legal_moves()[0]
        return Decision(move=move, wdl=(0.5, 0.25, 0.25), score=-34, depth=7, nodes=500, seconds=0.25)

    def new_game(self) -> None:
        self.games += 1

    def options(self) -> tuple[PlayerOption, ...]:
        return (
            PlayerOption("Book File", "string", ""),
            PlayerOption("Style", "combo", "calm", choices=("calm", "wild")),
            PlayerOption("Forget", "button", ""),
        )

    def set_option(self, name: str, value: str) -> None:
        self.settings[name] = value


class Stubborn(Player):
    """Thinks until it is told to stop, and counts how often it began."""

    name = "stubborn"

    def __init__(self) -> None:
        self.began = 0
        self._stopped = threading.Event()

    def play(self, board: Board, limit: Limit) -> Decision:
        self._stopped.clear()
        self.began += 1
        if limit.infinite:
            self._stopped.wait(60)
        return Decision(move=board.legal_moves()[-1])

    def stop(self) -> None:
        self._stopped.set()


def asked(talk, player: Player, *lines: str) -> UciServer:
    server = UciServer(player, talk)
    for line in lines:
        assert server.handle(line)
    return server


def test_uci_introduces_the_player_and_its_options(talk):
    asked(talk, Recorder(), "uci")
    assert talk.lines[0].startswith("id name Tabiya ")
    assert talk.lines[0].endswith(" recorder")
    assert "option name Book File type string default <empty>" in talk.lines
    assert "option name Style type combo default calm var calm var wild" in talk.lines
    assert "option name Forget type button" in talk.lines
    assert talk.lines[-1] == "uciok"


@pytest.mark.parametrize(
    ("go", "limit"),
    [
        (
            "go wtime 60000 btime 30000 winc 1000 binc 500 movestogo 12",
            Limit(white_clock=60, black_clock=30, white_increment=1, black_increment=0.5, moves_to_go=12),
        ),
        ("go movetime 250", Limit(movetime=0.25)),
        ("go nodes 5000", Limit(nodes=5000)),
        ("go depth 6", Limit(depth=6)),
        ("go mate 3", Limit(depth=5)),
        ("go depth 2 nodes 10 movetime 5", Limit(depth=2, nodes=10, movetime=0.005)),
        ("go", Limit()),
        ("go wtime -50 btime 100 movestogo 0", Limit(white_clock=0, black_clock=0.1)),
        ("go depth 0 nodes 0", Limit(depth=1, nodes=1)),
        ("go movetime soon depth 3", Limit(depth=3)),
        ("go depth", Limit()),
        ("go searchmoves e2e4 d2d4 depth 4", Limit(depth=4)),
        ("go nodes 99999999999999999999999999", Limit(nodes=10**12)),
    ],
)
def test_every_limit_of_go_reaches_the_player(talk, go, limit):
    player = Recorder()
    asked(talk, player, go)
    talk.wait_for("bestmove")
    assert player.limits == [limit]


def test_an_answer_carries_score_line_and_speed(talk):
    asked(talk, Recorder(), "go depth 7")
    talk.wait_for("bestmove")
    assert talk.lines == [
        "info depth 7 score cp -34 nodes 500 nps 2000 time 250 pv a2a3",
        "bestmove a2a3",
    ]


class Talkative(Recorder):
    """Tells two lines of depth 3 while it thinks, then decides for the first at `depth`."""

    name = "talkative"
    note = "thinks aloud"

    def __init__(self, depth: int) -> None:
        super().__init__()
        self.depth = depth

    def play(self, board: Board, limit: Limit) -> Decision:
        assert self.report is not None
        common = {"depth": 3, "seldepth": 9, "nodes": 1000, "seconds": 0.5, "hashfull": 12}
        self.report(Report(**common, pv=("e2e4", "e7e5"), score=20.0, wdl=(0.3, 0.5, 0.2)))
        self.report(Report(**common, pv=("d2d4",), line=2, score=-29_996.0))
        return Decision(move="e2e4", depth=self.depth, pv=("e2e4", "e7e5"), nodes=1000, seconds=0.5)


def test_what_a_player_tells_while_it_thinks_is_passed_on(talk):
    asked(talk, Talkative(3), "go")
    talk.wait_for("bestmove")
    effort = "nodes 1000 nps 2000 hashfull 12 time 500"
    assert talk.lines == [
        f"info depth 3 seldepth 9 multipv 1 score cp 20 {effort} pv e2e4 e7e5",
        f"info depth 3 seldepth 9 multipv 2 score mate -4 {effort} pv d2d4",
        "bestmove e2e4 ponder e7e5",
    ]


def test_a_decision_that_says_more_than_the_last_report_is_shown_too(talk):
    asked(talk, Talkative(4), "setoption name UCI_ShowWDL value true", "go")
    talk.wait_for("bestmove")
    assert " score cp 20 wdl 300 500 200 nodes " in talk.lines[0]
    assert talk.lines[2] == "info depth 4 nodes 1000 nps 2000 time 500 pv e2e4 e7e5"


def test_a_players_note_is_told_once(talk):
    asked(talk, Talkative(3), "uci", "isready", "isready")
    assert talk.starting("info string") == ["info string thinks aloud"]


def test_win_draw_loss_is_shown_when_asked_for(talk):
    asked(talk, Recorder(), "setoption name UCI_ShowWDL value true", "go")
    assert " wdl 500 250 250 " in talk.wait_for("info depth")


def test_a_player_with_win_draw_loss_alone_gets_a_score(talk):
    server = UciServer(MonteCarlo(seed=1), talk, centipawns=lambda points: 1000 * points)
    server.handle("go nodes 16")
    talk.wait_for("bestmove")
    score = int(talk.wait_for("info score cp").split()[3])
    assert 0 <= score <= 1000


def test_a_mate_is_told_in_moves(talk):
    asked(talk, Turing(), "position fen 6k1/5ppp/8/8/8/8/8/3RK3 w - - 0 1", "go")
    assert talk.wait_for("bestmove") == "bestmove d1d8"
    assert " score mate 1 " in talk.wait_for("info depth")


def test_position_takes_the_history_along(talk):
    player = Recorder()
    asked(talk, player, "position startpos moves g1f3 g8f6 f3g1 f6g8", "go")
    talk.wait_for("bestmove")
    assert player.boards[0].moves == ["g1f3", "g8f6", "f3g1", "f6g8"]
    assert player.boards[0].repetitions() == 1


@pytest.mark.parametrize(
    "line",
    [
        "position",
        "position nowhere",
        "position fen",
        "position fen 8/8/8/8/8/8/8/8 w - - 0 1",
        "position fen gibberish w - - 0 1",
        "position startpos moves e2e5",
        "position startpos moves e2",
        "setoption",
        "setoption name",
        "setoption value 3",
        "hello",
    ],
)
def test_a_malformed_command_is_answered_and_changes_nothing(talk, line):
    player = Recorder()
    asked(talk, player, "position startpos moves e2e4", line, "isready")
    assert talk.lines[-1] == "readyok"
    assert len(talk.starting("info string ")) == 1
    server = asked(talk, player, "position startpos moves e2e4")
    server.handle("go")
    talk.wait_for("bestmove")
    assert player.boards[0].moves == ["e2e4"]


def test_a_refused_option_is_explained(talk):
    asked(talk, Turing(), "setoption name Depth value deep", "setoption name Dept value 2")
    assert talk.lines == [
        "info string Depth must be a whole number, not 'deep'",
        "info string turing has no option 'Dept', did you mean 'Depth'?",
    ]


def test_options_with_blanks_in_their_names_are_set(talk):
    player = Recorder()
    asked(talk, player, "setoption name Book File value /my books/a.bin", "setoption name Style value wild")
    assert player.settings == {"Book File": "/my books/a.bin", "Style": "wild"}


def test_words_before_a_known_command_are_skipped(talk):
    asked(talk, Recorder(), "joho isready")
    assert talk.lines == ["readyok"]


@pytest.mark.parametrize(
    "fen",
    ["R5k1/5ppp/8/8/8/8/8/4K3 b - - 0 1", "7k/5Q2/6K1/8/8/8/8/8 b - - 0 1"],
    ids=["mate", "stalemate"],
)
def test_a_finished_game_has_no_best_move(talk, fen):
    asked(talk, Turing(), f"position fen {fen}", "go movetime 10", "isready")
    assert talk.lines == ["bestmove (none)", "readyok"]


@pytest.mark.parametrize("player", [RandomMover(seed=1), Stubborn()], ids=["instant", "thinking"])
def test_infinite_says_nothing_before_stop(talk, player):
    server = asked(talk, player, "go infinite", "isready", "debug on", "register later", "isready")
    assert server._thought is not None
    server._thought.wait(0.2)
    assert talk.starting("bestmove") == []
    server.handle("stop")
    talk.wait_for("bestmove")
    server.handle("stop")
    server.end()
    assert len(talk.starting("bestmove")) == 1


def test_ponder_waits_for_ponderhit_and_then_thinks_within_the_limit(talk):
    player = Stubborn()
    server = asked(talk, player, "position startpos moves e2e4 e7e5", "go ponder movetime 10", "isready")
    assert talk.starting("bestmove") == []
    server.handle("ponderhit")
    talk.wait_for("bestmove")
    assert player.began == 2
    server.end()
    assert len(talk.starting("bestmove")) == 1


def test_a_wrong_guess_while_pondering_is_ended_by_stop(talk):
    server = asked(talk, Stubborn(), "go ponder wtime 1000 btime 1000", "stop")
    talk.wait_for("bestmove")
    server.handle("ponderhit")
    server.end()
    assert len(talk.starting("bestmove")) == 1


def test_a_second_go_ends_the_first(talk):
    server = asked(talk, Stubborn(), "go infinite", "go depth 1")
    server.end()
    assert len(talk.starting("bestmove")) == 2


def test_a_player_that_breaks_is_reported_and_the_server_lives(talk):
    class Broken(Recorder):
        def play(self, board: Board, limit: Limit) -> Decision:
            raise PlayerFailure("its net is torn")

    server = asked(talk, Broken(), "go depth 1")
    talk.wait_for("bestmove 0000")
    talk.wait_for("info string recorder failed: its net is torn")
    server.handle("isready")
    assert talk.lines[-1] == "readyok"


def test_new_game_reaches_the_player(talk):
    player = Recorder()
    asked(talk, player, "position startpos moves e2e4", "ucinewgame", "go")
    talk.wait_for("bestmove")
    assert player.games == 1
    assert player.boards[0].moves == []


@pytest.mark.parametrize("last", [[b"quit\n", b"uci\n"], []], ids=["quit", "end of input"])
def test_quit_and_the_end_of_input_both_end_it(talk, last):
    serve(Stubborn(), [b"go infinite\n", *last], talk)
    assert talk.starting("uciok") == []


@pytest.mark.parametrize("mind", ["random", "montecarlo?seed=1"])
def test_python_chess_plays_with_us_as_an_engine(mind):
    command = [sys.executable, "-m", "tabiya", "uci", mind]
    board = chess.Board()
    with chess.engine.SimpleEngine.popen_uci(command, timeout=60) as engine:
        assert engine.id["name"].endswith(mind.partition("?")[0])
        for limit in (
            chess.engine.Limit(time=0.01),
            chess.engine.Limit(nodes=20),
            chess.engine.Limit(white_clock=1, black_clock=1, white_inc=0, black_inc=0),
            chess.engine.Limit(depth=1, nodes=5),
        ):
            result = engine.play(board, limit, info=chess.engine.INFO_ALL)
            assert result.move in board.legal_moves
            board.push(result.move)
        engine.configure({"Seed": 7})
        with engine.analysis(board, game=object()) as analysis:
            analysis.stop()
            assert analysis.wait().move in board.legal_moves
        engine.quit()


def test_the_process_ends_with_its_input_even_while_thinking():
    command = [sys.executable, "-m", "tabiya", "uci", "montecarlo"]
    done = subprocess.run(command, input=b"uci\ngo infinite\n", capture_output=True, timeout=120, check=False)
    assert done.returncode == 0
    assert done.stderr == b""
    assert b"uciok\n" in done.stdout
