"""Attention in which every pair of rows has a bias of its own, and the four ways to compute it.

The ways give the same numbers and differ in what they cost, which depends on
the device: `plain` materialises the weights and is the only one that can be
looked into; `sdpa` is torch's own kernel; `flex` is compiled for the bias;
`fused` is the kernel of `kernel.py`, which keeps a board's weights on the chip.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, TypeAlias

import torch
import torch.nn.functional as F  # noqa: N812 - torch's own custom
from torch import Tensor, nn

from tabiya.minds.transformer.shape import SQUARES, TransformerShape

Way: TypeAlias = Literal["plain", "sdpa", "flex", "fused"]
_FAR = -1e4
"""Added to the score of a row that is only there to fill up: its weight is zero."""


class Cut(NamedTuple):
    """An intervention in attention, for the lens: which weights are scaled, and where."""

    mask: Tensor
    """[B or 1, rows, rows]: what each weight (to query, from key) is multiplied with."""
    heads: Tensor
    """[layers, heads]: 1 where the mask applies, 0 where it does not."""
    renormalise: Tensor
    """One number: 1 if the weights shall sum to one again, else 0."""


class SharedBias(nn.Module):
    """The last step of the dynamic bias, from a head's summary to pairs of squares; one for all layers."""

    def __init__(self, shape: TransformerShape) -> None:
        super().__init__()
        self.pairs = nn.Linear(shape.bias_hidden, 64 * 64, bias=False)
        nn.init.zeros_(self.pairs.weight)

    def forward(self, summaries: Tensor) -> Tensor:
        return self.pairs(summaries).unflatten(-1, (64, 64))  # type: ignore[no-any-return]


class DynamicBias(nn.Module):
    """A bias for each pair of squares, computed from the whole position."""

    def __init__(self, shape: TransformerShape) -> None:
        super().__init__()
        hidden = shape.bias_hidden
        self.heads = shape.heads
        self.compress = nn.Linear(shape.width, shape.bias_compressed, bias=False)
        self.summary = nn.Linear(64 * shape.bias_compressed, hidden)
        self.summary_norm = nn.LayerNorm(hidden)
        self.each = nn.Linear(hidden, shape.heads * hidden)
        self.each_norm = nn.LayerNorm(hidden)

    def forward(self, rows: Tensor, shared: SharedBias) -> Tensor:
        """[B, heads, 64, 64]."""
        board = self.compress(rows[:, SQUARES]).flatten(1)
        summary = self.summary_norm(F.silu(self.summary(board)))
        each = F.silu(self.each(summary)).view(-1, self.heads, self.each_norm.normalized_shape[0])
        return shared(self.each_norm(each))  # type: ignore[no-any-return]


class Attention(nn.Module):
    """Rows [B, R, width] to rows: who looks at whom, and what comes of it."""

    way: Way = "plain"

    def __init__(self, shape: TransformerShape) -> None:
        super().__init__()
        self.heads, self.rows = shape.heads, shape.rows
        self.scale = (shape.width // shape.heads) ** -0.5
        self.qkv = nn.Linear(shape.width, 3 * shape.width, bias=False)
        self.out = nn.Linear(shape.width, shape.width, bias=False)
        self.gathered = nn.Identity()
        """What each head gives, [B, R, heads, width of a head]: a place to look at and to change."""
        static = shape.bias != "none"
        self.bias = nn.Parameter(torch.zeros(shape.heads, shape.rows, shape.rows)) if static else None
        self.dynamic = DynamicBias(shape) if shape.bias == "dynamic" else None

    def forward(
        self,
        x: Tensor,
        shared: SharedBias | None = None,
        cut: Cut | None = None,
        layer: int = 0,
        read: int | None = None,
    ) -> Tensor:
        """`read`: how many of the first rows look at the others, if not all."""
        bias = self._bias(x, shared)
        qkv = self.qkv(x).unflatten(-1, (3, self.heads, -1))
        if self.way == "fused":
            gathered = _fused(qkv, bias, self.scale)
            gathered = gathered if read is None else gathered[:, :read]
        else:
            q, k, v = (qkv[:, :, each].transpose(1, 2) for each in range(3))
            if read is not None:
                q, bias = q[:, :, :read], None if bias is None else bias[..., :read, :]
            if self.way == "plain":
                gathered = self._plain(q, k, v, bias, cut, layer)
            else:
                gathered = _WAYS[self.way](q, k, v, bias, self.scale)
            gathered = gathered.transpose(1, 2)
        return self.out(self.gathered(gathered).flatten(2))  # type: ignore[no-any-return]

    def _bias(self, x: Tensor, shared: SharedBias | None) -> Tensor | None:
        """[heads or B × heads, R, R], with the rows that only fill up out of reach."""
        filled = x.shape[1]
        bias: Tensor | None = self.bias
        if bias is None and filled > self.rows:
            bias = x.new_zeros(self.heads, self.rows, self.rows)
        if bias is None:
            return None
        if filled > self.rows:
            more = filled - self.rows
            bias = F.pad(F.pad(bias, (0, more), value=_FAR), (0, 0, 0, more))
        if self.dynamic is not None:
            assert shared is not None
            end = filled - SQUARES.stop
            bias = bias + F.pad(self.dynamic(x, shared), (1, end, 1, end))
        return bias

    def _plain(
        self, q: Tensor, k: Tensor, v: Tensor, bias: Tensor | None, cut: Cut | None, layer: int
    ) -> Tensor:
        scores = (q @ k.transpose(-2, -1)) * self.scale
        if bias is not None:
            scores = scores + bias
        weights = scores.softmax(-1).to(v.dtype)
        if cut is not None:
            # Where the mask does not apply, both factors are one to the bit.
            applies = cut.heads[layer][:, None, None]
            weights = weights * (1 - applies * (1 - cut.mask[:, None]))
            left = weights.sum(-1, keepdim=True).clamp(min=1e-9)
            weights = weights / left ** (cut.renormalise * applies)
        made: Tensor = weights @ v
        return made


def _sdpa(q: Tensor, k: Tensor, v: Tensor, bias: Tensor | None, scale: float) -> Tensor:
    if bias is not None:
        bias = bias.to(q.dtype).expand(q.shape[0], -1, -1, -1)
    return F.scaled_dot_product_attention(q, k, v, attn_mask=bias, scale=scale)


def _flex(q: Tensor, k: Tensor, v: Tensor, bias: Tensor | None, scale: float) -> Tensor:
    from torch.nn.attention.flex_attention import flex_attention

    def add(score: Tensor, _batch: Tensor, head: Tensor, query: Tensor, key: Tensor) -> Tensor:
        return score if bias is None else score + bias[head, query, key]

    done: Any = flex_attention(q, k, v, score_mod=add, scale=scale)
    return done  # type: ignore[no-any-return]


def _fused(qkv: Tensor, bias: Tensor | None, scale: float) -> Tensor:
    from tabiya.minds.transformer.kernel import board_attention

    if bias is None:
        bias = torch.zeros(qkv.shape[3], qkv.shape[1], qkv.shape[1], device=qkv.device)
    made: Tensor = board_attention(qkv, bias, scale)
    return made


_WAYS: dict[str, Any] = {"sdpa": _sdpa, "flex": _flex}
