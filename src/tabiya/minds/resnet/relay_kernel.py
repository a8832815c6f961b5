"""What squares hear from those in relation to them, in one kernel, out of relations of one bit each.

Who attacks whom on a board is six tables of 64 × 64 ones and noughts. Read as
numbers by every block, they are most of what a relay moves to and fro; as bits
they are next to nothing, and become numbers only where they are multiplied
with. Needs a CUDA device and Triton, which comes with torch there.
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
HALF = tl.constexpr(32)
WARPS = 4


def packed(relations: Tensor) -> Tensor:
    """[B, R, 64, 64] of ones and noughts to int32 [B, R, 64, 2]: a bit for the relation to each square."""
    places = torch.arange(32, device=relations.device, dtype=torch.int32)
    halves = relations.to(torch.int32).reshape(*relations.shape[:3], 2, 32)
    bits: Tensor = (halves << places).sum(4, dtype=torch.int32)
    return bits


@triton.jit
def _table(bits, row, i, j):
    """One relation of one board as numbers, [64, 64]."""
    words = tl.load(bits + row * SQUARES * 2 + i[:, None] * 2 + j[None, :] // HALF)
    return (words >> (j[None, :] % HALF)) & 1


@triton.jit
def _forward(told, bits, out, relations: tl.constexpr, size: tl.constexpr):
    board = tl.cast(tl.program_id(0), tl.int64)
    i, j, c = tl.arange(0, SQUARES), tl.arange(0, SQUARES), tl.arange(0, size)
    width: tl.constexpr = relations * size
    for relation in range(relations):
        place = board * SQUARES * width + j[:, None] * width + relation * size + c[None, :]
        heard = tl.load(told + place)
        table = _table(bits, board * relations + relation, i, j).to(heard.dtype)
        made = tl.maximum(tl.dot(table, heard), 0.0)
        tl.store(out + place, made.to(out.dtype.element_ty))


@triton.jit
def _backward(given, heard, bits, grad, relations: tl.constexpr, size: tl.constexpr):
    board = tl.cast(tl.program_id(0), tl.int64)
    i, j, c = tl.arange(0, SQUARES), tl.arange(0, SQUARES), tl.arange(0, size)
    width: tl.constexpr = relations * size
    for relation in range(relations):
        place = board * SQUARES * width + j[:, None] * width + relation * size + c[None, :]
        came = tl.load(given + place)
        came = tl.where(tl.load(heard + place) > 0, came, 0.0).to(came.dtype)
        table = _table(bits, board * relations + relation, i, j).to(came.dtype)
        tl.store(grad + place, tl.dot(tl.trans(table), came).to(grad.dtype.element_ty))


@library.custom_op("tabiya::relayed", mutates_args=())
def _relayed(told: Tensor, bits: Tensor) -> Tensor:
    boards, _, relations, size = told.shape
    out = torch.empty_like(told, memory_format=torch.contiguous_format)
    _forward[(boards,)](
        told.contiguous(), bits.contiguous(), out, relations=relations, size=size, num_warps=WARPS
    )
    return out


@_relayed.register_fake
def _(told: Tensor, bits: Tensor) -> Tensor:
    return torch.empty_like(told, memory_format=torch.contiguous_format)


@library.custom_op("tabiya::relayed_backward", mutates_args=())
def _relayed_backward(given: Tensor, heard: Tensor, bits: Tensor) -> Tensor:
    boards, _, relations, size = heard.shape
    grad = torch.empty_like(heard)
    _backward[(boards,)](
        given.contiguous(), heard, bits.contiguous(), grad, relations=relations, size=size, num_warps=WARPS
    )
    return grad


@_relayed_backward.register_fake
def _(given: Tensor, heard: Tensor, bits: Tensor) -> Tensor:
    return torch.empty_like(heard)


def _keep(ctx: Any, inputs: tuple[Tensor, Tensor], output: Tensor) -> None:
    ctx.save_for_backward(output, inputs[1])


def _differentiate(ctx: Any, given: Tensor) -> tuple[Tensor, None]:
    return _relayed_backward(given, *ctx.saved_tensors), None


_relayed.register_autograd(_differentiate, setup_context=_keep)


def relayed(told: Tensor, bits: Tensor) -> Tensor:
    """What each square hears, cut off below nothing: [B, 64, R, C] by `packed` relations to that shape."""
    made: Tensor = _relayed(told, bits)
    return made
