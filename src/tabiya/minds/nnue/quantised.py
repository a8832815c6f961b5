"""From torch to the file of integers that plays, and how far apart the two are.

Rounding itself is done in Rust, in the same place that knows the file; here
parameters are laid out for it, and its answers are held against the network
they came from.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tabiya import _core
from tabiya.errors import UserError
from tabiya.files import replacing
from tabiya.minds.nnue.network import OUTPUT, NnueNetwork

LARGEST = 10_000
"""Evaluations end here."""
CHUNK = 4096


def quantise(network: NnueNetwork, path: str | Path) -> _core.QuantisedNetwork:
    """Round a network, write its file, and return what was written as Rust reads it back."""
    path = Path(path)
    try:
        content = rounded(network).content()
    except ValueError as error:
        raise UserError(f"the network does not fit {path.name}: {error}") from None
    with replacing(path) as temporary:
        temporary.write_bytes(content)
    return _core.QuantisedNetwork(path.read_bytes())


def rounded(network: NnueNetwork) -> _core.QuantisedNetwork:
    """The network in integers; `ValueError` where a weight does not fit, which `clip` rules out."""
    shape, size = network.shape, network.features.size
    first = {"biases": _flat(network.bias), "weights": _flat(network.weight[:size])}
    stacks = []
    for bucket in range(shape.buckets):
        inner = slice(bucket * shape.l2, (bucket + 1) * shape.l2)
        stack = {
            "l2_biases": _flat(network.l2.bias[inner]),
            "l2_weights": _flat(network.l2.weight[inner]),
            "extra_biases": np.zeros(0, np.float32),
            "extra_weights": np.zeros(0, np.float32),
            "output_biases": _flat(network.output.bias[bucket : bucket + 1]),
            "output_weights": _flat(network.output.weight[bucket]),
        }
        if network.extra is not None:
            second = slice(bucket * shape.extra, (bucket + 1) * shape.extra)
            stack["extra_biases"] = _flat(network.extra.bias[second])
            stack["extra_weights"] = _flat(network.extra.weight[second])
        stacks.append(stack)
    sizes = (shape.l1, shape.l2, shape.extra, shape.buckets)
    return _core.QuantisedNetwork.rounded(
        network.features.expression, sizes, network.limits.scales, first, stacks
    )


def _flat(tensor: Tensor) -> NDArray[np.float32]:
    array: NDArray[np.float32] = tensor.detach().float().cpu().contiguous().reshape(-1).numpy()
    return array


@dataclass(frozen=True)
class Errors:
    """Integer evaluation less the network's own, in the file's units, over many positions."""

    positions: int
    median: float
    mean: float
    within_50: float
    """Share of errors of at most 50 units."""
    largest: float
    edges: tuple[float, ...]
    """Of the histogram: its outer bins hold all that lies beyond."""
    counts: tuple[int, ...]

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def rounding_errors(
    network: NnueNetwork,
    quantised: _core.QuantisedNetwork,
    packed: NDArray[np.uint8],
    bins: int = 40,
    threads: int = 1,
) -> Errors:
    """The histogram of what rounding changed, on these positions."""
    error = quantised.evaluate(packed, threads) - evaluations(network, packed, threads)
    reach = max(50.0, float(np.quantile(np.abs(error), 0.999)))
    edges = np.linspace(-reach, reach, bins + 1)
    counts, _ = np.histogram(np.clip(error, -reach, reach), edges)
    return Errors(
        positions=len(error),
        median=float(np.median(error)),
        mean=float(np.mean(error)),
        within_50=float(np.mean(np.abs(error) <= 50)),
        largest=float(np.max(np.abs(error))),
        edges=tuple(edges.tolist()),
        counts=tuple(counts.tolist()),
    )


@torch.no_grad()
def evaluations(network: NnueNetwork, packed: NDArray[np.uint8], threads: int = 1) -> NDArray[np.float64]:
    """What the network itself says, in the file's units, for the side to move."""
    was, network.bf16 = network.bf16, False
    device = network.weight.device
    found = []
    for start in range(0, len(packed), CHUNK):
        part = np.ascontiguousarray(packed[start : start + CHUNK])
        width = network.features.most_active(part, threads)
        rows = torch.from_numpy(network.features.wide_rows(part, width, threads)).to(device)
        pieces = torch.from_numpy(piece_counts(part)).to(device)
        found.append(network(rows, pieces).double().cpu().numpy() * OUTPUT)
    network.bf16 = was
    return np.clip(np.concatenate(found), -LARGEST, LARGEST) if found else np.zeros(0)


_BITS = np.array([bin(byte).count("1") for byte in range(256)], np.uint8)


def piece_counts(packed: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """How many pieces stand on each board of [..., 32] bytes."""
    return np.asarray(_BITS[packed[..., :8]].sum(-1, dtype=np.uint8))
