"""A run on a machine without a network: its script, from games to networks that have played."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import chess
import pytest
import zstandard

pytest.importorskip("torch")

from tabiya._core import unpack_fens
from tabiya.data.labels import load_move_labels

ROOT = Path(__file__).resolve().parents[1]
SCRIPT = ROOT / "offline" / "train.sh"
GAME = "1. e4 e5 2. Nf3 Nc6 3. Bb5 a6 4. Ba4 Nf6 5. O-O Be7 6. Re1 b5 7. Bb3 d6 8. c3 O-O 1-0"
PUZZLES = """PuzzleId,FEN,Moves,Rating,Themes
one,6k1/5ppp/8/8/8/8/5PPP/R5K1 b - - 0 1,h7h6 a1a8,600,mate
"""
CONFIG = """
mind = "resnet"
steps = 3
batch = 8
warmup_steps = 1
device = "cpu"
bf16 = false
compile = false
[shape]
blocks = 1
channels = 8
squeeze = 4
[[sources]]
kind = "games"
path = "data/games"
share = 1.0
"""

Call = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """A folder with this program, some games, a puzzle and a book, and no teacher."""
    at = tmp_path / "machine"
    for folder in ("program", "more/games", "data"):
        (at / folder).mkdir(parents=True)
    (at / "program" / "src").symlink_to(ROOT / "src")
    games = "\n".join(f'[Event "{n}"]\n[Result "1-0"]\n\n{GAME}\n' for n in range(20))
    (at / "more" / "games" / "some.pgn").write_text(games)
    openings = []
    for move in chess.Board().legal_moves:
        board = chess.Board()
        board.push(move)
        openings.append(board.epd() + "\n")
    for name, text in (("lichess.csv", PUZZLES), ("noob_3moves.epd", "".join(openings))):
        (at / "data" / f"{name}.zst").write_bytes(zstandard.compress(text.encode()))
    return at


@pytest.fixture
def call(machine: Path) -> Call:
    settings = {
        "OFFLINE": str(machine),
        "PYTHON": sys.executable,
        "TEACHERS": "0",
        "DEVICE": "cpu",
        "GAMES": "2",
    }

    def carried_out(*words: str, **more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["sh", str(SCRIPT), *words],
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            env=os.environ | settings | {"SAMPLE": "1"} | more,
            timeout=300,
            check=False,
        )

    return carried_out


def test_a_run_goes_from_games_to_networks_that_have_played(call: Call, machine: Path, tmp_path: Path):
    config = tmp_path / "run.toml"
    config.write_text(CONFIG)
    began = call("begin", str(config), "1")
    assert began.returncode == 0, began.stderr
    assert "the run has ended" in call("wait", "120").stdout
    log = (machine / "runs" / "offline" / "log.jsonl").read_text()
    assert '"step": 3' in log
    ended = call("end", str(tmp_path / "out"))
    assert ended.returncode == 0, ended.stderr
    for pair, games in (("shipped", 2), ("float", 8)):
        assert json.loads((tmp_path / "out" / f"duel-{pair}.json").read_text())["match"]["games"] == games
    made = {path.name for path in (tmp_path / "out").iterdir()}
    assert made >= {"int8.onnx", "int8.json", "float.json", "float.onnx.gz.0", "log.jsonl"}
    parts = sorted((tmp_path / "out").glob("float.onnx.gz.*"))
    whole = gzip.decompress(b"".join(path.read_bytes() for path in parts))
    assert whole == (machine / "runs" / "float.onnx").read_bytes()


def test_teachers_choose_moves_and_score_them_where_the_network_s_own_games_led(
    call: Call, machine: Path, tmp_path: Path, stockfish: str
):
    config = tmp_path / "run.toml"
    config.write_text(CONFIG)
    assert call("begin", str(config), "0").returncode == 0
    assert "the run has ended" in call("wait", "120").stdout
    # What has arrived as the network to begin with plays, and not the shipped one.
    trained = machine / "runs" / "offline" / "step-00000003.safetensors"
    trained.rename(machine / "data" / "start.safetensors")
    (machine / "program" / "stockfish").write_text(f'#!/bin/sh\nexec "{stockfish}"\n')
    played = call("own", "2", OWN="64", TEACHERS="3", SCORERS="2", PIECE="8", TOLD="1e-6", HARD="400")
    assert played.returncode == 0, played.stderr
    seen = (machine / "own.fen").read_text().splitlines()
    hard = (machine / "hard.fen").read_text().splitlines()
    assert len(seen) > 500
    assert len(hard) == 400
    assert set(hard) <= set(seen)
    deadline = time.monotonic() + 100
    first, second = (machine / "data" / "labels-own" / f"00{n}.moves" for n in (0, 1))
    manifest = machine / "data" / "lines-own" / "manifest.json"
    while not (second.exists() and manifest.exists()) and time.monotonic() < deadline:
        time.sleep(0.2)
    packed, offsets, scores = load_move_labels(first)
    assert [*unpack_fens(packed)] == hard[:8]
    assert offsets[-1] == len(scores) > 8
    assert json.loads(manifest.read_text())["counts"]["positions_kept"] > 0


def test_an_archive_is_unpacked_where_the_run_is(call: Call, machine: Path, tmp_path: Path):
    (tmp_path / "lines").mkdir()
    (tmp_path / "lines" / "manifest.json").write_text("{}")
    subprocess.run(["tar", "cf", "lines.tar", "lines"], cwd=tmp_path, check=True)
    taken = call("take", str(tmp_path / "lines.tar"))
    assert taken.returncode == 0, taken.stderr
    assert (machine / "lines" / "manifest.json").exists()


def test_what_it_is_not_told_to_do_is_refused(call: Call):
    refused = call("fly")
    assert refused.returncode == 2
    assert refused.stderr.startswith("usage: train.sh take ARCHIVE")
