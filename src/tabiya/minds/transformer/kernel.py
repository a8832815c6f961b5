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

from tabiya.errors import UserError


class Launch(NamedTuple):
    """How a kernel is divided; `divisions.py` tries others."""

    part: int
    """Rows of a board that one program works at."""
    warps: int
    stages: int
    """Boards whose rows are on their way at once."""
    programs: int
    """Programs among which the boards of a batch are shared, for each head and part of the rows."""
    holds: bool = True
    """Whether a program keeps its part of the bias in registers, or reads it again for every board."""
    registers: int = 0
    """The most that a thread may have; 0: as many as it wants."""


class Launches(NamedTuple):
    """One division for each kernel."""

    forward: Launch
    queries: Launch
    keys: Launch


FEWEST, NARROW, MOST = 33, 128, 256
"""Rows that a board may have here; above the second number a program has to be smaller."""
LAUNCHES = {
    NARROW: Launches(
        forward=Launch(part=128, warps=8, stages=3, programs=128),
        queries=Launch(part=64, warps=4, stages=3, programs=16),
        keys=Launch(part=64, warps=4, stages=3, programs=16),
    ),
    MOST: Launches(
        forward=Launch(part=32, warps=4, stages=2, programs=64, holds=False),
        queries=Launch(part=32, warps=4, stages=2, programs=64, holds=False),
        keys=Launch(part=64, warps=8, stages=2, programs=64, holds=False),
    ),
}
"""For boards of up to so many rows. Those for 85 are the fastest of 56 each on an H200 (`divisions.py`);
those for 149, which were not tuned, take half the time of torch's own kernel."""
LOG2_E = tl.constexpr(1.4426950408889634)
"""Scores are taken in base 2, in which a device has its exponential: a product less for every weight."""
FAR = tl.constexpr(-1e4)
"""The bias of rows that only fill up: a weight of nothing, and no infinity to be multiplied with a zero."""


@triton.jit
def _lay_out(
    bias, straight, turned, rows: tl.constexpr, side: tl.constexpr, wide: tl.constexpr, part: tl.constexpr
):
    """The bias in base 2, filled up, and once more with its axes exchanged."""
    head = tl.program_id(0)
    i = tl.program_id(1) * part + tl.arange(0, part)[:, None]
    j = tl.arange(0, wide)[None, :]
    inside, written = (i < rows) & (j < rows), (i < side) & (j < side)
    own = tl.load(bias + (head * rows + i) * rows + j, mask=inside, other=0.0).to(tl.float32) * LOG2_E
    own = tl.where(inside, own, FAR).to(straight.dtype.element_ty)
    tl.store(straight + (head * side + i) * side + j, own, mask=written)
    tl.store(turned + (head * side + j) * side + i, own, mask=written)


