"""Small networks, written byte by byte from the format's description, so that the tests need no training."""

from __future__ import annotations

import random
import struct
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

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
