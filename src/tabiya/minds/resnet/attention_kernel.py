"""Attention over the 64 squares of a board in one kernel, where every board has a bias of its own.

All that one head of one board needs fits where a program computes it: queries,
keys and values straight out of their fused product, the bias, and the weights,
which never leave the chip. Backwards the weights are made again, because to
read them would take longer. Needs a CUDA device and Triton, which comes with
torch there.
"""

# Triton has no types, and its kernels are no Python.
# mypy: disable-error-code="import-untyped,import-not-found,no-untyped-def,untyped-decorator,misc"
from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor, library

SQUARES = tl.constexpr(64)
WARPS = 4


@triton.jit
def _weights(q, k, bias, pair, i, scale):
    """The softmax of one head of one board, [64, 64] of float32."""
    own = tl.load(bias + pair * SQUARES * SQUARES + i[:, None] * SQUARES + i[None, :]).to(tl.float32)
    scores = tl.dot(q, tl.trans(k)) * scale + own
    raised = tl.exp(scores - tl.max(scores, 1)[:, None])
    return raised / tl.sum(raised, 1)[:, None]


@triton.jit
def _forward(qkv, bias, out, scale, heads: tl.constexpr, size: tl.constexpr):
    pair = tl.cast(tl.program_id(0), tl.int64)
    board, head = pair // heads, pair % heads
    i, c = tl.arange(0, SQUARES), tl.arange(0, size)
    width: tl.constexpr = heads * size
    start = qkv + board * SQUARES * 3 * width + head * size + i[:, None] * 3 * width + c[None, :]
    q, k, v = tl.load(start), tl.load(start + width), tl.load(start + 2 * width)
    weights = _weights(q, k, bias, pair, i, scale)
    made = tl.dot(weights.to(v.dtype), v)
    to = out + board * SQUARES * width + head * size + i[:, None] * width + c[None, :]
    tl.store(to, made.to(out.dtype.element_ty))


@triton.jit
def _backward(qkv, bias, given, grad, bias_grad, scale, heads: tl.constexpr, size: tl.constexpr):
    pair = tl.cast(tl.program_id(0), tl.int64)
    board, head = pair // heads, pair % heads
    i, c = tl.arange(0, SQUARES), tl.arange(0, size)
    width: tl.constexpr = heads * size
    place = board * SQUARES * 3 * width + head * size + i[:, None] * 3 * width + c[None, :]
    start, to = qkv + place, grad + place
    q, k, v = tl.load(start), tl.load(start + width), tl.load(start + 2 * width)
    g = tl.load(given + board * SQUARES * width + head * size + i[:, None] * width + c[None, :])
    weights = _weights(q, k, bias, pair, i, scale)
    weight_grad = tl.dot(g, tl.trans(v))
    mean = tl.sum(weights * weight_grad, 1)
    score_grad = weights * (weight_grad - mean[:, None])
    kind = grad.dtype.element_ty
    narrow = score_grad.to(q.dtype)
    tl.store(
        bias_grad + pair * SQUARES * SQUARES + i[:, None] * SQUARES + i[None, :],
        score_grad.to(bias_grad.dtype.element_ty),
    )
    tl.store(to, (tl.dot(narrow, k) * scale).to(kind))
    tl.store(to + width, (tl.dot(tl.trans(narrow), q) * scale).to(kind))
    tl.store(to + 2 * width, tl.dot(tl.trans(weights.to(g.dtype)), g).to(kind))


@library.custom_op("tabiya::biased_attention", mutates_args=())
def _biased_attention(qkv: Tensor, bias: Tensor, scale: float) -> Tensor:
    boards, squares, _, heads, size = qkv.shape
    out = torch.empty(boards, squares, heads, size, dtype=qkv.dtype, device=qkv.device)
    _forward[(boards * heads,)](
        qkv.contiguous(), bias.contiguous(), out, scale, heads=heads, size=size, num_warps=WARPS
    )
    return out


@_biased_attention.register_fake
def _(qkv: Tensor, bias: Tensor, scale: float) -> Tensor:
    boards, squares, _, heads, size = qkv.shape
    return qkv.new_empty(boards, squares, heads, size)


@library.custom_op("tabiya::biased_attention_backward", mutates_args=())
def _biased_attention_backward(
    given: Tensor, qkv: Tensor, bias: Tensor, scale: float
) -> tuple[Tensor, Tensor]:
    boards, _, _, heads, size = qkv.shape
    qkv, bias = qkv.contiguous(), bias.contiguous()
    grad, bias_grad = torch.empty_like(qkv), torch.empty_like(bias)
    _backward[(boards * heads,)](
        qkv,
        bias,
        given.to(qkv.dtype).contiguous(),
        grad,
        bias_grad,
        scale,
        heads=heads,
        size=size,
        num_warps=WARPS,
    )
    return grad, bias_grad


@_biased_attention_backward.register_fake
def _(given: Tensor, qkv: Tensor, bias: Tensor, scale: float) -> tuple[Tensor, Tensor]:
    return torch.empty_like(qkv), torch.empty_like(bias)


def _keep(ctx: Any, inputs: tuple[Tensor, Tensor, float], output: Tensor) -> None:
    qkv, bias, ctx.scale = inputs
    ctx.save_for_backward(qkv, bias)


def _differentiate(ctx: Any, given: Tensor) -> tuple[Tensor, Tensor, None]:
    return (*_biased_attention_backward(given, *ctx.saved_tensors, ctx.scale), None)


_biased_attention.register_autograd(_differentiate, setup_context=_keep)


def biased_attention(qkv: Tensor, bias: Tensor, scale: float) -> Tensor:
    """softmax(q kᵀ · scale + bias) v: [B, 64, 3, H, C] and [B, H, 64, 64] to [B, 64, H, C]."""
    made: Tensor = _biased_attention(qkv, bias, scale)
    return made
