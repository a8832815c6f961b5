"""Small files to learn from: labels that say who has more wood, and a folder of games."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from tabiya import _core
from tabiya.data.labels import write_move_labels
from tabiya.data.shards import FORMAT, RECORD, VERSION

Judge = Callable[[np.ndarray], np.ndarray]
PRICES = np.array([100, 310, 330, 500, 950, 0])


def wood(packed: np.ndarray) -> np.ndarray:
    """Centipawns of pieces, for White."""
    nibbles = np.stack([packed[:, 8:24] & 15, packed[:, 8:24] >> 4], 2).reshape(len(packed), 32)
    count = np.unpackbits(packed[:, :8], axis=1).sum(1)
    real = np.arange(32) < count[:, None]
    worth = PRICES[np.minimum(nibbles & 7, 5)] * np.where(nibbles & 8, -1, 1)
    return (worth * real).sum(1)


@pytest.fixture(scope="session")
def wood_for_mover() -> Judge:
    def judge(packed: np.ndarray) -> np.ndarray:
        white = wood(packed)
        return np.where(packed[:, 24] & 1, -white, white)

    return judge


@pytest.fixture(scope="package", autouse=True)
def one_thread() -> Iterator[None]:
    """Networks this small wait for threads longer than they compute."""
    torch = pytest.importorskip("torch")
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def labels_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every move of some positions, scored by the wood that is left."""
    positions = _core.random_positions(400, 5)
    offsets, after, _ = _core.successors(positions)
    black_answers = (after[:, 24] & 1).astype(bool)
    for_mover = np.where(black_answers, wood(after), -wood(after))
    path = tmp_path_factory.mktemp("labels") / "wood.moves"
    write_move_labels(path, (positions, offsets, for_mover.astype(np.int16)))
    return path


@pytest.fixture(scope="session")
def games_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Positions as `data extract` leaves them: a move, an evaluation (none for every fifth), a result."""
    folder = tmp_path_factory.mktemp("games")
    counts = {}
    for seed, split in enumerate(("train", "validation")):
        positions = _core.random_positions(600, 50 + seed)
        offsets, _, moves = _core.successors(positions)
        records = np.zeros(len(positions), RECORD)
        records["packed"], records["move"] = positions, moves[offsets[:-1]]
        records["eval"] = np.where(np.arange(600) % 5 == 0, 32767, wood(positions))
        records["result"] = np.sign(wood(positions))
        records["ply"] = np.arange(600) % 60
        records.tofile(folder / f"a.{split}.pos")
        counts[split] = len(positions)
    manifest = {
        "format": FORMAT,
        "version": VERSION,
        "complete": True,
        "shards": [{"name": "a", **counts}],
        "options": {},
    }
    (folder / "manifest.json").write_text(json.dumps(manifest))
    return folder
