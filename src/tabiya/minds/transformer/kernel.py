"""Attention over one board's rows in one kernel: the weights never leave the chip.

A board has so few rows that all of its weights fit where a program computes
them. Each program takes one head and many boards, keeps the head's bias (and,
backwards, the sum of the bias's gradient) at hand, and reads and writes nothing
but the rows themselves, straight out of the fused product of queries, keys and
values. Needs a CUDA device and Triton, which comes with torch there.
"""

# Triton has no types, and its kernels are no Python.
# mypy: disable-error-code="import-untyped,import-not-found,no-untyped-def,untyped-decorator,misc"
from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor, library

PROGRAMS_PER_HEAD = 64
"""Programs among which the boards of a batch are shared, for each head."""


@triton.jit
def _forward(
    qkv, bias, out, lse, boards, rows, scale, heads: tl.constexpr, size: tl.constexpr, block: tl.constexpr
):
    head = tl.program_id(0)
    i = tl.arange(0, block)
    c = tl.arange(0, size)
    inside = i < rows
    pairs = inside[:, None] & inside[None, :]
    own = tl.load(bias + (head * rows + i[:, None]) * rows + i[None, :], mask=pairs, other=0.0)
    own = tl.where(inside[None, :], own.to(tl.float32), -1e30)
    width = heads * size
    for board in range(tl.program_id(1), boards, tl.num_programs(1)):
        start = qkv + tl.cast(board, tl.int64) * rows * 3 * width + head * size
        at = i[:, None] * 3 * width + c[None, :]
        q = tl.load(start + at, mask=inside[:, None], other=0.0)
        k = tl.load(start + width + at, mask=inside[:, None], other=0.0)
        v = tl.load(start + 2 * width + at, mask=inside[:, None], other=0.0)
        scores = tl.dot(q, tl.trans(k)) * scale + own
        top = tl.max(scores, 1)
        raised = tl.exp(scores - top[:, None])
        total = tl.sum(raised, 1)
        made = tl.dot((raised / total[:, None]).to(v.dtype), v)
        to = out + tl.cast(board, tl.int64) * rows * width + head * size + i[:, None] * width + c[None, :]
        tl.store(to, made.to(out.dtype.element_ty), mask=inside[:, None])
        tl.store(lse + (board * heads + head) * rows + i, top + tl.log(total), mask=inside)


@triton.jit
def _backward(
    qkv,
    bias,
    lse,
    given,
    grad,
    bias_grad,
    boards,
    rows,
    scale,
    heads: tl.constexpr,
    size: tl.constexpr,
    block: tl.constexpr,
):
    head = tl.program_id(0)
    i = tl.arange(0, block)
    c = tl.arange(0, size)
    inside = i < rows
    pairs = inside[:, None] & inside[None, :]
    own = tl.load(bias + (head * rows + i[:, None]) * rows + i[None, :], mask=pairs, other=0.0)
    own = tl.where(inside[None, :], own.to(tl.float32), -1e30)
    width = heads * size
    summed = tl.zeros((block, block), tl.float32)
    for board in range(tl.program_id(1), boards, tl.num_programs(1)):
        offset = tl.cast(board, tl.int64) * rows * 3 * width + head * size
        at = i[:, None] * 3 * width + c[None, :]
        q = tl.load(qkv + offset + at, mask=inside[:, None], other=0.0)
        k = tl.load(qkv + offset + width + at, mask=inside[:, None], other=0.0)
        v = tl.load(qkv + offset + 2 * width + at, mask=inside[:, None], other=0.0)
        come = given + tl.cast(board, tl.int64) * rows * width + head * size + i[:, None] * width + c[None, :]
        g = tl.load(come, mask=inside[:, None], other=0.0)
        norm = tl.load(lse + (board * heads + head) * rows + i, mask=inside, other=0.0)
        weights = tl.exp(tl.dot(q, tl.trans(k)) * scale + own - norm[:, None])
        # Rows that only fill up have no gradient, and must not multiply an infinity with it.
        weights = tl.where(pairs, weights, 0.0)
        v_grad = tl.dot(tl.trans(weights.to(g.dtype)), g)
        weight_grad = tl.dot(g, tl.trans(v))
        middle = tl.sum(weights * weight_grad, 1)
        score_grad = weights * (weight_grad - middle[:, None])
        summed += score_grad
        small = score_grad.to(q.dtype)
        q_grad = tl.dot(small, k) * scale
        k_grad = tl.dot(tl.trans(small), q) * scale
        kind = grad.dtype.element_ty
        tl.store(grad + offset + at, q_grad.to(kind), mask=inside[:, None])
        tl.store(grad + offset + width + at, k_grad.to(kind), mask=inside[:, None])
        tl.store(grad + offset + 2 * width + at, v_grad.to(kind), mask=inside[:, None])
    to = bias_grad + (tl.program_id(1) * heads + head) * rows * rows + i[:, None] * rows + i[None, :]
    tl.store(to, summed, mask=pairs)


