"""From torch to the file of integers that plays, and how far apart the two are.

Rounding itself is done in Rust, in the same place that knows the file; here
the finest steps are chosen that hold a network's weights, parameters are laid
out for it, and its answers are held against the network they came from.

Training keeps weights within what coarse steps can hold (`network.Limits`), and
trained weights seldom come near that: the room that is left goes to precision.
Rounded weights of L2 meet activations that are never negative, so their errors
do not cancel: what they add up to on usual positions is taken out of the biases
first.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
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
from tabiya.minds.nnue.network import OUTPUT, WEIGHT_SHIFT, NnueNetwork

LARGEST = 10_000
"""Evaluations end here."""
CHUNK = 4096
FINEST_ACCUMULATOR, FINEST_WEIGHT = 6, 8
"""The finest steps that the file can have: of the first layer 127 × 2⁶, of L2 2⁸ for a weight of 1."""


def quantise(
    network: NnueNetwork, path: str | Path, usual: NDArray[np.uint8] | None = None
) -> _core.QuantisedNetwork:
    """Round a network, write its file, and return what was written as Rust reads it back.

    `usual` are packed positions like those it will meet; random ones if none are given.
    """
    path = Path(path)
    try:
        content = rounded(network, usual).content()
    except ValueError as error:
        raise UserError(f"the network does not fit {path.name}: {error}") from None
    with replacing(path) as temporary:
        temporary.write_bytes(content)
    return _core.QuantisedNetwork(path.read_bytes())


def rounded(network: NnueNetwork, usual: NDArray[np.uint8] | None = None) -> _core.QuantisedNetwork:
    """The network in integers; `ValueError` where a weight does not fit, which `clip` rules out."""
    usual = _core.random_positions(CHUNK, 1) if usual is None else usual
    _, coarsest, tail, output = network.limits.scales
    accumulator = _finest_accumulator(network)
    for weight in range(finest_weight(network), coarsest, -1):
        # Finer steps of L2 leave less room to the sums behind it; Rust knows whether it is enough.
        with contextlib.suppress(ValueError):
            return _rounded(network, (accumulator, weight, tail, output), usual)
    return _rounded(network, (accumulator, coarsest, tail, output), usual)


@torch.no_grad()
def _finest_accumulator(network: NnueNetwork) -> int:
    """The finest step of the first layer with which no features, active together, leave 16 bits."""
    weight, active = network.weight[: network.size], min(network.features.max_active, network.size)
    up, down = (
        (sign * weight).clamp(min=0).topk(active, 0).values.sum(0) + (sign * network.bias).clamp(min=0)
        for sign in (1, -1)
    )
    reach = float(torch.maximum(up, down).max())
    for shift in range(FINEST_ACCUMULATOR, network.limits.accumulator_shift, -1):
        # Half a unit for each row and the bias, and what rounds the shift.
        if reach * (127 << shift) + (active + 1) / 2 + (1 << shift) < 32767:
            return shift
    return network.limits.accumulator_shift


def finest_weight(network: NnueNetwork) -> int:
    """The finest step of L2's weights with which the largest fits eight bits."""
    largest = float(network.l2.weight.detach().abs().max())
    fitting = (s for s in range(FINEST_WEIGHT, WEIGHT_SHIFT, -1) if largest * (1 << s) <= 127)
    return next(fitting, WEIGHT_SHIFT)


def _rounded(
    network: NnueNetwork, scales: tuple[int, int, int, int], usual: NDArray[np.uint8]
) -> _core.QuantisedNetwork:
    shape, size = network.shape, network.size
    l2_bias = _balanced(network, usual, scales[1])
    first = {"biases": _flat(network.bias), "weights": _flat(network.weight[:size])}
    stacks = []
    for bucket in range(shape.buckets):
        inner = slice(bucket * shape.l2, (bucket + 1) * shape.l2)
        stack = {
            "l2_biases": _flat(l2_bias[inner]),
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
    return _core.QuantisedNetwork.rounded(network.features.expression, sizes, scales, first, stacks)


@torch.no_grad()
def _balanced(network: NnueNetwork, usual: NDArray[np.uint8], shift: int) -> Tensor:
    """L2's biases, less what rounding its weights adds on average, in each bucket on its own positions."""
    shape, weight = network.shape, network.l2.weight
    lost = weight - (weight * (1 << shift)).round() / (1 << shift)
    seen, count = torch.zeros_like(weight[: shape.buckets]), torch.zeros_like(weight[: shape.buckets, :1])
    for rows, pieces in _inputs(network, usual, 1):
        active, bucket = network.activations(rows), network.bucket(pieces)
        where = torch.zeros_like(pieces, dtype=torch.long) if bucket is None else bucket
        seen.index_add_(0, where, active)
        count.index_add_(0, where, torch.ones_like(active[:, :1]))
    # A bucket that none of the positions is of takes the mean of all.
    mean = torch.where(count > 0, seen / count.clamp(min=1), seen.sum(0) / count.sum().clamp(min=1))
    return network.l2.bias + (lost * mean.repeat_interleave(shape.l2, 0)).sum(1)


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
    found = [
        network(rows, pieces).double().cpu().numpy() * OUTPUT
        for rows, pieces in _inputs(network, packed, threads)
    ]
    return np.clip(np.concatenate(found), -LARGEST, LARGEST) if found else np.zeros(0)


def _inputs(network: NnueNetwork, packed: NDArray[np.uint8], threads: int) -> Iterator[tuple[Tensor, Tensor]]:
    """Rows and piece counts of the positions, some thousands at a time; the network is exact meanwhile."""
    device = network.weight.device
    was, network.bf16 = network.bf16, False
    try:
        for start in range(0, len(packed), CHUNK):
            part = np.ascontiguousarray(packed[start : start + CHUNK])
            width = network.features.most_active(part, threads)
            rows = torch.from_numpy(network.features.wide_rows(part, width, threads)).to(device)
            yield rows, torch.from_numpy(piece_counts(part)).to(device)
    finally:
        network.bf16 = was


_BITS = np.array([bin(byte).count("1") for byte in range(256)], np.uint8)


def piece_counts(packed: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """How many pieces stand on each board of [..., 32] bytes."""
    return np.asarray(_BITS[packed[..., :8]].sum(-1, dtype=np.uint8))
