"""Attention over one board's rows in one kernel: the weights never leave the chip.

A board has so few rows that all of its weights fit where a program computes
them. Each program takes one head, some of the rows and many boards, keeps its
part of the head's bias (and, backwards, the sum of the bias's gradient) at
hand, and reads and writes nothing but the rows themselves, straight out of the
fused product of queries, keys and values. A program has few rows so
that what it holds fits into registers; whole boards did not, and the backward
pass took four times as long as the forward one. Needs a CUDA device and
Triton, which comes with torch there.
"""

# Triton has no types, and its kernels are no Python.
# mypy: disable-error-code="import-untyped,import-not-found,no-untyped-def,untyped-decorator,misc"
from __future__ import annotations

from typing import Any, NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor, library


class Launch(NamedTuple):
    """How a kernel is divided; the figures are the fastest of those tried on an H200."""

    part: int
    """Rows of a board that one program works at."""
    warps: int
    stages: int
    """Boards whose rows are on their way at once."""
    programs: int
    """Programs among which the boards of a batch are shared, for each head and part of the rows."""


FORWARD = Launch(part=32, warps=2, stages=3, programs=128)
QUERIES = Launch(part=16, warps=2, stages=3, programs=32)
KEYS = Launch(part=32, warps=2, stages=2, programs=64)


@triton.jit
def _forward(
    qkv,
    bias,
    out,
    lse,
    boards,
    rows,
    scale,
    heads: tl.constexpr,
    size: tl.constexpr,
    block: tl.constexpr,
    part: tl.constexpr,
):
    head = tl.program_id(0)
    i = tl.program_id(2) * part + tl.arange(0, part)
    j = tl.arange(0, block)
    c = tl.arange(0, size)
    pairs = (i < rows)[:, None] & (j < rows)[None, :]
    own = tl.load(bias + (head * rows + i[:, None]) * rows + j[None, :], mask=pairs, other=0.0)
    own = tl.where((j < rows)[None, :], own.to(tl.float32), -1e30)
    width = heads * size
    for board in range(tl.program_id(1), boards, tl.num_programs(1)):
        start = qkv + tl.cast(board, tl.int64) * rows * 3 * width + head * size
        mine = i[:, None] * 3 * width + c[None, :]
        all_of_it = j[:, None] * 3 * width + c[None, :]
        q = tl.load(start + mine, mask=(i < rows)[:, None], other=0.0)
        k = tl.load(start + width + all_of_it, mask=(j < rows)[:, None], other=0.0)
        v = tl.load(start + 2 * width + all_of_it, mask=(j < rows)[:, None], other=0.0)
        scores = tl.dot(q, tl.trans(k)) * scale + own
        top = tl.max(scores, 1)
        raised = tl.exp(scores - top[:, None])
        total = tl.sum(raised, 1)
        made = tl.dot((raised / total[:, None]).to(v.dtype), v)
        to = out + tl.cast(board, tl.int64) * rows * width + head * size + i[:, None] * width + c[None, :]
        tl.store(to, made.to(out.dtype.element_ty), mask=(i < rows)[:, None])
        tl.store(lse + (board * heads + head) * rows + i, top + tl.log(total), mask=i < rows)


@triton.jit
def _backward_queries(
    qkv,
    bias,
    lse,
    given,
    grad,
    bias_grad,
    middle,
    boards,
    rows,
    scale,
    heads: tl.constexpr,
    size: tl.constexpr,
    block: tl.constexpr,
    part: tl.constexpr,
):
    """The gradients of some queries and of their bias; and, for the keys, each row's mean gradient."""
    head = tl.program_id(0)
    i = tl.program_id(2) * part + tl.arange(0, part)
    j = tl.arange(0, block)
    c = tl.arange(0, size)
    pairs = (i < rows)[:, None] & (j < rows)[None, :]
    own = tl.load(bias + (head * rows + i[:, None]) * rows + j[None, :], mask=pairs, other=0.0).to(tl.float32)
    width = heads * size
    summed = tl.zeros((part, block), tl.float32)
    for board in range(tl.program_id(1), boards, tl.num_programs(1)):
        offset = tl.cast(board, tl.int64) * rows * 3 * width + head * size
        mine = i[:, None] * 3 * width + c[None, :]
        all_of_it = j[:, None] * 3 * width + c[None, :]
        q = tl.load(qkv + offset + mine, mask=(i < rows)[:, None], other=0.0)
        k = tl.load(qkv + offset + width + all_of_it, mask=(j < rows)[:, None], other=0.0)
        v = tl.load(qkv + offset + 2 * width + all_of_it, mask=(j < rows)[:, None], other=0.0)
        come = given + tl.cast(board, tl.int64) * rows * width + head * size + i[:, None] * width + c[None, :]
        g = tl.load(come, mask=(i < rows)[:, None], other=0.0)
        at = (board * heads + head) * rows + i
        norm = tl.load(lse + at, mask=i < rows, other=0.0)
        # Rows that only fill up have no gradient, and must not multiply an infinity with it.
        weights = tl.exp(tl.dot(q, tl.trans(k)) * scale + own - norm[:, None])
        weights = tl.where(pairs, weights, 0.0)
        weight_grad = tl.dot(g, tl.trans(v))
        mean = tl.sum(weights * weight_grad, 1)
        tl.store(middle + at, mean, mask=i < rows)
        score_grad = weights * (weight_grad - mean[:, None])
        summed += score_grad
        q_grad = tl.dot(score_grad.to(q.dtype), k) * scale
        tl.store(grad + offset + mine, q_grad.to(grad.dtype.element_ty), mask=(i < rows)[:, None])
    to = bias_grad + (tl.program_id(1) * heads + head) * rows * rows + i[:, None] * rows + j[None, :]
    tl.store(to, summed, mask=pairs)


