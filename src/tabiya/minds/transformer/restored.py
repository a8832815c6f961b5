"""A transformer out of its ONNX file, in torch again.

What interferes inside a network needs hooks, and a file has none. A file stored
in fewer bits gives its rounded weights back.
"""

from __future__ import annotations

import json
from pathlib import Path

import torch
from torch import Tensor

from tabiya.errors import UserError
from tabiya.learn.config import config_from_dict
from tabiya.learn.onnx_layers import Contents, give_back, read_contents
from tabiya.minds.transformer.network import Transformer
from tabiya.minds.transformer.onnx_inputs import METADATA
from tabiya.minds.transformer.shape import TransformerShape

ROOT = "network."
"""What the exporter's wrapper puts before every name."""


def restored(path: Path) -> Transformer:
    """The network of a file that `export_onnx` wrote."""
    contents = read_contents(path)
    if METADATA not in contents.metadata:
        raise UserError(f"{path} is no transformer of tabiya: it does not say what its tokens mean")
    shape = config_from_dict(json.loads(contents.metadata[METADATA]), TransformerShape, str(path))
    network = Transformer(shape)
    give_back(network.named_parameters(), _weights(contents), path)
    return network.eval()


def _weights(contents: Contents) -> dict[str, Tensor]:
    """Everything that a file knows, by the names of the network's parameters."""
    found = {name.removeprefix(ROOT): tensor for name, tensor in contents.named.items()}
    switches: dict[str, Tensor] = {}
    for layer in contents.layers:
        name, constant = layer.name.removeprefix(ROOT), layer.constants[0]
        if name != "embedding":
            if layer.operator == "MatMul":
                found.setdefault(f"{name}.weight", constant.T)
        # The embedding's folded constants: rows that are repeated, and switches off and on.
        elif layer.operator == "Expand":
            found["embedding.cls" if constant.shape[1] == 1 else "embedding.slots"] = constant[0]
        elif layer.operator in ("Add", "Mul"):
            switches[layer.operator] = constant
    if len(switches) == 2:
        off, more = switches["Add"], switches["Mul"]
        found["embedding.switches"] = torch.stack([off, off + more], 1)
    return found
