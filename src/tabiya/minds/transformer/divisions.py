"""Which division of the kernels is the fastest on the device at hand: tried, timed, and the best put in use.

A division is how many rows a program takes, with how many warps, how much of
it is on its way at once, and how many programs share the boards. What is best
follows from registers and latencies that no formula here knows, so it is
measured: first every way to build a program, then for the three fastest how many
of them there should be and how many registers they may have. To compile a division takes
seconds and to time it a tenth of one, so processes side by side compile them first, into
the compiler's own cache.

    python -m tabiya.minds.transformer.speed CONFIG --divisions
"""

# Triton has no types.
# mypy: disable-error-code="import-untyped,import-not-found"
from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, partial
from itertools import product
from typing import Any, NamedTuple

import torch
import triton

from tabiya.minds.transformer import kernel, product_kernel
from tabiya.minds.transformer.kernel import Launch, Launches
from tabiya.minds.transformer.product_kernel import Tile
from tabiya.minds.transformer.shape import TransformerShape

BUILDS = ((32, 2), (32, 4), (64, 4), (64, 8), (128, 8))
"""Rows of a part, and the warps that work at it."""
STAGES = (2, 3)
PROGRAMS = (16, 24, 27, 32, 41, 48, 64, 96, 128)
REGISTERS = (96, 128, 168)
TILES = tuple(
    Tile(rows, columns, 64, warps, stages, each)
    for (rows, columns, warps), stages, each in product(
        ((64, 128, 4), (128, 128, 4), (128, 128, 8), (64, 256, 4), (128, 256, 8)), (3, 4), (1, 2)
    )
)

FEW = 64
"""Boards of a first run that only compiles; a multiple of 16, as the compiler tells numbers apart."""

Clock = Callable[[Callable[[], Any]], float]
"""Milliseconds of what it is given."""
Prepare = Callable[[str, Iterable[Any]], None]
"""Compiles the divisions of one kernel before they are timed."""


class Timed(NamedTuple):
    """A division and what it takes, in milliseconds; infinite where the device cannot do it."""

    division: Any
    ms: float


def tune(shape: TransformerShape, boards: int, clock: Clock | None = None) -> dict[str, list[Timed]]:
    """Put the fastest division of every kernel in use; all that were tried, the fastest first."""
    found = {}
    with _compilers(shape) if clock is None else _no_compilers() as prepare:
        clock = clock or _on_the_device
        for name in Launches._fields:
            found[name] = _tune_attention(name, shape.rows, _attention(shape, boards), clock, prepare)
            _use(shape.rows, name, found[name][0].division)
        prepare("product", TILES)
        found["product"] = _try(TILES, _product(shape, boards), clock)
    product_kernel.TILE = found["product"][0].division
    return found


def _use(rows: int, name: str, launch: Launch) -> None:
    """Divide one kernel in this way from now on."""
    key = kernel.NARROW if rows <= kernel.NARROW else kernel.MOST
    kernel.LAUNCHES[key] = kernel.LAUNCHES[key]._replace(**{name: launch})


def _tune_attention(
    name: str, rows: int, run: Callable[[], Any], clock: Clock, prepare: Prepare
) -> list[Timed]:
    usual: Launch = getattr(kernel.launches_of(rows), name)

    def use(launch: Launch) -> Callable[[], Any]:
        _use(rows, name, launch)
        return run

    builds = [
        Launch(part, warps, stages, usual.programs, holds)
        for (part, warps), stages, holds in product(BUILDS, STAGES, (True, False))
    ]
    prepare(name, builds)
    found = _try([usual, *builds], use, clock)
    counted = [timed.division._replace(programs=count) for timed in found[:3] for count in PROGRAMS]
    found = sorted([*found, *_try(counted, use, clock)], key=_ms)
    capped = [timed.division._replace(registers=most) for timed in found[:3] for most in REGISTERS]
    prepare(name, capped)
    return sorted([*found, *_try(capped, use, clock)], key=_ms)


@contextmanager
def _compilers(shape: TransformerShape) -> Iterator[Prepare]:
    """A process for every core but one, each of which compiles what it is handed by running it once."""
    with multiprocessing.get_context("spawn").Pool(max(1, (os.cpu_count() or 2) - 1)) as pool:

        def prepare(name: str, divisions: Iterable[Any]) -> None:
            pool.map(partial(_compile, shape, name), divisions, chunksize=1)

        yield prepare


@contextmanager
def _no_compilers() -> Iterator[Prepare]:
    yield lambda _name, _divisions: None


def _compile(shape: TransformerShape, name: str, division: Any) -> None:
    """In a process of its own: whatever the device cannot do is found again when it is timed."""
    try:
        if name == "product":
            _few_products(shape)(division)()
        else:
            _use(shape.rows, name, division)
            _few_boards(shape)()
    except (RuntimeError, triton.runtime.errors.TritonError):
        pass


@cache
def _few_boards(shape: TransformerShape) -> Callable[[], Any]:
    return _attention(shape, FEW)


@cache
def _few_products(shape: TransformerShape) -> Callable[[Tile], Callable[[], Any]]:
    return _product(shape, FEW)


def _try(divisions: Iterable[Any], use: Callable[[Any], Callable[[], Any]], clock: Clock) -> list[Timed]:
    """Each different division timed, the fastest first."""
    found = []
    for division in dict.fromkeys(divisions):
        try:
            found.append(Timed(division, clock(use(division))))
        except (RuntimeError, triton.runtime.errors.TritonError):  # too much memory or too few registers
            found.append(Timed(division, float("inf")))
    return sorted(found, key=_ms)


def _ms(timed: Timed) -> float:
    return timed.ms


def _attention(shape: TransformerShape, boards: int) -> Callable[[], Any]:
    """Attention of a batch, forth and back; what differs between two calls is the kernel that is tuned."""
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    size = shape.width // shape.heads
    kind = torch.bfloat16 if device.type == "cuda" else torch.float32
    qkv = torch.randn(boards, shape.rows, 3, shape.heads, size, device=device, dtype=kind)
    qkv.requires_grad_()
    bias = torch.zeros(shape.heads, shape.rows, shape.rows, device=device, requires_grad=True)

    def run() -> None:
        made = kernel.board_attention(qkv, bias, size**-0.5)
        torch.autograd.grad(made, (qkv, bias), made.detach())

    return run


def _product(shape: TransformerShape, boards: int) -> Callable[[Tile], Callable[[], Any]]:
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    kind = torch.bfloat16 if device.type == "cuda" else torch.float32
    rows, hidden = boards * shape.rows, round(shape.width * shape.mlp_ratio)
    left = torch.randn(rows, shape.width, device=device, dtype=kind)
    right = torch.randn(shape.width, hidden, device=device, dtype=kind)
    raised = torch.randn(rows, hidden, device=device, dtype=kind).relu()
    return lambda tile: lambda: product_kernel.product_where_above_zero(left, right, raised, tile)


def _on_the_device(run: Callable[[], Any]) -> float:
    found: float = triton.testing.do_bench(run, warmup=10, rep=40, return_mode="median")
    return found


def as_lines(found: Mapping[str, Sequence[Timed]], most: int = 5) -> list[dict[str, Any]]:
    """The fastest divisions of each kernel, as they are printed."""
    return [
        {"kernel": name, "ms": round(timed.ms, 4), **timed.division._asdict()}
        for name, tried in found.items()
        for timed in tried[:most]
    ]
