"""`tabiya play`, as a user starts it."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import sys

import pytest

from tabiya.cli import main

TABIYA = [sys.executable, "-m", "tabiya"]


def run(*arguments: str, typed: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*TABIYA, *arguments], input=typed, capture_output=True, text=True, timeout=300, check=False
    )


def test_without_a_terminal_it_plays_one_short_game_and_leaves():
    first = run("play")
    assert first.returncode == 0
    assert first.stderr == ""
    lines = first.stdout.splitlines()
    assert lines[0].startswith("1. e3  (turing")
    assert lines[-1].split()[0] in ("1-0", "0-1", "1/2-1/2")

    def moves(text: str) -> list[str]:
        return [line.partition("  ")[0] for line in text.splitlines()]

    assert moves(run("play").stdout) == moves(first.stdout)


def test_moves_may_come_from_a_pipe(tmp_path):
    path = tmp_path / "game.pgn"
    done = run("play", "human", "random?seed=1", "--save", str(path), typed="e4\nresign\n")
    assert done.returncode == 0
    assert "human resigns" in done.stdout
    assert '[Result "0-1"]' in path.read_text()


def test_one_name_alone_is_an_opponent():
    done = run("play", "random?seed=1", typed="resign\n")
    assert done.returncode == 0
    assert "1-0  human resigns" in done.stdout


def test_two_machines_play_it_out():
    done = run("play", "turing", "random?seed=2", "--fen", "6k1/5ppp/8/8/8/8/8/3RK3 w - - 0 1")
    assert done.returncode == 0
    assert "1. Rd8#" in done.stdout
    assert "1-0  checkmate" in done.stdout


def test_the_end_of_input_leaves_cleanly_with_the_game_saved(tmp_path):
    path = tmp_path / "game.pgn"
    done = run("play", "human", "random?seed=1", "--save", str(path), typed="e4\n")
    assert done.returncode == 0
    assert done.stderr == ""
    assert "1. e4 " in path.read_text()


def test_a_saved_game_is_played_on(tmp_path):
    path = tmp_path / "game.pgn"
    run("play", "human", "human", "--save", str(path), typed="e4\ne5\n")
    done = run("play", "human", "human", "--pgn", str(path), "--save", str(path), typed="Nf3\n")
    assert done.returncode == 0
    assert "1. e4 e5 2. Nf3" in path.read_text()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--fen", "nonsense"], "malformed FEN"),
        (["--fen", "8/8/8/8/8/8/8/8 w - - 0 1"], "illegal position"),
        (["--fen", "R5k1/5ppp/8/8/8/8/8/4K3 b - - 0 1"], "that game is already over: 1-0 by checkmate"),
        (["--pgn", "/no/such/file.pgn"], "No such file or directory: /no/such/file.pgn"),
        (["--save", "/no/such/folder/x.pgn"], "there is no folder /no/such/folder"),
        (["turng"], "unknown player 'turng', did you mean 'turing'?"),
        (["turing", "uci:/no/such/engine"], "there is no engine '/no/such/engine'"),
        (["--movetime", "-5"], "movetime must not be negative"),
        (["--fen", "x", "--pgn", "y"], "not allowed with"),
    ],
)
def test_a_mistake_is_one_sentence_and_exit_2(capsys, arguments, sentence):
    assert main(["play", *arguments]) == 2
    error = capsys.readouterr().err
    assert sentence in error
    assert error.count("\n") == 1


def test_at_a_terminal_the_board_has_colours_and_ctrl_c_saves(tmp_path):
    path = tmp_path / "game.pgn"
    ours, theirs = pty.openpty()
    environment = os.environ | {
        "TERM": "xterm-256color",
        "COLORTERM": "truecolor",
        "PYTHONIOENCODING": "utf-8",
    }
    environment.pop("NO_COLOR", None)
    command = [*TABIYA, "play", "human", "random?seed=1", "--save", str(path)]
    process = subprocess.Popen(
        command,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=environment,
        start_new_session=True,
        # A shell's background job, as tests may be run in, ignores Ctrl-C and hands that down.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    os.close(theirs)
    try:
        seen = read_until(ours, b"1. ")
        assert "♚".encode() in seen
        assert b"\x1b[" in seen
        os.write(ours, b"e4\n")
        read_until(ours, b"2. ")
        # A signal that comes between the prompt and the wait for a key is noticed only at the next one.
        for _ in range(20):
            process.send_signal(signal.SIGINT)
            if select.select([ours], [], [], 3)[0]:
                break
        read_until(ours, b"saved in")
        assert process.wait(60) == 130
    finally:
        process.kill()
        process.wait()
        os.close(ours)
    assert "1. e4 " in path.read_text()


def read_until(terminal: int, text: bytes) -> bytes:
    seen = b""
    while text not in seen:
        ready, _, _ = select.select([terminal], [], [], 60)
        assert ready, f"no {text!r} in {seen!r}"
        try:
            seen += os.read(terminal, 4096)
        except OSError:
            break
    assert text in seen
    return seen
