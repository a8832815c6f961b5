"""The network in torch: two views through one first layer, clipped ReLU, L2, one number.

A position comes as rows of active features, the side to move's view and the
other's, filled up with numbers beyond the set (`_core.FeatureSet.rows`). A
small set is spread out to a matrix of zeros and ones on the device, because a
dense product is what a GPU does best; a large one is summed row by row.

An output of 1 is `OUTPUT` centipawns. What the integers of the file can hold
(`Limits`) is known here and kept by `NnueNetwork.clip` after every step, so
that rounding at the end can overflow nowhere.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812 - torch's own custom
from torch import Tensor, nn

from tabiya import _core
from tabiya.errors import UserError

OUTPUT = 600
"""Centipawns that an output of 1 stands for."""
WEIGHT_SHIFT, TAIL_SHIFT = 6, 10
"""L2's weights are whole 64ths or finer (`quantised` chooses), those behind it whole 1024ths."""
LARGEST_SHIFT = 2
"""The first layer's weights are whole 127ths, halves or quarters of these where 16 bits allow it; those that
training has left small enough are rounded to finer steps still."""
ROOMY = 1.9
"""What a weight of the first layer may reach before a finer step is chosen instead."""
BIAS = 2.0
"""The most that a bias of the first layer may be; those behind it, eight times as much."""
DENSE = 4096
"""Sets up to this size are spread out to zeros and ones."""
COLUMNS = 32
"""Additions at most that make the first layer's gradient of a large set."""
ALIGNED = 64
"""Rows of the first layer come in multiples of this; those beyond the set stay zero."""


@dataclass(frozen=True, kw_only=True)
class NnueShape:
    """What the network sees and how large it is."""

    features: str = "ALL"
    """A feature expression, or the name of one (docs/nnue-training.md)."""
    l1: int = 512
    """Neurons of the first layer, for each view."""
    l2: int = 32
    extra: int = 0
    """Neurons of one more layer behind L2; 0: there is none."""
    buckets: int = 1
    """Sets of later layers, chosen by the number of pieces."""

    def __post_init__(self) -> None:
        limits = {"l1": (1, 8192), "l2": (1, 1024), "extra": (0, 1024), "buckets": (1, 32)}
        for name, (least, most) in limits.items():
            if not least <= getattr(self, name) <= most:
                raise UserError(f"{name} must lie between {least} and {most}, got {getattr(self, name)}")
        feature_set(self.features)


def feature_set(expression: str) -> _core.FeatureSet:
    """The set of an expression; `UserError` where it cannot be read."""
    try:
        return _core.FeatureSet(expression)
    except ValueError as error:
        raise UserError(f"cannot read the features {expression!r}: {error}") from None


@dataclass(frozen=True)
class Limits:
    """What each kind of parameter may reach, and the scales of the file that follow from it."""

    accumulator_shift: int
    first: float
    l2: float
    extra: float
    output: float

    @staticmethod
    def of(shape: NnueShape, max_active: int) -> Limits:
        """The finest step of the first layer that leaves its weights room, with every sum inside its type."""

        def first(shift: int) -> float:
            # Half a unit for rounding each row, and some for the bias and what rounds the shift.
            reach = (32767 - 8) / (127 << shift) - BIAS
            return reach / max_active - 0.5 / (127 << shift)

        shift = max((s for s in range(LARGEST_SHIFT + 1) if first(s) >= ROOMY), default=0)
        reach = (2**31 - 1) / ((127 << WEIGHT_SHIFT) << TAIL_SHIFT) - 8 * BIAS - 1

        def tail(inputs: int) -> float:
            return min(reach / inputs, 32767 / (1 << TAIL_SHIFT)) - 1 / (1 << TAIL_SHIFT)

        last = shape.extra or shape.l2
        return Limits(shift, first(shift), 127 / (1 << WEIGHT_SHIFT), tail(shape.l2), tail(last))

    @property
    def scales(self) -> tuple[int, int, int, int]:
        return self.accumulator_shift, WEIGHT_SHIFT, TAIL_SHIFT, OUTPUT


