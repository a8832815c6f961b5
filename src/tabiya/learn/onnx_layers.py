"""What an ONNX file of ours knows, by the names of the network it was made from.

The exporter keeps the names of most weights. It turns a linear layer's over,
folds a normalisation into the convolution before it, and calls the outcome
after nothing; but the operator that uses it is called after its layer. However
a file stores its weights, they come back as they are computed with.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from tabiya.errors import UserError
from tabiya.learn.onnx_torch import TorchSession

_NAMELESS = "onnx::"


@dataclass(frozen=True)
class Layer:
    """An operator and what it was given that has no name of its own."""

    name: str
    """That of the layer: "blocks.0.up" where the operator is "/blocks.0/up/MatMul"."""
    operator: str
    constants: tuple[Tensor, ...]


@dataclass(frozen=True)
class Contents:
    """A whole file."""

    named: dict[str, Tensor]
    layers: list[Layer]
    metadata: dict[str, str]


def read_contents(path: Path) -> Contents:
    """A file's contents; one that is missing or damaged is refused with a sentence."""
    if not path.is_file():
        raise UserError(f"no file {path}")
    try:
        session = TorchSession(path, "cpu")
    except UserError:
        raise
    except Exception:  # protobuf's errors have no common kind, and tell a user nothing
        raise UserError(f"{path} is no ONNX network, or a damaged one") from None
    known = session.constants
    layers = []
    for node in session.nodes:
        given = [known[name] for name in node.inputs if name.startswith(_NAMELESS) and name in known]
        if given:
            parts = node.name.strip("/").split("/")[:-1]
            layers.append(Layer(".".join(parts), node.operator, tuple(given)))
    named = {name: tensor for name, tensor in known.items() if not name.startswith(_NAMELESS)}
    return Contents(named, layers, session.get_modelmeta().custom_metadata_map)


@torch.no_grad()
def give_back(parameters: Iterable[tuple[str, Tensor]], weights: Mapping[str, Tensor], path: Path) -> None:
    """Fill a network's named parameters with the weights of a file; one that it lacks is named."""
    for name, parameter in parameters:
        found = weights.get(name)
        if found is None or found.shape != parameter.shape:
            raise UserError(f"{path} cannot be restored: it does not give back {name}")
        parameter.copy_(found)
