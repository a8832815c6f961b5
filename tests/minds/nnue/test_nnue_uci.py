"""`tabiya uci nnue` as a process: info lines, options, long games, and an end when told to."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import chess
import chess.engine
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tabiya.minds.nnue.player import NnuePlayer
from tabiya.minds.nnue.settings import Settings
from tabiya.protocols import uci_server

SHUFFLE = ["g1f3", "g8f6", "f3g1", "f6g8"]


def told(*lines: str, wait: str | None = "bestmove") -> list[str]:
    """What the engine says to these lines; `quit` follows once `wait` was heard."""
    command = [sys.executable, "-m", "tabiya", "uci", "nnue"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as engine:
        assert engine.stdin is not None
        assert engine.stdout is not None
        engine.stdin.write("\n".join(lines) + "\n")
        engine.stdin.flush()
        heard: list[str] = []
        while wait is not None:
            line = engine.stdout.readline()
            assert line, heard
            heard.append(line.rstrip("\n"))
            if line.startswith(wait):
                break
        engine.stdin.write("quit\n")
        engine.stdin.close()
        # Not `communicate`, which reads past the lines that already wait in this side's buffer.
        heard += engine.stdout.read().splitlines()
        assert engine.wait(timeout=60) == 0
    return heard


def test_every_depth_is_told_with_all_that_chess_programs_show() -> None:
    lines = told("setoption name UCI_ShowWDL value true", "setoption name MultiPV value 2", "go depth 4")
    infos = [line for line in lines if line.startswith("info depth")]
    assert [line.split()[2] for line in infos if " multipv 1 " in line] == ["1", "2", "3", "4"]
    for line in infos:
        words = line.split()
        for word in ("seldepth", "multipv", "score", "wdl", "nodes", "hashfull", "time", "pv"):
            assert word in words, line
        at = words.index("wdl")
        assert sum(map(int, words[at + 1 : at + 4])) == 1000


def test_a_network_can_be_named_by_option(network: Path) -> None:
    lines = told(f"setoption name EvalFile value {network}", "isready", "go nodes 500")
    assert any(line.startswith("info string network small.nnue: ALL -> 2 x 16") for line in lines)


def test_options_out_of_range_and_garbage_change_nothing() -> None:
    lines = told(
        "setoption name Hash value 0",
        "setoption name Threads value many",
        "setoption name EvalFile value /nowhere.nnue",
        "setoption name Clear Hash",
        "setoption",
        "\x00\xff go nowhere",
        "position fen nonsense",
        "go depth 2",
    )
    complaints = [line for line in lines if line.startswith("info string")]
    assert any("Hash must lie between 1 and 65536" in line for line in complaints)
    assert any("Threads must be a whole number" in line for line in complaints)
    assert any("no network /nowhere.nnue" in line for line in complaints)
    assert any(line.startswith("bestmove ") for line in lines)


def test_a_game_of_three_hundred_moves_is_followed() -> None:
    board = chess.Board()
    moves = []
    # Every fifty moves a pawn steps, so that the game never ends.
    for number in range(300):
        pawn = number % 50 == 49
        step = ("a", "b", "c", "d", "e", "h")[number // 50]
        for uci in (f"{step}2{step}3", f"{step}7{step}6") if pawn else SHUFFLE[2 * (number % 2) :][:2]:
            if board.is_legal(chess.Move.from_uci(uci)):
                board.push_uci(uci)
                moves.append(uci)
    assert len(moves) > 560
    lines = told("position startpos moves " + " ".join(moves), "go depth 3")
    best = next(line for line in lines if line.startswith("bestmove")).split()[1]
    assert chess.Move.from_uci(best) in board.legal_moves


def test_quit_ends_an_infinite_search() -> None:
    lines = told("go infinite", wait="info depth 4")
    assert lines[-1].startswith("bestmove")


def test_a_chess_program_plays_two_moves_on_a_short_clock() -> None:
    with chess.engine.SimpleEngine.popen_uci([sys.executable, "-m", "tabiya", "uci", "nnue"]) as engine:
        board = chess.Board()
        limit = chess.engine.Limit(white_clock=0.4, black_clock=0.4, white_inc=0.01, black_inc=0.01)
        for _ in range(2):
            played = engine.play(board, limit, info=chess.engine.INFO_ALL)
            assert played.move is not None
            assert played.info["depth"] >= 1
            assert played.info["seldepth"] >= 1
            board.push(played.move)


def test_stop_is_answered_and_the_engine_goes_on() -> None:
    lines = told("go infinite", "stop", "stop", "isready", "go nodes 300", wait="readyok")
    assert sum(line.startswith("bestmove ") for line in lines) == 2


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("Hash", "-1"),
        ("Hash", "99999999999999999999"),
        ("Hash", ""),
        ("Hash", "1e3"),
        ("Threads", "0"),
        ("Threads", "257"),
        ("MultiPV", "0"),
        ("MultiPV", "257"),
        ("Move Overhead", "-1"),
        ("Move Overhead", "5001"),
        ("Without", "Nothing"),
        ("EvalFile", "."),
    ],
)
def test_an_option_out_of_range_is_explained_and_nothing_changes(option: str, value: str) -> None:
    player, said = NnuePlayer(None, Settings(hash=1)), list[str]()
    lines = [f"setoption name {option} value {value}", "position startpos", "go nodes 200", "isready"]
    uci_server.serve(player, [line.encode() + b"\n" for line in lines], said.append)
    assert any(line.startswith("info string ") for line in said)
    assert player.settings == Settings(hash=1)
    assert any(line.startswith("bestmove ") for line in said)


@pytest.mark.parametrize(
    "go",
    [
        "go wtime 0 btime 0",
        "go wtime -300 btime -300 winc 0 binc 0",
        "go wtime 1 btime 1 movestogo 1",
        "go movetime 0",
        "go movetime -5",
        "go nodes 0",
        "go depth 0",
        "go depth 1 nodes 1 movetime 1 wtime 1 btime 1",
        "go movetime 1e400 depth 1",
        "go depth 3 searchmoves e2e4",
    ],
)
def test_a_limit_of_nothing_still_gets_a_legal_move(go: str) -> None:
    said: list[str] = []
    uci_server.serve(
        NnuePlayer(None, Settings(hash=1)), [b"position startpos\n", f"{go}\n".encode()], said.append
    )
    best = next(line for line in said if line.startswith("bestmove")).split()[1]
    assert chess.Move.from_uci(best) in chess.Board().legal_moves


def test_a_finished_game_has_no_move() -> None:
    said: list[str] = []
    mate = b"position fen R5k1/5ppp/8/8/8/8/8/4K3 b - - 0 1\n"
    uci_server.serve(NnuePlayer(None, Settings(hash=1)), [mate, b"go depth 3\n"], said.append)
    assert said[-1] == "bestmove (none)"


WORDS = """
    uci isready ucinewgame setoption name value Hash Threads MultiPV Clear EvalFile Without NullMove position
    startpos fen moves go wtime btime winc binc movestogo movetime nodes depth mate infinite ponder stop
    ponderhit e2e4 e7e5 e1g1 a7a8q 0000 -1 0 1 3 99999999999999999999 nan <empty>
    rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR 8/8/8/8/8/8/8/8 4k3/8/8/8/8/8/8/4K2R w b K - KQkq
"""
LINE = st.one_of(
    st.lists(st.sampled_from(WORDS.split()), min_size=1, max_size=8).map(" ".join).map(str.encode),
    st.binary(max_size=40).map(lambda line: line.replace(b"\n", b"")),
)


@settings(max_examples=60, deadline=None)
@given(st.lists(LINE, max_size=12))
def test_whatever_is_sent_the_search_survives_and_is_ready_after(lines: list[bytes]) -> None:
    said: list[str] = []
    player = NnuePlayer(None, Settings(hash=1))
    sent = [line + b"\n" for line in (*lines, b"stop", b"setoption name Threads value 1", b"isready")]
    uci_server.serve(player, sent, said.append)
    assert "readyok" in said or any(b"quit" in line for line in lines)
