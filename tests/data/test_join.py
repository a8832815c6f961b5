"""Label files joined: each position once, and no exam among them."""

from __future__ import annotations

from itertools import pairwise, product
from pathlib import Path

import numpy as np
import pytest

from tabiya import _core
from tabiya.cli import main
from tabiya.data.extract import extract
from tabiya.data.join import join
from tabiya.data.labels import load_move_labels, write_move_labels


@pytest.fixture
def labels(tmp_path: Path) -> Path:
    """Forty positions of random games; each move's score is its number."""
    positions = _core.random_positions(40, 5)
    positions = positions[np.unique(_core.position_keys(positions), return_index=True)[1]]
    offsets, _, _ = _core.successors(positions)
    write_move_labels(tmp_path / "l.moves", (positions, offsets, np.arange(offsets[-1]).astype(np.int16)))
    return tmp_path / "l.moves"


def test_a_position_that_two_files_label_keeps_the_first_label(labels: Path, tmp_path: Path):
    packed, offsets, scores = load_move_labels(labels)
    write_move_labels(tmp_path / "again.moves", (packed[::-1].copy(), *flipped(offsets, scores + 1)))
    joined, counts = join([labels, tmp_path / "again.moves"])
    assert counts["repeats"] == len(packed)
    assert np.array_equal(joined[0], packed)
    assert np.array_equal(joined[2], scores)


def flipped(offsets: np.ndarray, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The same ragged scores with the positions in reverse order."""
    rows = [scores[a:b] for a, b in pairwise(offsets)][::-1]
    return np.concatenate([[0], np.cumsum([len(row) for row in rows])]), np.concatenate(rows)


def test_positions_near_a_puzzle_are_left_out(labels: Path, tmp_path: Path):
    packed, offsets, scores = load_move_labels(labels)
    row = int(np.flatnonzero(np.diff(offsets) > 0)[3])
    board = _core.Board.from_packed(packed[row].tobytes())
    move = board.legal_moves()[0]
    board.push(move)
    (tmp_path / "p.csv").write_text(f"FEN,Moves\n{board.fen()},\n")  # the puzzle begins one ply later
    joined, counts = join([labels], tmp_path / "p.csv")
    assert counts["near_puzzles"] >= 1
    assert packed[row].tobytes() not in {one.tobytes() for one in joined[0]}
    kept = int(np.flatnonzero((packed == joined[0][-1]).all(1))[0])
    assert np.array_equal(joined[2][joined[1][-2] : joined[1][-1]], scores[offsets[kept] : offsets[kept + 1]])


def test_positions_of_validation_games_are_left_out(tmp_path: Path):
    pairs = product((f"{file}{rank}" for file in "abcdefgh" for rank in (3, 4)), "abcdefgh", (5, 6))
    games = "".join(f'[Event "x"]\n\n1. {first} {file}{rank} *\n\n' for first, file, rank in pairs)
    (tmp_path / "g.pgn").write_text(games)
    manifest = extract([tmp_path / "g.pgn"], tmp_path / "out")
    held_out = sum(shard["validation"] for shard in manifest["shards"])
    assert held_out > 0
    start = np.frombuffer(_core.Board().packed(), np.uint8).reshape(1, 32)
    write_move_labels(tmp_path / "s.moves", (start, np.array([0, 20]), np.zeros(20, np.int16)))
    joined, counts = join([tmp_path / "s.moves"], folders=(tmp_path / "out",))
    assert counts["in_validation_games"] == 1
    assert len(joined[0]) == 0


def test_the_command_writes_one_file_and_says_what_it_left_out(labels: Path, tmp_path: Path, capsys):
    out = tmp_path / "all.moves"
    assert main(["data", "join", str(labels), str(labels), "--out", str(out)]) == 0
    assert "repeats" in capsys.readouterr().out
    assert len(load_move_labels(out)[0]) == len(load_move_labels(labels)[0])
    assert main(["data", "join", str(labels), "--out", "x.tsv"]) == 2