@triton.jit
def _forward(
    qkv,
    bias,
    out,
    lse,
    boards,
    steep,
    rows: tl.constexpr,
    heads: tl.constexpr,
    size: tl.constexpr,
    most: tl.constexpr,
    rest: tl.constexpr,
    side: tl.constexpr,
    part: tl.constexpr,
    holds: tl.constexpr,
):
    head = tl.program_id(0)
    i = tl.program_id(2) * part + tl.arange(0, part)
    j = tl.arange(0, most)
    last = most + tl.arange(0, rest)
    c = tl.arange(0, size)
    here = (i < rows)[:, None]
    beside = bias + (head * side + i[:, None]) * side
    if holds:
        own = tl.load(beside + j[None, :])
        own_last = tl.load(beside + last[None, :])
    width: tl.constexpr = heads * size
    for board in range(tl.program_id(1), boards, tl.num_programs(1)):
        start = qkv + tl.cast(board, tl.int64) * rows * 3 * width + head * size
        mine = i[:, None] * 3 * width + c[None, :]
        theirs = width + j[:, None] * 3 * width + c[None, :]
        theirs_last = width + last[:, None] * 3 * width + c[None, :]
        q = tl.load(start + mine, mask=here, other=0.0)
        k = tl.load(start + theirs)
        v = tl.load(start + width + theirs)
        k_last = tl.load(start + theirs_last, mask=(last < rows)[:, None], other=0.0)
        v_last = tl.load(start + width + theirs_last, mask=(last < rows)[:, None], other=0.0)
        if not holds:
            own = tl.load(beside + j[None, :])
            own_last = tl.load(beside + last[None, :])
        scores = tl.dot(q, tl.trans(k)) * steep + own
        scores_last = tl.dot(q, tl.trans(k_last)) * steep + own_last
        top = tl.maximum(tl.max(scores, 1), tl.max(scores_last, 1))
        raised = tl.exp2(scores - top[:, None])
        raised_last = tl.exp2(scores_last - top[:, None])
        total = tl.sum(raised, 1) + tl.sum(raised_last, 1)
        made = tl.dot(raised.to(v.dtype), v) + tl.dot(raised_last.to(v.dtype), v_last)
        made = made / total[:, None]
        to = out + tl.cast(board, tl.int64) * rows * width + head * size + i[:, None] * width + c[None, :]
        tl.store(to, made.to(out.dtype.element_ty), mask=here)
        tl.store(lse + (board * heads + head) * rows + i, top + tl.log2(total), mask=i < rows)


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
    scale,
    steep,
    rows: tl.constexpr,
    heads: tl.constexpr,
    size: tl.constexpr,
    most: tl.constexpr,
    rest: tl.constexpr,
    side: tl.constexpr,
    part: tl.constexpr,
    holds: tl.constexpr,
):
    """The gradients of some queries and of their bias; and, for the keys, each row's mean gradient."""
    head = tl.program_id(0)
    i = tl.program_id(2) * part + tl.arange(0, part)
    j = tl.arange(0, most)
    last = most + tl.arange(0, rest)
    c = tl.arange(0, size)
    here = (i < rows)[:, None]
    beside = bias + (head * side + i[:, None]) * side
    if holds:
        own = tl.load(beside + j[None, :])
        own_last = tl.load(beside + last[None, :])
    width: tl.constexpr = heads * size
    summed = tl.zeros((part, most), tl.float32)
    summed_last = tl.zeros((part, rest), tl.float32)
    for board in range(tl.program_id(1), boards, tl.num_programs(1)):
        offset = tl.cast(board, tl.int64) * rows * 3 * width + head * size
        mine = i[:, None] * 3 * width + c[None, :]
        theirs = offset + width + j[:, None] * 3 * width + c[None, :]
        theirs_last = offset + width + last[:, None] * 3 * width + c[None, :]
        q = tl.load(qkv + offset + mine, mask=here, other=0.0)
        k = tl.load(qkv + theirs)
        v = tl.load(qkv + width + theirs)
        k_last = tl.load(qkv + theirs_last, mask=(last < rows)[:, None], other=0.0)
        v_last = tl.load(qkv + width + theirs_last, mask=(last < rows)[:, None], other=0.0)
        come = given + tl.cast(board, tl.int64) * rows * width + head * size + i[:, None] * width + c[None, :]
        g = tl.load(come, mask=here, other=0.0)
        place = (board * heads + head) * rows + i
        norm = tl.load(lse + place, mask=i < rows, other=0.0)
        if not holds:
            own = tl.load(beside + j[None, :])
            own_last = tl.load(beside + last[None, :])
        weights = tl.exp2(tl.dot(q, tl.trans(k)) * steep + own - norm[:, None])
        weights_last = tl.exp2(tl.dot(q, tl.trans(k_last)) * steep + own_last - norm[:, None])
        weight_grad = tl.dot(g, tl.trans(v))
        weight_grad_last = tl.dot(g, tl.trans(v_last))
        mean = tl.sum(weights * weight_grad, 1) + tl.sum(weights_last * weight_grad_last, 1)
        tl.store(middle + place, mean, mask=i < rows)
        score_grad = weights * (weight_grad - mean[:, None])
        score_grad_last = weights_last * (weight_grad_last - mean[:, None])
        summed += score_grad
        summed_last += score_grad_last
        q_grad = tl.dot(score_grad.to(q.dtype), k) + tl.dot(score_grad_last.to(q.dtype), k_last)
        tl.store(grad + offset + mine, (q_grad * scale).to(grad.dtype.element_ty), mask=here)
    to = bias_grad + (tl.program_id(1) * heads + head) * rows * rows + i[:, None] * rows
    tl.store(to + j[None, :], summed, mask=here)
    tl.store(to + last[None, :], summed_last, mask=here & (last < rows)[None, :])


