"""Where the transformer's networks lie: `protocols/network_path.py` has the rule."""

from __future__ import annotations

from pathlib import Path

from tabiya.protocols.network_path import ASSETS, network_file

SHIPPED = ASSETS / "transformer"


def network_path(where: str, shipped: Path = SHIPPED) -> Path:
    """The ONNX file that `where` (the path in a player's name, or nothing) stands for."""
    return network_file("transformer", where, shipped, ".onnx")