@triton.jit
def _backward_keys(
    qkv,
    bias,
    lse,
    given,
    grad,
    middle,
    boards,
    rows,
    scale,
    heads: tl.constexpr,
    size: tl.constexpr,
    block: tl.constexpr,
    part: tl.constexpr,
):
    """The gradients of some keys and values; everything stands turned, keys by queries."""
    head = tl.program_id(0)
    j = tl.program_id(2) * part + tl.arange(0, part)
    i = tl.arange(0, block)
    c = tl.arange(0, size)
    pairs = (j < rows)[:, None] & (i < rows)[None, :]
    own = tl.load(bias + (head * rows + i[None, :]) * rows + j[:, None], mask=pairs, other=0.0).to(tl.float32)
    width = heads * size
    for board in range(tl.program_id(1), boards, tl.num_programs(1)):
        offset = tl.cast(board, tl.int64) * rows * 3 * width + head * size
        mine = j[:, None] * 3 * width + c[None, :]
        all_of_it = i[:, None] * 3 * width + c[None, :]
        q = tl.load(qkv + offset + all_of_it, mask=(i < rows)[:, None], other=0.0)
        k = tl.load(qkv + offset + width + mine, mask=(j < rows)[:, None], other=0.0)
        v = tl.load(qkv + offset + 2 * width + mine, mask=(j < rows)[:, None], other=0.0)
        come = given + tl.cast(board, tl.int64) * rows * width + head * size + i[:, None] * width + c[None, :]
        g = tl.load(come, mask=(i < rows)[:, None], other=0.0)
        at = (board * heads + head) * rows + i
        norm = tl.load(lse + at, mask=i < rows, other=0.0)
        mean = tl.load(middle + at, mask=i < rows, other=0.0)
        weights = tl.exp(tl.dot(k, tl.trans(q)) * scale + own - norm[None, :])
        weights = tl.where(pairs, weights, 0.0)
        v_grad = tl.dot(weights.to(g.dtype), g)
        weight_grad = tl.dot(v, tl.trans(g))
        score_grad = weights * (weight_grad - mean[None, :])
        k_grad = tl.dot(score_grad.to(q.dtype), q) * scale
        kind = grad.dtype.element_ty
        tl.store(grad + offset + width + mine, k_grad.to(kind), mask=(j < rows)[:, None])
        tl.store(grad + offset + 2 * width + mine, v_grad.to(kind), mask=(j < rows)[:, None])


def _divide(qkv: Tensor, launch: Launch) -> tuple[tuple[int, int, int], dict[str, Any]]:
    boards, rows, _, heads, size = qkv.shape
    block = triton.next_power_of_2(rows)
    part = min(launch.part, block)
    sizes: dict[str, Any] = {"heads": heads, "size": size, "block": block, "part": part}
    sizes |= {"num_warps": launch.warps if block <= 128 else 8, "num_stages": launch.stages}
    return (heads, min(launch.programs, boards), triton.cdiv(rows, part)), sizes


@library.custom_op("tabiya::board_attention", mutates_args=())
def _board_attention(qkv: Tensor, bias: Tensor, scale: float) -> tuple[Tensor, Tensor]:
    boards, rows, _, heads, size = qkv.shape
    qkv, bias = qkv.contiguous(), bias.contiguous()
    out = torch.empty(boards, rows, heads, size, dtype=qkv.dtype, device=qkv.device)
    lse = torch.empty(boards, heads, rows, dtype=torch.float32, device=qkv.device)
    grid, sizes = _divide(qkv, FORWARD)
    _forward[grid](qkv, bias, out, lse, boards, rows, scale, **sizes)
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
    grid, sizes = _divide(qkv, QUERIES)
    parts = torch.empty(grid[1], heads, rows, rows, dtype=torch.float32, device=qkv.device)
    middle = torch.empty_like(lse)
    _backward_queries[grid](qkv, bias, lse, given, grad, parts, middle, boards, rows, scale, **sizes)
    grid, sizes = _divide(qkv, KEYS)
    _backward_keys[grid](qkv, bias, lse, given, grad, middle, boards, rows, scale, **sizes)
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
