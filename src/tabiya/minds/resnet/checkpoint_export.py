"""A run's checkpoint to a network that plays: ONNX and its manifest, checked against torch.

This is the one step of deployment that needs torch.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tabiya.errors import UserError
from tabiya.learn.checkpoint import chosen_checkpoint, load_checkpoint, load_weights
from tabiya.learn.config import config_from_dict
from tabiya.learn.export import export_onnx
from tabiya.learn.exported import POSITIONS, describe_exported, learned_until
from tabiya.minds.resnet.network import ResNet, ResNetShape, parameter_count


def export_checkpoint(where: Path, out: Path, *, half: bool = False) -> dict[str, Any]:
    """Write the averaged weights of a checkpoint, or of a run's newest one, to `out` with its manifest."""
    file = chosen_checkpoint(where)
    tensors, metadata = load_checkpoint(file)
    config = metadata.get("config")
    if not isinstance(config, dict) or "shape" not in config:
        raise UserError(f"{file} does not say what shape its network has: it is of no resnet run")
    shape = config_from_dict(config["shape"], ResNetShape, f"the config of {file}")
    network = ResNet(shape)
    load_weights(network, tensors)
    differences = export_onnx(network, shape.planes, out, half=half, positions=POSITIONS)
    figures = describe_exported(
        out,
        kind="resnet",
        inputs={"planes": shape.planes},
        parameters=parameter_count(network),
        config=config,
        learned=learned_until(file, metadata),
        positions=POSITIONS,
        differences=differences,
    )
    return {"checkpoint": str(file), **figures}
