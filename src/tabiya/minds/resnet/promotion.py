"""What a promotion has to know of a ResNet: which file is meant, what it sees, how large it is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tabiya.errors import UserError
from tabiya.learn.parameters import parameter_count
from tabiya.learn.promotion import FIRST_NAME, Shelf
from tabiya.learn.run_record import learned_by
from tabiya.minds.resnet import shelf
from tabiya.minds.resnet.onnx_network import OnnxNetwork
from tabiya.player import PlayerError


def shipped_shelf() -> Shelf:
    """Where the shipped ResNet lies."""
    return Shelf("resnet", shelf.SHIPPED, ".onnx", _inputs, parameter_count, learned_by)


def candidate_path(where: Path) -> Path:
    """The network that is to be promoted: a file, or the newest one of a run's folder."""
    try:
        return shelf.network_path(str(where))
    except PlayerError:
        if where.is_dir() and any(where.glob("step-*.safetensors")):
            raise UserError(
                f"the run {where} has no network yet: "
                f"run `tabiya export onnx {where} --out {where / FIRST_NAME}.onnx` first"
            ) from None
        raise


def _inputs(network: Path) -> dict[str, Any]:
    return OnnxNetwork(network).inputs()
