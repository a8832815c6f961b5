"""The inputs of a transformer's ONNX file, made without torch: for its player, its exporter and the lens."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tabiya import _core
from tabiya.minds.transformer.shape import SLOTS, TransformerShape

INPUTS = ("tokens", "probability", "again", "rows", "attention", "heads", "renormalise")
METADATA = "tabiya.shape"
"""The key under which the file holds its network's shape, as JSON."""

Inputs: TypeAlias = dict[str, NDArray[Any]]


def read_tokens(packed: NDArray[np.uint8], flipped: bool) -> NDArray[np.int32]:
    """int32 [N, 84]: the core's tokens, without the turn where the board is turned to the mover."""
    tokens = _core.encode_tokens(packed, "mover" if flipped else "white").astype(np.int32)
    if flipped:
        tokens[:, 64] = 0
    return tokens


def first_inputs(packed: NDArray[np.uint8], flipped: bool) -> Inputs:
    """Tokens of a first pass: no moves in the slots."""
    count = len(packed)
    return {
        "tokens": read_tokens(packed, flipped),
        "probability": np.zeros((count, SLOTS), np.float32),
        "again": np.zeros((count, SLOTS), np.int32),
    }


def plain_cuts(shape: TransformerShape) -> Inputs:
    """Masks that change nothing, for any number of positions."""
    return {
        "rows": np.ones((1, shape.rows), np.float32),
        "attention": np.ones((1, shape.rows, shape.rows), np.float32),
        "heads": np.zeros((shape.layers, shape.heads), np.float32),
        "renormalise": np.zeros((), np.float32),
    }
