"""Where the networks lie: from what a user wrote to one ONNX file.

`resnet` alone is the network shipped with the package; after a colon stands a
file, or the folder of a training run, whose newest network is meant.
"""

from __future__ import annotations

from pathlib import Path

from tabiya.player import PlayerError
from tabiya.protocols.network_path import shipped_network, written_network

SHIPPED = Path(__file__).resolve().parents[2] / "assets" / "resnet"


def network_path(where: str, shipped: Path = SHIPPED) -> Path:
    """The ONNX file that `where` (the path in a player's name, or nothing) stands for."""
    if where:
        return written_network("resnet", where, ".onnx")
    found = shipped_network(shipped, ".onnx")
    if found is None:
        raise PlayerError("no resnet network is shipped yet: name one with resnet:path")
    return found
