"""Small data and small transformers that the tests share."""

from __future__ import annotations

import json
import random
from pathlib import Path

import numpy as np
import pytest

from tabiya import _core
from tabiya.data.labels import write_move_labels
from tabiya.data.shards import FORMAT, RECORD, VERSION


def game_records(games: int, seed: int, elo: int = 0) -> np.ndarray:
    """Random games as records, with ratings from `elo` on, ten more for each game."""
    chance = random.Random(seed)
    records = []
    for game in range(games):
        board = _core.Board()
        for ply in range(60):
            moves = board.legal_moves()
            if not moves or board.outcome(claim=True):
                break
            move = chance.choice(moves)
            record = np.zeros((), RECORD)
            record["packed"] = np.frombuffer(board.packed(), np.uint8)
            record["move"], record["eval"] = _core.uci_to_code(move), 32767
            record["white_elo"] = record["black_elo"] = elo + 10 * game
            record["game"], record["ply"], record["result"] = game, ply, game % 3 - 1
            records.append(record)
            board.push(move)
    return np.array(records, RECORD)


def write_folder(folder: Path, records: np.ndarray, held_out: int = 40) -> Path:
    """An extracted folder of one shard, its last records held out."""
    folder.mkdir()
    parts = {"train": records[:-held_out], "validation": records[-held_out:]}
    for split, part in parts.items():
        part.tofile(folder / f"one.{split}.pos")
    shard = {"name": "one", "source": "one.pgn", **{split: len(part) for split, part in parts.items()}}
    manifest = {"format": FORMAT, "version": VERSION, "complete": True, "options": {}, "shards": [shard]}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    return folder


@pytest.fixture(autouse=True)
def one_thread() -> None:
    """Networks this small gain nothing from a second thread, and wait for it on a busy machine."""
    torch = pytest.importorskip("torch")
    torch.set_num_threads(1)


@pytest.fixture
def games(tmp_path: Path) -> Path:
    """An extracted folder of ten random games."""
    return write_folder(tmp_path / "games", game_records(10, seed=5, elo=1000))


@pytest.fixture
def labels(tmp_path: Path) -> Path:
    """Move labels of some random positions."""
    positions = _core.random_positions(200, 11)
    offsets, _, _ = _core.successors(positions)
    scores = np.random.default_rng(0).integers(-300, 300, offsets[-1]).astype(np.int16)
    path = tmp_path / "l.moves"
    write_move_labels(path, (positions, offsets, scores))
    return path