@triton.jit
def _backward_keys(
    qkv,
    bias,
    lse,
    given,
    grad,
    middle,
    boards,
    scale,
    steep,
    rows: tl.constexpr,
    heads: tl.constexpr,
    size: tl.constexpr,
    most: tl.constexpr,
    rest: tl.constexpr,
    side: tl.constexpr,
    part: tl.constexpr,
    holds: tl.constexpr,
):
    """The gradients of some keys and values; everything stands turned, keys by queries, the bias too."""
    head = tl.program_id(0)
    j = tl.program_id(2) * part + tl.arange(0, part)
    i = tl.arange(0, most)
    last = most + tl.arange(0, rest)
    c = tl.arange(0, size)
    here = (j < rows)[:, None]
    beside = bias + (head * side + j[:, None]) * side
    if holds:
        own = tl.load(beside + i[None, :])
        own_last = tl.load(beside + last[None, :])
    width: tl.constexpr = heads * size
    for board in range(tl.program_id(1), boards, tl.num_programs(1)):
        offset = tl.cast(board, tl.int64) * rows * 3 * width + head * size
        mine = offset + width + j[:, None] * 3 * width + c[None, :]
        theirs = i[:, None] * 3 * width + c[None, :]
        theirs_last = last[:, None] * 3 * width + c[None, :]
        q = tl.load(qkv + offset + theirs)
        q_last = tl.load(qkv + offset + theirs_last, mask=(last < rows)[:, None], other=0.0)
        k = tl.load(qkv + mine, mask=here, other=0.0)
        v = tl.load(qkv + width + mine, mask=here, other=0.0)
        come = given + tl.cast(board, tl.int64) * rows * width + head * size + c[None, :]
        g = tl.load(come + i[:, None] * width)
        g_last = tl.load(come + last[:, None] * width, mask=(last < rows)[:, None], other=0.0)
        place = (board * heads + head) * rows
        norm = tl.load(lse + place + i)
        norm_last = tl.load(lse + place + last, mask=last < rows, other=0.0)
        mean = tl.load(middle + place + i)
        mean_last = tl.load(middle + place + last, mask=last < rows, other=0.0)
        if not holds:
            own = tl.load(beside + i[None, :])
            own_last = tl.load(beside + last[None, :])
        weights = tl.exp2(tl.dot(k, tl.trans(q)) * steep + own - norm[None, :])
        weights_last = tl.exp2(tl.dot(k, tl.trans(q_last)) * steep + own_last - norm_last[None, :])
        v_grad = tl.dot(weights.to(g.dtype), g) + tl.dot(weights_last.to(g.dtype), g_last)
        score_grad = weights * (tl.dot(v, tl.trans(g)) - mean[None, :])
        score_grad_last = weights_last * (tl.dot(v, tl.trans(g_last)) - mean_last[None, :])
        k_grad = tl.dot(score_grad.to(q.dtype), q) + tl.dot(score_grad_last.to(q.dtype), q_last)
        kind = grad.dtype.element_ty
        tl.store(grad + mine, (k_grad * scale).to(kind), mask=here)
        tl.store(grad + width + mine, v_grad.to(kind), mask=here)


def launches_of(rows: int) -> Launches:
    """How the kernels are divided for boards of so many rows."""
    return LAUNCHES[NARROW if rows <= NARROW else MOST]


def _halves(rows: int) -> tuple[int, int]:
    """Rows at the other end of attention that are taken at once, and those beside them.

    Both are powers of two, so that 85 rows are computed as 64 + 32 and not as 128.
    """
    if not FEWEST <= rows <= MOST:
        raise UserError(f'attention = "fused" is for {FEWEST} to {MOST} rows, not {rows}: use "sdpa"')
    most = triton.next_power_of_2(rows) // 2
    return most, max(16, triton.next_power_of_2(rows - most))


