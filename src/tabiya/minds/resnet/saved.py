"""A checkpoint's network in torch, with its averaged weights: to judge, to teach, to be exported."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from tabiya.errors import UserError
from tabiya.learn.checkpoint import chosen_checkpoint, load_checkpoint, load_weights
from tabiya.learn.config import config_from_dict
from tabiya.minds.resnet.network import ResNet, ResNetShape


class Saved(NamedTuple):
    """A network, and what its checkpoint says of it."""

    network: ResNet
    file: Path
    metadata: dict[str, Any]


def saved_network(where: str | Path) -> Saved:
    """From a checkpoint, or the newest one of a run's folder."""
    file = chosen_checkpoint(Path(where))
    tensors, metadata = load_checkpoint(file)
    config = metadata.get("config")
    if not isinstance(config, dict) or "shape" not in config:
        raise UserError(f"{file} does not say what shape its network has: it is of no resnet run")
    network = ResNet(config_from_dict(config["shape"], ResNetShape, f"the config of {file}"))
    load_weights(network, tensors)
    return Saved(network, file, metadata)
