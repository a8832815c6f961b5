"""Packed positions to planes on the device that trains, so that 32 bytes travel and not 1,344.

Gives the numbers of `_core.encode_planes` (mover's view, the clock divided by
100) and, for 21 planes, en passant and repetition; a test holds them equal.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

MOVE_PLANES = 73
_PIECES = (0, 1, 2, 3, 4, 5, 8, 9, 10, 11, 12, 13)


def planes_of(packed: Tensor, planes: int, mirror: Tensor | None = None) -> Tensor:
    """uint8 [B, 32] to float [B, 18 or 21, 8, 8] of 0 to 1; where `mirror` [B] is true, mirrored."""
    dtype = torch.float32
    count = packed.shape[0]
    data = packed.to(torch.int32)
    bits = torch.arange(8, device=packed.device, dtype=torch.int32)
    occupied = ((data[:, :8, None] >> bits) & 1).reshape(count, 64)
    at = occupied.cumsum(1, dtype=torch.int32) - 1
    at = at.clamp(min=0)
    pair = data[:, 8:24].gather(1, (at >> 1).to(torch.int64))
    nibble = (pair >> ((at & 1) * 4)) & 15
    black = data[:, 24:25] & 1
    # The mover's pieces are 0–5 and rank 1 is the mover's, whoever it is.
    nibble = torch.where(occupied == 1, nibble ^ (black * 8), 15)
    turned = nibble.reshape(count, 8, 8)
    turned = torch.where(black[:, :, None] == 1, turned.flip(1), turned)
    codes = torch.tensor(_PIECES, device=packed.device, dtype=torch.int32)
    pieces = turned[:, None] == codes[None, :, None, None]
    rights = (data[:, 24:25] >> (bits[1:5])) & 1
    rights = torch.where(black == 1, rights[:, [2, 3, 0, 1]], rights)
    scalars = [1 - black, rights, data[:, 26:27].clamp(max=100) / 100]
    layers = [pieces.to(dtype), _filled(scalars, dtype)]
    if planes == 21:
        square = data[:, 25:26]
        turned_square = torch.where(black == 1, square ^ 56, square)
        board = torch.arange(64, device=packed.device, dtype=torch.int32)
        passant = (turned_square == board) & (square < 64)
        layers.append(passant.reshape(count, 1, 8, 8).to(dtype))
        repetitions = data[:, 27:28]
        layers.append(_filled([repetitions >= 1, repetitions >= 2], dtype))
    board = torch.cat(layers, 1)
    return board if mirror is None else torch.where(mirror[:, None, None, None], board.flip(3), board)


def can_mirror(packed: Tensor) -> Tensor:
    """bool [B]: no castling right is left, so that left and right are alike to the rules."""
    return (packed[:, 24] & 0b11110) == 0


def _filled(columns: list[Tensor], dtype: torch.dtype) -> Tensor:
    """Numbers [B, n] as planes of one number each."""
    values = torch.cat([column.to(dtype) for column in columns], 1)
    return values[:, :, None, None].expand(-1, -1, 8, 8)


def mirrored_moves() -> np.ndarray[tuple[int], np.dtype[np.int16]]:
    """For each number of the 8×8×73 space, the number of the move mirrored left to right."""
    direction = [0, 7, 6, 5, 4, 3, 2, 1]  # N NE E SE S SW W NW
    knight = [7, 6, 5, 4, 3, 2, 1, 0]
    plane = [direction[p // 7] * 7 + p % 7 for p in range(56)]
    plane += [56 + knight[p] for p in range(8)]
    plane += [64 + piece * 3 + (2 - step) for piece in range(3) for step in range(3)]
    return np.array(
        [(square ^ 7) * MOVE_PLANES + plane[p] for square in range(64) for p in range(73)], np.int16
    )
