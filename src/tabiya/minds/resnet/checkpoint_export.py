"""A run's checkpoint to a network that plays: ONNX and its manifest, checked against torch.

This is the one step of deployment that needs torch.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tabiya.learn.export import export_onnx
from tabiya.learn.exported import POSITIONS, describe_exported, learned_until
from tabiya.minds.resnet.network import parameter_count
from tabiya.minds.resnet.saved import saved_network


def export_checkpoint(where: Path, out: Path, *, half: bool = False) -> dict[str, Any]:
    """Write the averaged weights of a checkpoint, or of a run's newest one, to `out` with its manifest."""
    network, file, metadata = saved_network(where)
    planes = network.shape.planes
    differences = export_onnx(network, planes, out, half=half, positions=POSITIONS)
    figures = describe_exported(
        out,
        kind="resnet",
        inputs={"planes": planes},
        parameters=parameter_count(network),
        config=metadata["config"],
        learned=learned_until(file, metadata),
        positions=POSITIONS,
        differences=differences,
    )
    return {"checkpoint": str(file), **figures}
