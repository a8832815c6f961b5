"""Deep but narrow positions: found in games by the rules, kept only where a teacher agrees."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tabiya import _core
from tabiya.arena.puzzles import read_puzzles
from tabiya.cli import main
from tabiya.data.forcing import Narrowness, candidates
from tabiya.data.shards import ShardFolder

# Black guards g8 with the knight; then the queen is given away there for a smothered mate.
BEFORE = "5b1k/6pp/8/6N1/4n3/1Q6/6PP/7K b - - 0 1"
SMOTHERED = "5b1k/6pp/5n2/6N1/8/1Q6/6PP/7K w - - 1 2"
LINE = ("g5f7", "h8g8", "f7h6", "g8h8", "b3g8", "f6g8", "h6f7")
GAME = f"""[Event "a smothered mate"]
[FEN "{BEFORE}"]
[SetUp "1"]
[Result "1-0"]

1... Nf6 2. Nf7+ Kg8 3. Nh6+ Kh8 4. Qg8+ Nxg8 5. Nf7# 1-0
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "game.pgn").write_text(GAME)
    assert main(["data", "extract", str(tmp_path / "game.pgn"), "--out", str(tmp_path / "games")]) == 0
    return tmp_path / "games"


def test_every_row_has_its_own_line():
    fens = [SMOTHERED, "6k1/5ppp/8/8/8/8/8/K3R3 w - - 0 1"]
    offsets, moves = _core.forced_mates(_core.pack_fens([*fens, fens[0]]), 4, 1, 2)
    lines = [[_core.code_to_uci(int(m)) for m in part] for part in np.split(moves, offsets[1:-1])]
    assert lines == [list(LINE), ["e1e8"], list(LINE)]


def test_of_a_line_and_its_tails_the_whole_line_is_taken(folder: Path):
    (found,) = candidates(ShardFolder.open(folder), Narrowness(least=2, longest=6, lead=9), 1)
    assert (found.led, found.line, found.moves) == ("e4f6", LINE, 4)
    assert found.lead == 6
    assert candidates(ShardFolder.open(folder), Narrowness(least=2, longest=6, lead=5), 1) == []
    assert candidates(ShardFolder.open(folder), Narrowness(least=5, longest=6, lead=9), 1) == []


def test_what_a_teacher_agrees_with_becomes_a_puzzle(folder: Path, tmp_path: Path, stockfish: str, capsys):
    out = tmp_path / "forcing.csv"
    words = ["data", "forcing", str(folder), "--teacher", stockfish, "--depth", "10", "--lead", "9"]
    words += ["--out", str(out)]
    assert main([*words, "--others", "32767"]) == 0
    assert "1 lines, 1 asked about, 1 kept (1 in 4)" in capsys.readouterr().out
    (puzzle,) = read_puzzles(out)
    assert puzzle.moves == ("e4f6", *LINE)
    assert puzzle.themes == ("forcing", "mateIn4")
    # Ahead in material, White wins in other ways as well.
    assert main([*words, "--others", "0"]) == 0
    assert list(read_puzzles(out)) == []


def test_lengths_that_exclude_each_other_are_refused(folder: Path, tmp_path: Path, capsys):
    words = ["data", "forcing", str(folder), "--out", str(tmp_path / "a.csv")]
    assert main([*words, "--least", "5", "--longest", "4"]) == 2
    assert "--least must be at least 1 and no more than --longest" in capsys.readouterr().err


def test_the_set_that_comes_along_is_the_one_of_its_manifest():
    import tabiya
    from tabiya.files import checksum

    path = Path(tabiya.__file__).parent / "assets" / "forcing" / "main.csv"
    manifest = json.loads(path.with_suffix(".json").read_text())
    assert manifest["sha256"] == checksum(path)
    puzzles = list(read_puzzles(path))
    assert len(puzzles) == manifest["positions"]
    for puzzle in puzzles:
        board, _ = puzzle.solver_positions()[0]
        offsets, _ = _core.forced_mates(np.frombuffer(board.packed(), np.uint8).reshape(1, 32), 6, 3)
        assert offsets[-1] == len(puzzle.moves) - 1
