"""How many numbers a network's file has learned, counted in the file itself."""

from __future__ import annotations

from pathlib import Path

from tabiya.errors import UserError


def parameter_count(path: Path) -> int:
    """The numbers in the ONNX file's stored tensors, however they are stored.

    Slightly fewer than torch counts (normalisation is folded into the
    weights when a network is exported), so a manifest's own count goes first.
    """
    try:
        import onnx
    except ImportError:
        raise UserError(
            f"{path} has no manifest, and to count its parameters the package onnx is needed: "
            "install it with `pip install 'tabiya[train]'`"
        ) from None
    try:
        graph = onnx.load(str(path)).graph
    except Exception as error:  # protobuf's errors have no common kind
        raise UserError(f"{path} is no ONNX network: {type(error).__name__}") from None
    count = 0
    for tensor in graph.initializer:
        size = 1
        for length in tensor.dims:
            size *= length
        count += size
    return count
