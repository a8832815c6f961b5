"""The backward pass of a board's attention in one kernel, where `kernel.py` has two.

A program holds a board's rows as 64 and 32, and their weights as four parts one
after the other, keys by queries. The mean gradient of a query's weights is
that of its output times its output, so that no part has to wait for another.
Exact (the tests hold it against torch); not timed on a GPU yet, and not in use
until it is: `kernel.WHOLE_BACKWARD`.
"""

# Triton has no types, and its kernels are no Python.
# mypy: disable-error-code="import-untyped,import-not-found,no-untyped-def,untyped-decorator,misc"
from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

MOST = 64
"""Rows at the other end of attention that are taken at once; the rest is taken beside them, so that 85
rows are computed as 96 and not as 128."""
REST = 32
PROGRAMS, WARPS, STAGES = 64, 4, 2


@triton.jit
def _pair(k, v, q, g, bias, norm, mean, scale):
    """Some keys by some queries: the weights, and the gradient of the scores."""
    weights = tl.exp(tl.dot(k, tl.trans(q)) * scale + bias - norm[None, :])
    return weights, weights * (tl.dot(v, tl.trans(g)) - mean[None, :])


@triton.jit
def _backward(
    qkv,
    bias,
    lse,
    out,
    given,
    grad,
    bias_grad,
    boards,
    rows,
    scale,
    heads: tl.constexpr,
    size: tl.constexpr,
    most: tl.constexpr,
    rest: tl.constexpr,
):
    """All gradients of one head, board after board; the bias and its gradient are turned, keys by queries."""
    head = tl.program_id(0)
    a = tl.arange(0, most)
    b = most + tl.arange(0, rest)
    c = tl.arange(0, size)
    there = b < rows
    width = heads * size
    at = bias + head * rows * rows
    sum_aa = tl.zeros((most, most), tl.float32)
    sum_ab = tl.zeros((most, rest), tl.float32)
    sum_ba = tl.zeros((rest, most), tl.float32)
    sum_bb = tl.zeros((rest, rest), tl.float32)
    for board in range(tl.program_id(1), boards, tl.num_programs(1)):
        start = tl.cast(board, tl.int64) * rows * 3 * width + head * size
        in_a = start + a[:, None] * 3 * width + c[None, :]
        in_b = start + b[:, None] * 3 * width + c[None, :]
        q_a = tl.load(qkv + in_a)
        k_a = tl.load(qkv + width + in_a)
        v_a = tl.load(qkv + 2 * width + in_a)
        q_b = tl.load(qkv + in_b, mask=there[:, None], other=0.0)
        k_b = tl.load(qkv + width + in_b, mask=there[:, None], other=0.0)
        v_b = tl.load(qkv + 2 * width + in_b, mask=there[:, None], other=0.0)
        come = tl.cast(board, tl.int64) * rows * width + head * size + c[None, :]
        g_a = tl.load(given + come + a[:, None] * width)
        g_b = tl.load(given + come + b[:, None] * width, mask=there[:, None], other=0.0)
        o_a = tl.load(out + come + a[:, None] * width)
        o_b = tl.load(out + come + b[:, None] * width, mask=there[:, None], other=0.0)
        mean_a = tl.sum(g_a.to(tl.float32) * o_a.to(tl.float32), 1)
        mean_b = tl.sum(g_b.to(tl.float32) * o_b.to(tl.float32), 1)
        norm_a = tl.load(lse + (board * heads + head) * rows + a)
        norm_b = tl.load(lse + (board * heads + head) * rows + b, mask=there, other=0.0)
        # Rows that only fill up have no weight.
        own = tl.load(at + a[:, None] * rows + a[None, :])
        weights, scores = _pair(k_a, v_a, q_a, g_a, own, norm_a, mean_a, scale)
        sum_aa += scores
        narrow = scores.to(q_a.dtype)
        v_grad_a = tl.dot(weights.to(q_a.dtype), g_a)
        k_grad_a = tl.dot(narrow, q_a)
        q_grad_a = tl.dot(tl.trans(narrow), k_a)
        own = tl.load(at + a[:, None] * rows + b[None, :], mask=there[None, :], other=-1e30)
        weights, scores = _pair(k_a, v_a, q_b, g_b, own, norm_b, mean_b, scale)
        sum_ab += scores
        narrow = scores.to(q_a.dtype)
        v_grad_a += tl.dot(weights.to(q_a.dtype), g_b)
        k_grad_a += tl.dot(narrow, q_b)
        q_grad_b = tl.dot(tl.trans(narrow), k_a)
        own = tl.load(at + b[:, None] * rows + a[None, :], mask=there[:, None], other=-1e30)
        weights, scores = _pair(k_b, v_b, q_a, g_a, own, norm_a, mean_a, scale)
        sum_ba += scores
        narrow = scores.to(q_a.dtype)
        v_grad_b = tl.dot(weights.to(q_a.dtype), g_a)
        k_grad_b = tl.dot(narrow, q_a)
        q_grad_a += tl.dot(tl.trans(narrow), k_b)
        own = tl.load(at + b[:, None] * rows + b[None, :], mask=there[:, None] & there[None, :], other=-1e30)
        weights, scores = _pair(k_b, v_b, q_b, g_b, own, norm_b, mean_b, scale)
        sum_bb += scores
        narrow = scores.to(q_a.dtype)
        v_grad_b += tl.dot(weights.to(q_a.dtype), g_b)
        k_grad_b += tl.dot(narrow, q_b)
        q_grad_b += tl.dot(tl.trans(narrow), k_b)
        kind = grad.dtype.element_ty
        tl.store(grad + in_a, (q_grad_a * scale).to(kind))
        tl.store(grad + width + in_a, (k_grad_a * scale).to(kind))
        tl.store(grad + 2 * width + in_a, v_grad_a.to(kind))
        tl.store(grad + in_b, (q_grad_b * scale).to(kind), mask=there[:, None])
        tl.store(grad + width + in_b, (k_grad_b * scale).to(kind), mask=there[:, None])
        tl.store(grad + 2 * width + in_b, v_grad_b.to(kind), mask=there[:, None])
    to = bias_grad + (tl.program_id(1) * heads + head) * rows * rows
    tl.store(to + a[:, None] * rows + a[None, :], sum_aa)
    tl.store(to + a[:, None] * rows + b[None, :], sum_ab, mask=there[None, :])
    tl.store(to + b[:, None] * rows + a[None, :], sum_ba, mask=there[:, None])
    tl.store(to + b[:, None] * rows + b[None, :], sum_bb, mask=there[:, None] & there[None, :])


def whole_backward(
    given: Tensor, qkv: Tensor, bias: Tensor, lse: Tensor, out: Tensor, scale: float
) -> tuple[Tensor, Tensor]:
    """The gradients of `qkv` [B, R, 3, H, C] and of `bias` [H, R, R], 64 < R ≤ 96; all tensors contiguous."""
    boards, rows, _, heads, size = qkv.shape
    turned = bias.transpose(1, 2).contiguous()
    grad = torch.empty_like(qkv)
    programs = min(PROGRAMS, boards)
    parts = torch.empty(programs, heads, rows, rows, dtype=torch.float32, device=qkv.device)
    _backward[(heads, programs)](
        qkv,
        turned,
        lse,
        out,
        given,
        grad,
        parts,
        boards,
        rows,
        scale,
        heads=heads,
        size=size,
        most=MOST,
        rest=REST,
        num_warps=WARPS,
        num_stages=STAGES,
    )
    return grad, parts.sum(0).transpose(1, 2)
