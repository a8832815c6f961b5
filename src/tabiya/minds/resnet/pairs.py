"""A head for moves that looks at both ends of a move: where it starts, and where it goes.

A convolution gives the move e2–e8 its logit from what it knows at e2 alone, so
all that matters at e8 must first travel there through the tower. Here every
square makes two vectors, one as origin and one as target, and the logit of a
move is their product. The output has the 8×8×73 numbering all the same; while
it learns, moves are picked out of the pairs themselves (`raw`, `index`), because
sorting a gradient of 4,672 numbers back takes longer than the product.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

_DIRECTIONS = ((0, 1), (1, 1), (1, 0), (1, -1), (0, -1), (-1, -1), (-1, 0), (-1, 1))
_JUMPS = ((1, 2), (2, 1), (2, -1), (1, -2), (-1, -2), (-2, -1), (-2, 1), (-1, 2))
UNDERPROMOTIONS = 9


class Pairs(nn.Module):
    """Features [B, width, 8, 8] to logits [B, 4672]."""

    index: Tensor
    """int32 [4672]: where each move stands in `raw`."""

    def __init__(self, width: int, size: int = 64) -> None:
        super().__init__()
        self.scale = size**-0.5
        self.origin = nn.Conv2d(width, size, 1)
        self.target = nn.Conv2d(width, size, 1)
        self.bias = nn.Parameter(torch.zeros(64, 64))
        self.under = nn.Conv2d(width, UNDERPROMOTIONS, 1)
        self.register_buffer("index", torch.tensor(_numbering(), dtype=torch.int32), persistent=False)

    def forward(self, features: Tensor) -> Tensor:
        return self.raw(features).index_select(1, self.index)

    def raw(self, features: Tensor) -> Tensor:
        """Logits of all pairs of squares, then of the underpromotions: [B, 4672] in another order."""
        origin = self.origin(features).flatten(2).transpose(1, 2)
        target = self.target(features).flatten(2)
        pairs = origin @ target * self.scale + self.bias
        under = self.under(features).flatten(1)
        return torch.cat([pairs.flatten(1), under], 1)


def _numbering() -> list[int]:
    """For each number from·73 + plane, its place among the 64·64 pairs and the 9·64 underpromotions.

    A plane that leads off the board can belong to no move; it stands for the first pair.
    """
    steps = [(df * n, dr * n) for df, dr in _DIRECTIONS for n in range(1, 8)]
    steps += _JUMPS
    places = []
    for origin in range(64):
        file, rank = origin % 8, origin // 8
        for df, dr in steps:
            f, r = file + df, rank + dr
            inside = 0 <= f < 8 and 0 <= r < 8
            places.append(origin * 64 + r * 8 + f if inside else 0)
        places += [64 * 64 + plane * 64 + origin for plane in range(UNDERPROMOTIONS)]
    return places
