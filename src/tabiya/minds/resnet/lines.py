"""Which squares see each other along lines, and which would if one piece were gone.

The rules of the given position alone: no move is made and no other position is
looked at. Pieces are counted along each line from its first square on; how many
stand between two squares of a line is the difference of their counts.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

_WAYS = ((1, 1), (1, -1), (1, 0), (0, 1))
"""The lines through a square, as steps (ranks, files): two diagonals, then the two straight ones."""


class Lines(NamedTuple):
    """For each pair of squares [B, 64, 64], 1 or 0; a pair and its reverse are alike."""

    diagonal: Tensor
    straight: Tensor
    diagonal_behind: Tensor
    """Exactly one piece stands between them."""
    straight_behind: Tensor


class LinesOfSight(nn.Module):
    """Occupied squares [B, 64], 1 or 0, to the lines between them."""

    before: Tensor
    on: Tensor

    def __init__(self) -> None:
        super().__init__()
        before, on = torch.zeros(64, len(_WAYS), 64), torch.zeros(len(_WAYS), 64, 64, dtype=torch.uint8)
        for way, (ranks, files) in enumerate(_WAYS):
            for square in range(64):
                rank, file = square // 8 + ranks, square % 8 + files
                while 0 <= rank < 8 and 0 <= file < 8:
                    further = 8 * rank + file
                    before[square, way, further] = 1
                    on[way, square, further] = on[way, further, square] = 1
                    rank, file = rank + ranks, file + files
        self.register_buffer("before", before.reshape(64, -1), persistent=False)
        self.register_buffer("on", on, persistent=False)

    def forward(self, occupied: Tensor) -> Lines:
        before = (occupied @ self.before).reshape(-1, len(_WAYS), 64)
        half = occupied.to(before.dtype)[:, None] / 2
        # A square counts half itself, so that the difference does not mind which of two is further on.
        place = before + half
        between = (
            (place[:, :, :, None] - place[:, :, None, :]).abs() - half[:, :, :, None] - half[:, :, None, :]
        )
        none_or_one = torch.stack([1 - between, 1 - (between - 1).abs()], 1)
        seen = none_or_one.clamp(min=0) * self.on.to(before.dtype)
        diagonal, straight = seen[:, :, :2].sum(2), seen[:, :, 2:].sum(2)
        return Lines(diagonal[:, 0], straight[:, 0], diagonal[:, 1], straight[:, 1])