class NnueNetwork(nn.Module):
    """Rows of features in, evaluations for the side to move out."""

    def __init__(self, shape: NnueShape, bf16: bool = False) -> None:
        super().__init__()
        self.shape, self.bf16 = shape, bf16
        self.features = feature_set(shape.features)
        self.limits = Limits.of(shape, self.features.max_active)
        self.size = self.features.size
        rows = (self.size // ALIGNED + 1) * ALIGNED
        self.weight = nn.Parameter(torch.zeros(rows, shape.l1))
        self.bias = nn.Parameter(torch.zeros(shape.l1))
        self.l2 = nn.Linear(2 * shape.l1, shape.buckets * shape.l2)
        self.extra = nn.Linear(shape.l2, shape.buckets * shape.extra) if shape.extra else None
        self.output = nn.Linear(shape.extra or shape.l2, shape.buckets)
        self._begin()

    def _begin(self) -> None:
        """First weights: activations in the open part of the clipped ReLU, evaluations near zero."""
        with torch.no_grad():
            spread = 1 / math.sqrt(min(self.features.max_active, 32))
            self.weight[: self.size].uniform_(-spread, spread).mul_(0.5)
            self.bias.fill_(0.25)
            self.output.weight.mul_(0.5)
            self.output.bias.zero_()
            self.clip()

    def forward(self, rows: Tensor, pieces: Tensor) -> Tensor:
        """Evaluations [N] in units of `OUTPUT` of rows [N, 2, W], with the number of pieces [N]."""
        bucket = self.bucket(pieces)
        hidden = self._chosen(self.l2(self.activations(rows)), bucket).clamp(0, 1)
        if self.extra is not None:
            hidden = self._chosen(self.extra(hidden), bucket).clamp(0, 1)
        return self._chosen(self.output(hidden), bucket)[:, 0]

    def activations(self, rows: Tensor) -> Tensor:
        """What L2 is shown, [N, 2 * L1] of 0 to 1: the side to move's view, then the other's."""
        numbers = rows.reshape(2 * rows.shape[0], -1).int()
        if rows.dtype == torch.int16:
            numbers = numbers & 0xFFFF  # they were stored without a sign
        sums = self._first(numbers).float() + self.bias
        return sums.clamp(0, 1).reshape(rows.shape[0], -1)

    def _first(self, numbers: Tensor) -> Tensor:
        if self.size > DENSE:
            summed: Tensor = _Summed.apply(self.weight, numbers, self.size)
            return summed
        dtype = torch.bfloat16 if self.bf16 else self.weight.dtype
        hot = torch.zeros(numbers.shape[0], self.weight.shape[0], dtype=dtype, device=numbers.device)
        hot = hot.scatter(1, numbers.long(), 1.0)
        return hot @ self.weight.to(dtype)

    def bucket(self, pieces: Tensor) -> Tensor | None:
        """Which later layers each position goes through; None where there is no choice."""
        if self.shape.buckets == 1:
            return None
        number = (pieces.long() - 1).clamp(min=0) * self.shape.buckets // 32
        return number.clamp(max=self.shape.buckets - 1)

    def _chosen(self, outputs: Tensor, bucket: Tensor | None) -> Tensor:
        """Of the outputs of all buckets, [N, buckets * n], those of each position's own."""
        if bucket is None:
            return outputs
        wide = outputs.reshape(outputs.shape[0], self.shape.buckets, -1)
        return wide.gather(1, bucket[:, None, None].expand(-1, 1, wide.shape[2]))[:, 0]

    @torch.no_grad()
    def clip(self) -> None:
        """Bring every parameter back to what the file can hold."""
        limits = self.limits
        self.weight.clamp_(-limits.first, limits.first)
        self.weight[self.size :].zero_()
        self.bias.clamp_(-BIAS, BIAS)
        layers = [(self.l2, limits.l2), (self.output, limits.output)]
        if self.extra is not None:
            layers.append((self.extra, limits.extra))
        for layer, most in layers:
            layer.weight.clamp_(-most, most)
            layer.bias.clamp_(-8 * BIAS, 8 * BIAS)


class _Summed(torch.autograd.Function):
    """Rows of a large matrix summed; the gradient is added row by row, with no copy per row.

    torch's own backward sorts the numbers, which a captured step cannot hold.
    """

    @staticmethod
    def forward(ctx: Any, weight: Tensor, numbers: Tensor, size: int) -> Tensor:
        ctx.save_for_backward(numbers)
        ctx.rows, ctx.size = weight.shape[0], size
        return F.embedding_bag(numbers, weight, mode="sum")

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        (numbers,) = ctx.saved_tensors
        (gradient,) = gradients
        size, rows = ctx.size, ctx.rows
        # What fills rows up is spread over all rows beyond the set, lest every addition waits for one.
        spare = size + torch.arange(numbers.shape[0], device=numbers.device, dtype=numbers.dtype) % (
            rows - size
        )
        numbers = torch.where(numbers < size, numbers, spare[:, None])
        total = torch.zeros(rows, gradient.shape[1], dtype=gradient.dtype, device=gradient.device)
        # Column by column, so that no gradient is copied; of very wide rows, some columns at a time.
        together = -(-numbers.shape[1] // COLUMNS)
        for columns in torch.split(numbers, together, 1):
            total.index_add_(0, columns.reshape(-1), gradient.repeat_interleave(columns.shape[1], 0))
        return total, None, None


def parameter_count(network: NnueNetwork) -> int:
    """Parameters that count: without the rows that stay zero."""
    spare = (network.weight.shape[0] - network.size) * network.shape.l1
    return sum(parameter.numel() for parameter in network.parameters()) - spare
