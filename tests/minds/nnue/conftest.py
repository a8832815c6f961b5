"""Small files to learn from (labels that say who has more wood, a folder of games), and small networks.

The networks are written byte by byte from the format's description: playing with them needs no training.
"""

from __future__ import annotations

import json
import random
import struct
import zlib
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
    try:
        import torch
    except ImportError:  # playing needs none
        yield
        return
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


SQUARES, KINDS = 64, 12


def network_bytes(l1: int = 16, l2: int = 8, seed: int = 1, expression: str = "ALL") -> bytes:
    """A random network over the pieces on their squares."""
    chance = random.Random(seed)
    features = SQUARES * KINDS
    text = expression.encode()

    def numbers(kind: str, count: int, most: int) -> bytes:
        return struct.pack(f"<{count}{kind}", *(chance.randint(-most, most) for _ in range(count)))

    body = b"TABIYANN" + struct.pack("<11I", 1, len(text), features, l1, l2, 0, 1, 0, 6, 10, 600) + text
    body += numbers("h", l1, 60) + numbers("h", features * l1, 30)
    body += numbers("i", l2, 1000) + numbers("b", l2 * 2 * l1, 20)
    body += struct.pack("<i", 0) + numbers("h", l2, 300)
    return body + struct.pack("<I", zlib.crc32(body))


@pytest.fixture
def network(tmp_path: Path) -> Path:
    """The file of a small random network."""
    path = tmp_path / "small.nnue"
    path.write_bytes(network_bytes())
    return path


@pytest.fixture
def make_network(tmp_path: Path) -> Callable[..., Path]:
    """Writes a network of the sizes and the seed asked for."""

    def make(name: str, **sizes: int) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(network_bytes(**sizes))  # type: ignore[arg-type]
        return path

    return make
