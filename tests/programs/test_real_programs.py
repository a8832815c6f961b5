"""The settings as the chess programs themselves read them: xboard, polyglot, PyChess."""

from __future__ import annotations

import io
import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import chess
import chess.engine
import chess.pgn

from tabiya.cli import main

FindProgram = Callable[[str], str]


def install(program: str, starter: Path, *words: str) -> None:
    assert main(["install-engine", program, *words, "--tabiya", str(starter)]) == 0


# A few moves before the fifty-move rule: a whole game in a few seconds.
NEARLY_OVER = "7k/8/8/8/8/8/5Q2/K7 w - - 90 100\n"


def test_xboard_plays_a_game_from_its_list_and_keeps_the_list(
    installed_program: FindProgram, home: Path, starter: Path, tmp_path: Path
) -> None:
    xvfb, xboard = installed_program("xvfb-run"), installed_program("xboard")
    installed_program("polyglot")
    settings = home / ".xboardrc"
    settings.write_text('-firstChessProgramNames {"Another" -fcp another\n}\n')
    install("xboard", starter, "random")
    game, start = tmp_path / "game.pgn", tmp_path / "start.fen"
    start.write_text(NEARLY_OVER)
    # The first engine by its name in the list; the second speaks UCI through xboard's adapter, polyglot,
    # to which xboard can hand no path with a space.
    spaceless = tmp_path / "tabiya"
    spaceless.symlink_to(starter)
    command = [xvfb, "-a", xboard, "-ini", str(settings), "-fe", "Tabiya random"]
    command += ["-scp", f"{spaceless} uci random", "-sUCI", "-mg", "1", "-tc", "1", "-mps", "40"]
    command += ["-lpf", str(start), "-sgf", str(game), "-popupExitMessage", "false", "-soundProgram", ""]
    environment = os.environ | {"PATH": os.environ["PATH"] + ":/usr/games"}
    answer = subprocess.run(
        command, capture_output=True, timeout=100, check=False, env=environment, cwd=tmp_path
    )
    assert game.exists(), answer.stderr[-2000:]
    played = chess.pgn.read_game(io.StringIO(game.read_text()))
    assert played is not None
    assert played.errors == []
    assert "Tabiya" in played.headers["White"]
    assert "Tabiya" in played.headers["Black"]
    assert played.headers["Result"] in ("1-0", "0-1", "1/2-1/2")
    assert len(list(played.mainline_moves())) >= 1
    # xboard has written its settings anew at its end: many options more, and both engines.
    saved = settings.read_text()
    assert "Save Settings file" in saved
    assert f'"Another" -fcp another\n"Tabiya random" -fcp \'"{starter}" xboard random\'\n}}' in saved
    install("xboard", starter, "random")
    assert settings.read_text() == saved


def test_polyglot_makes_an_xboard_engine_of_our_uci_engine(
    installed_program: FindProgram, starter: Path, tmp_path: Path
) -> None:
    command = [installed_program("polyglot"), "-noini", "-ec", f'"{starter}" uci random', "-ed", "."]
    board = chess.Board()
    with chess.engine.SimpleEngine.popen_xboard(command, timeout=60, cwd=str(tmp_path)) as engine:
        for _ply in range(4):
            move = engine.play(board, chess.engine.Limit(time=1)).move
            assert move is not None
            board.push(move)
    assert board.ply() == 4


def test_pychess_discovers_the_engines_of_its_list(
    installed_program: FindProgram, home: Path, starter: Path
) -> None:
    installed_program("pychess")
    install("pychess", starter, "random", "turing")
    file = home / ".config" / "pychess" / "engines.json"
    # PyChess's own engine manager, without a window: it starts each engine and asks for its options.
    environment = {"HOME": str(home), "PATH": "/usr/bin:/bin"}
    answer = subprocess.run(
        ["/usr/bin/python3", "-m", "pychess.Players.engineNest"],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
        env=environment,
        cwd=home,
    )
    assert "'Tabiya random', 'Tabiya turing'" in answer.stdout, answer.stderr[-2000:]
    entries = {entry["name"]: entry for entry in json.loads(file.read_text())}
    assert "Depth" in [option["name"] for option in entries["Tabiya turing"]["options"]]
    assert entries["Tabiya turing"]["recheck"] is False
    # By this PyChess tells engines apart when it gives a hint or a rematch.
    assert entries["Tabiya turing"]["md5"] != entries["Tabiya random"]["md5"]
    before = file.read_bytes()
    install("pychess", starter, "random", "turing")
    assert file.read_bytes() == before
