"""A run's checkpoint to a network that plays: ONNX and its manifest, checked against torch.

This is the one step of deployment that needs torch.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tabiya.errors import UserError
from tabiya.learn.checkpoint import load_checkpoint, load_weights, newest_checkpoint
from tabiya.learn.config import config_from_dict
from tabiya.learn.export import export_onnx
from tabiya.learn.run_record import trained_on
from tabiya.learn.sidecar import write_sidecar
from tabiya.minds.resnet.network import ResNet, ResNetShape, parameter_count

POSITIONS = 1000
"""Random positions on which the file must answer as torch does."""


def export_checkpoint(where: Path, out: Path, *, half: bool = False) -> dict[str, Any]:
    """Write the averaged weights of a checkpoint, or of a run's newest one, to `out` with its manifest."""
    file = newest_checkpoint(where) if where.is_dir() else where
    if file is None:
        raise UserError(f"no checkpoint (step-….safetensors) in the folder {where}")
    tensors, metadata = load_checkpoint(file)
    config = metadata.get("config")
    if not isinstance(config, dict) or "shape" not in config:
        raise UserError(f"{file} does not say what shape its network has: it is of no resnet run")
    shape = config_from_dict(config["shape"], ResNetShape, f"the config of {file}")
    network = ResNet(shape)
    load_weights(network, tensors)
    differences = export_onnx(network, shape.planes, out, half=half, positions=POSITIONS)
    learned = trained_on(file.parent)
    if "step" in metadata:
        learned = {"steps": metadata["step"], **learned}
    parameters = parameter_count(network)
    write_sidecar(
        out,
        kind="resnet",
        planes=shape.planes,
        parameters=parameters,
        config=json.loads(json.dumps(config)),
        trained_on=learned,
        measured={"difference_from_torch": {"positions": POSITIONS, **_rounded(differences)}},
    )
    return {
        "checkpoint": str(file),
        "out": str(out),
        "bytes": out.stat().st_size,
        "parameters": parameters,
        "positions": POSITIONS,
        "difference_from_torch": _rounded(differences),
    }


def _rounded(differences: dict[str, float]) -> dict[str, float]:
    return {head: float(f"{difference:.3g}") for head, difference in differences.items()}
