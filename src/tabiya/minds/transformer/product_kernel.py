"""A product of matrices that is kept only where another matrix is above zero: the gradient before a ReLU.

Computed apart, the product is written, then read beside what the ReLU gave and
written again. Here each entry is decided on before it leaves the chip. As many
programs as the chip has room for go on from tile to tile, so that one tile's rows
are fetched (by the chip's own copying, where it has that) while another is written.
Needs a CUDA device and Triton, which comes with torch there.
"""

# Triton has no types, and its kernels are no Python.
# mypy: disable-error-code="import-untyped,import-not-found,no-untyped-def,untyped-decorator,misc"
from __future__ import annotations

from functools import cache
from typing import NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor
from triton.tools.tensor_descriptor import TensorDescriptor


class Tile(NamedTuple):
    """The part of the product that a program makes at once."""

    rows: int
    columns: int
    inner: int
    """Entries of a row that are multiplied at once."""
    warps: int
    stages: int
    each: int
    """Programs on each of the chip's processors."""


TILE = Tile(rows=64, columns=128, inner=64, warps=4, stages=3, each=2)
"""The fastest of 32 on an H200 for 256 by 1024: 0.605 ms. A program for every tile took 0.699, a compiled
product and then a mask 0.81; the product alone takes 0.336, to read and write as much without one 0.340."""


@triton.jit
def _product_where_above_zero(
    left,
    right,
    raised,
    out,
    count,
    programs,
    width: tl.constexpr,
    depth: tl.constexpr,
    rows: tl.constexpr,
    columns: tl.constexpr,
    inner: tl.constexpr,
):
    # Tiles that follow each other share their rows of `left`; all of `right` stays in the cache.
    across: tl.constexpr = (width + columns - 1) // columns
    tiles = tl.cdiv(count, rows) * across
    for tile in tl.range(tl.program_id(0), tiles, programs, flatten=True):
        i = tile // across * rows
        j = tile % across * columns
        made = tl.zeros((rows, columns), tl.float32)
        for k in range(0, depth, inner):
            made = tl.dot(left.load([i, k]), right.load([k, j]), made)
        above = raised.load([i, j]) > 0
        out.store([i, j], tl.where(above, made, 0.0).to(out.dtype))


def product_where_above_zero(left: Tensor, right: Tensor, raised: Tensor, tile: Tile | None = None) -> Tensor:
    """left @ right, [N, K] by [K, W], and 0 where `raised` [N, W] is not above zero."""
    tile = tile or TILE
    count, depth = left.shape
    width = right.shape[1]
    inner = min(tile.inner, depth)
    if depth % inner:
        raise ValueError(f"rows of {depth} cannot be multiplied {inner} at a time")
    out = torch.empty(count, width, dtype=left.dtype, device=left.device)
    tiles = triton.cdiv(count, tile.rows) * triton.cdiv(width, tile.columns)
    programs = min(tiles, tile.each * _processors(left.device))
    _product_where_above_zero[(programs,)](
        TensorDescriptor.from_tensor(left.contiguous(), [tile.rows, inner]),
        TensorDescriptor.from_tensor(right.contiguous(), [inner, tile.columns]),
        TensorDescriptor.from_tensor(raised.contiguous(), [tile.rows, tile.columns]),
        TensorDescriptor.from_tensor(out, [tile.rows, tile.columns]),
        count,
        programs,
        width=width,
        depth=depth,
        rows=tile.rows,
        columns=tile.columns,
        inner=inner,
        num_warps=tile.warps,
        num_stages=tile.stages,
    )
    return out


@cache
def _processors(device: torch.device) -> int:
    """How many a chip has; one where Triton's interpreter takes its part."""
    return torch.cuda.get_device_properties(device).multi_processor_count if device.type == "cuda" else 1
