"""What a promotion has to know of a transformer: which file is meant, what it sees, how large it is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tabiya.learn.parameters import parameter_count
from tabiya.learn.promotion import Shelf
from tabiya.learn.run_record import learned_by
from tabiya.minds.transformer import shelf
from tabiya.minds.transformer.onnx_network import OnnxTransformer


def shipped_shelf() -> Shelf:
    """Where the shipped network lies."""
    return Shelf("transformer", shelf.SHIPPED, ".onnx", _inputs, parameter_count, learned_by)


def candidate_path(where: Path) -> Path:
    """The network that is to be promoted: a file, or the newest one of a run's folder."""
    return shelf.network_path(str(where))


def _inputs(network: Path) -> dict[str, Any]:
    return OnnxTransformer(network).inputs()
