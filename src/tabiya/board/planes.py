"""Packed positions to the planes a convolutional network reads: the 18 of the core, or 21.

The 18 planes lack two things that the rules ask about: which en passant
capture is legal, and how often the position stood before. Three more planes
say so. This is the one numpy statement of that layout, so that a player and
the check of an exported network read a position the same way.

    >>> from tabiya._core import Board
    >>> import numpy as np
    >>> encode(np.frombuffer(Board().packed(), np.uint8).reshape(1, 32), 21).shape
    (1, 21, 8, 8)
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tabiya._core import encode_planes

CLOCK_PLANE = 17
"""The plane of the halfmove clock, 0 to 100 here; networks divide it by `CLOCK_SCALE`."""
CLOCK_SCALE = 100.0
PLANE_COUNTS = (18, 21)

_SIDE, _EN_PASSANT, _REPETITIONS = 24, 25, 27  # bytes of a packed position


def encode(packed: NDArray[np.uint8], planes: int) -> NDArray[np.uint8]:
    """uint8 [N, planes, 8, 8] from packed [N, 32], in the view of the side to move.

    Plane 18 is 1 on the square of a legal en passant capture, plane 19
    everywhere if the position stood before, plane 20 if it did so twice.
    """
    if planes not in PLANE_COUNTS:
        raise ValueError(f"a position has {' or '.join(map(str, PLANE_COUNTS))} planes, not {planes}")
    first = encode_planes(packed, "mover")
    if planes == first.shape[1]:
        return first
    count = len(packed)
    every = np.zeros((count, planes, 8, 8), np.uint8)
    every[:, :18] = first
    rows = np.flatnonzero(packed[:, _EN_PASSANT] < 64)
    # Black's view mirrors the ranks: square ^ 56.
    squares = packed[rows, _EN_PASSANT] ^ (56 * (packed[rows, _SIDE] & 1))
    every[rows, 18, squares >> 3, squares & 7] = 1
    every[:, 19] = (packed[:, _REPETITIONS] >= 1)[:, None, None]
    every[:, 20] = (packed[:, _REPETITIONS] >= 2)[:, None, None]
    return every