def _launch(qkv: Tensor) -> tuple[tuple[int, int], dict[str, Any]]:
    boards, rows, _, heads, size = qkv.shape
    block = triton.next_power_of_2(rows)
    sizes: dict[str, Any] = {"heads": heads, "size": size, "block": block}
    return (heads, min(PROGRAMS_PER_HEAD, boards)), sizes


@library.custom_op("tabiya::board_attention", mutates_args=())
def _board_attention(qkv: Tensor, bias: Tensor, scale: float) -> tuple[Tensor, Tensor]:
    boards, rows, _, heads, size = qkv.shape
    qkv, bias = qkv.contiguous(), bias.contiguous()
    out = torch.empty(boards, rows, heads, size, dtype=qkv.dtype, device=qkv.device)
    lse = torch.empty(boards, heads, rows, dtype=torch.float32, device=qkv.device)
    grid, sizes = _launch(qkv)
    warps = 8 if sizes["block"] <= 128 else 16
    _forward[grid](qkv, bias, out, lse, boards, rows, scale, num_warps=warps, **sizes)
    return out, lse


@_board_attention.register_fake
def _(qkv: Tensor, bias: Tensor, scale: float) -> tuple[Tensor, Tensor]:
    boards, rows, _, heads, size = qkv.shape
    return qkv.new_empty(boards, rows, heads, size), qkv.new_empty(boards, heads, rows, dtype=torch.float32)


@library.custom_op("tabiya::board_attention_backward", mutates_args=())
def _board_attention_backward(
    given: Tensor, qkv: Tensor, bias: Tensor, lse: Tensor, scale: float
) -> tuple[Tensor, Tensor]:
    boards, rows, _, heads, _ = qkv.shape
    qkv, bias, given = qkv.contiguous(), bias.contiguous(), given.to(qkv.dtype).contiguous()
    grad = torch.empty_like(qkv)
    grid, sizes = _launch(qkv)
    parts = torch.empty(grid[1], heads, rows, rows, dtype=torch.float32, device=qkv.device)
    warps = 8 if sizes["block"] <= 128 else 16
    _backward[grid](qkv, bias, lse, given, grad, parts, boards, rows, scale, num_warps=warps, **sizes)
    return grad, parts.sum(0)


@_board_attention_backward.register_fake
def _(given: Tensor, qkv: Tensor, bias: Tensor, lse: Tensor, scale: float) -> tuple[Tensor, Tensor]:
    return qkv.new_empty(qkv.shape), torch.empty_like(bias, dtype=torch.float32)


def _keep(ctx: Any, inputs: tuple[Tensor, Tensor, float], output: tuple[Tensor, Tensor]) -> None:
    qkv, bias, ctx.scale = inputs
    ctx.save_for_backward(qkv, bias, output[1])


def _differentiate(ctx: Any, given: Tensor, _lse: Tensor) -> tuple[Tensor, Tensor, None]:
    qkv, bias, lse = ctx.saved_tensors
    grad, bias_grad = _board_attention_backward(given, qkv, bias, lse, ctx.scale)
    return grad, bias_grad.to(bias.dtype), None


_board_attention.register_autograd(_differentiate, setup_context=_keep)


def board_attention(qkv: Tensor, bias: Tensor, scale: float) -> Tensor:
    """softmax(q kᵀ · scale + bias) v: [B, R, 3, H, C] and [H, R, R] to [B, R, H, C]."""
    out: Tensor = _board_attention(qkv, bias, scale)[0]
    return out