def _side(rows: int) -> int:
    """Rows and columns of the bias as it is laid out: as many as any kernel reads."""
    return max(sum(_halves(rows)), *(-(-rows // each.part) * each.part for each in launches_of(rows)))


def _divide(qkv: Tensor, launch: Launch) -> tuple[tuple[int, int, int], dict[str, Any]]:
    boards, rows, _, heads, size = qkv.shape
    most, rest = _halves(rows)
    sizes: dict[str, Any] = {"rows": rows, "heads": heads, "size": size, "most": most, "rest": rest}
    sizes |= {"side": _side(rows), "part": launch.part, "holds": launch.holds}
    sizes |= {"num_warps": launch.warps, "num_stages": launch.stages}
    if launch.registers:
        sizes["maxnreg"] = launch.registers
    return (heads, min(launch.programs, boards), triton.cdiv(rows, launch.part)), sizes


@library.custom_op("tabiya::board_attention", mutates_args=())
def _board_attention(qkv: Tensor, bias: Tensor, scale: float) -> tuple[Tensor, Tensor, Tensor]:
    boards, rows, _, heads, size = qkv.shape
    qkv, side = qkv.contiguous(), _side(rows)
    out = torch.empty(boards, rows, heads, size, dtype=qkv.dtype, device=qkv.device)
    lse = torch.empty(boards, heads, rows, dtype=torch.float32, device=qkv.device)
    laid = torch.empty(2, heads, side, side, dtype=qkv.dtype, device=qkv.device)
    _lay_out[heads, triton.cdiv(side, 16)](
        bias.contiguous(), laid[0], laid[1], rows=rows, side=side, wide=triton.next_power_of_2(side), part=16
    )
    grid, sizes = _divide(qkv, launches_of(rows).forward)
    _forward[grid](qkv, laid[0], out, lse, boards, scale * LOG2_E.value, **sizes)
    return out, lse, laid


@_board_attention.register_fake
def _(qkv: Tensor, bias: Tensor, scale: float) -> tuple[Tensor, Tensor, Tensor]:
    boards, rows, _, heads, size = qkv.shape
    side = _side(rows)
    return (
        qkv.new_empty(boards, rows, heads, size),
        qkv.new_empty(boards, heads, rows, dtype=torch.float32),
        qkv.new_empty(2, heads, side, side),
    )


@library.custom_op("tabiya::board_attention_backward", mutates_args=())
def _board_attention_backward(
    given: Tensor, qkv: Tensor, laid: Tensor, lse: Tensor, scale: float
) -> tuple[Tensor, Tensor]:
    boards, rows, _, heads, _ = qkv.shape
    qkv, given = qkv.contiguous(), given.to(qkv.dtype).contiguous()
    grad, middle, steep = torch.empty_like(qkv), torch.empty_like(lse), scale * LOG2_E.value
    grid, sizes = _divide(qkv, launches_of(rows).queries)
    parts = torch.empty(grid[1], heads, rows, rows, dtype=torch.float32, device=qkv.device)
    _backward_queries[grid](qkv, laid[0], lse, given, grad, parts, middle, boards, scale, steep, **sizes)
    grid, sizes = _divide(qkv, launches_of(rows).keys)
    _backward_keys[grid](qkv, laid[1], lse, given, grad, middle, boards, scale, steep, **sizes)
    return grad, parts.sum(0)


@_board_attention_backward.register_fake
def _(given: Tensor, qkv: Tensor, laid: Tensor, lse: Tensor, scale: float) -> tuple[Tensor, Tensor]:
    _, rows, _, heads, _ = qkv.shape
    return qkv.new_empty(qkv.shape), qkv.new_empty(heads, rows, rows, dtype=torch.float32)


def _keep(ctx: Any, inputs: tuple[Tensor, Tensor, float], output: tuple[Tensor, Tensor, Tensor]) -> None:
    qkv, bias, ctx.scale = inputs
    ctx.kind = bias.dtype
    ctx.save_for_backward(qkv, output[1], output[2])


def _differentiate(ctx: Any, given: Tensor, _lse: Tensor, _laid: Tensor) -> tuple[Tensor, Tensor, None]:
    qkv, lse, laid = ctx.saved_tensors
    grad, bias_grad = _board_attention_backward(given, qkv, laid, lse, ctx.scale)
    return grad, bias_grad.to(ctx.kind), None


_board_attention.register_autograd(_differentiate, setup_context=_keep)


def board_attention(qkv: Tensor, bias: Tensor, scale: float) -> Tensor:
    """softmax(q kᵀ · scale + bias) v: [B, R, 3, H, C] and [H, R, R] to [B, R, H, C]."""
    out: Tensor = _board_attention(qkv, bias, scale)[0]
    return out
