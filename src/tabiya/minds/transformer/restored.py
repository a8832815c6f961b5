"""A network out of its ONNX file, in torch again: what interferes inside needs hooks, and a file has none.

Most weights keep their names in a file. The exporter turns a linear layer's
over and names them after nothing, but the product they belong to is called
after the layer; and it folds what the embedding does to CLS, the switches and
empty slots. A file stored in sixteen bits gives its rounded weights back.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from tabiya.errors import UserError
from tabiya.learn.config import config_from_dict
from tabiya.minds.transformer.network import Transformer
from tabiya.minds.transformer.onnx_inputs import METADATA
from tabiya.minds.transformer.shape import TransformerShape

Weights = dict[str, NDArray[np.float32]]
ROOT = "network."
"""What the exporter's wrapper puts before every name."""


def restored(path: Path) -> Transformer:
    """The network of a file that `export_onnx` wrote."""
    import onnx

    try:
        model = onnx.load(str(path))
    except FileNotFoundError:
        raise UserError(f"no file {path}") from None
    except Exception as error:  # protobuf's errors have no common kind
        raise UserError(f"{path} is no ONNX network, or a damaged one: {error}") from None
    told = {each.key: each.value for each in model.metadata_props}
    if METADATA not in told:
        raise UserError(f"{path} is no transformer of tabiya: it does not say what its tokens mean")
    network = Transformer(config_from_dict(json.loads(told[METADATA]), TransformerShape, str(path)))
    weights = _weights(model.graph)
    with torch.no_grad():
        for name, parameter in network.named_parameters():
            found = weights.get(name)
            if found is None or found.shape != parameter.shape:
                raise UserError(f"{path} cannot be restored: it does not give back {name}")
            parameter.copy_(torch.from_numpy(found))
    return network.eval()


def _weights(graph: Any) -> Weights:
    """Everything that a graph knows, by the names of the network's parameters."""
    import onnx

    stored: Weights = {
        each.name.removesuffix(".half"): onnx.numpy_helper.to_array(each).astype(np.float32)
        for each in graph.initializer
    }
    found = {name.removeprefix(ROOT): array for name, array in stored.items() if name.startswith(ROOT)}
    for node in graph.node:
        # "/network/blocks.0/up/MatMul" is the product of the layer blocks.0.up.
        layer = node.name.strip("/").replace("/", ".").removeprefix(ROOT).rpartition(".")[0]
        constants = [stored[name] for name in node.input if name in stored and name.startswith("onnx::")]
        if not constants:
            continue
        constant = constants[0]
        if layer == "embedding":
            _embedded(found, node.op_type, constant)
        elif node.op_type == "MatMul":
            found.setdefault(f"{layer}.weight", np.ascontiguousarray(constant.T))
    if "off" in found and "on" in found:
        found["embedding.switches"] = np.stack([found["off"], found["off"] + found["on"]], 1)
    return found


def _embedded(found: Weights, operator: str, constant: NDArray[np.float32]) -> None:
    """What the embedding's folded constants were: rows that are repeated, and switches off and on."""
    if operator == "Expand":
        found["embedding.cls" if constant.shape[1] == 1 else "embedding.slots"] = constant[0]
    elif operator in ("Add", "Mul"):
        found["off" if operator == "Add" else "on"] = constant
