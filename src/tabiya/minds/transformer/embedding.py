"""Tokens to rows: what each of the 85 (or 149) inputs of the transformer is as a vector.

Lookups in small tables are products with one-hot matrices: their gradients are
then products too, where a gathered row's would be thousands of additions to
the same thirteen places.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from tabiya.minds.transformer.shape import MOVES, SLOTS, TransformerShape

DEGREE = 8
"""Of the polynomial that says how much the half-move clock counts."""
FIFTY_MOVES = 100.0
"""Half-moves at which the clock reads 1: a power of anything larger would swamp the others."""
STAGE = 100.0
LONGEST = 300
"""Full moves beyond which a game is no later than late."""
STAGE_WIDTH = 16
UNKNOWN = 3
"""The fourth embedding of the repetitions: a slot that holds no move has none."""


class Embedding(nn.Module):
    """Tokens int [B, 84], with what is known of the slots' moves, to rows [B, rows, width]."""

    def __init__(self, shape: TransformerShape) -> None:
        super().__init__()
        self.shape = shape
        width = shape.width
        self.cls = _table(1, width)
        if shape.pieces == "13":
            self.pieces = _table(13, width)
        else:
            self.kinds = _table(7, width)
            """Empty, then pawn to king."""
            self.sides = _table(2, width)
        self.switches = nn.Parameter(torch.randn(14, 2, width) * 0.02)
        """Turn, castling and en passant: off and on."""
        self.repetitions = _table(4, width)
        """0, 1 or 2 times before; the fourth where there is no move. One matrix for position and slots."""
        self.clock = _table(1, width)
        powers = torch.zeros(DEGREE + 1)
        powers[1] = 1.0
        self.clock_powers = nn.Parameter(powers)
        self.stage = _table(1, STAGE_WIDTH)
        self.stage_matrix = nn.Parameter(torch.randn(STAGE_WIDTH, width) * STAGE_WIDTH**-0.5)
        if shape.refinement:
            self.moves = _table(MOVES + 1, width)
            """Number 0 is no move, then the UCI space."""
            self.chance = _table(1, width)
            self.ranks = _table(SLOTS, width)
        else:
            self.slots = _table(SLOTS, width)
        self.places = _table(shape.rows, width) if shape.absolute else None

    def forward(self, tokens: Tensor, probability: Tensor, again: Tensor) -> Tensor:
        """`probability` [B, 3] and `again` [B, 3] (times its outcome stood before) are the slots' moves'."""
        count = tokens.shape[0]
        squares = self._squares(tokens[:, :64])
        on = tokens[:, 64:78, None].to(self.switches.dtype)
        switches = self.switches[:, 0] + on * (self.switches[:, 1] - self.switches[:, 0])
        repetition = _one_hot(tokens[:, 78:79], 4, self.repetitions) @ self.repetitions
        clock = tokens[:, 79:80, None].clamp(max=int(FIFTY_MOVES)) / FIFTY_MOVES
        powers = torch.arange(DEGREE + 1, device=tokens.device)
        counted = ((clock**powers) * self.clock_powers).sum(2, keepdim=True) * self.clock
        stage = tokens[:, 80:81, None].clamp(max=LONGEST) / STAGE
        staged = (stage * self.stage) @ self.stage_matrix
        rows = [
            self.cls[None].expand(count, -1, -1),
            squares[:, :64],
            switches,
            repetition,
            counted,
            staged,
            self._slots(tokens[:, 81:84], probability, again),
        ]
        if self.shape.pieces == "separate":
            rows.append(squares[:, 64:])
        made = torch.cat([row.to(self.cls.dtype) for row in rows], 1)
        return made if self.places is None else made + self.places

    def _squares(self, codes: Tensor) -> Tensor:
        if self.shape.pieces == "13":
            return _one_hot(codes, 13, self.pieces) @ self.pieces
        other = codes > 6
        kind = _one_hot(torch.where(other, codes - 6, codes), 7, self.kinds)
        of_kind = kind @ self.kinds
        side = torch.stack([(codes > 0) & ~other, other], 2).to(self.sides.dtype) @ self.sides
        if self.shape.pieces == "added":
            return of_kind + side
        # The colour of an empty square is that it is empty.
        return torch.cat([of_kind, side + kind[:, :, :1] * self.kinds[0]], 1)

    def _slots(self, moves: Tensor, probability: Tensor, again: Tensor) -> Tensor:
        if not self.shape.refinement:
            return self.slots[None].expand(moves.shape[0], -1, -1)
        times = torch.where(moves > 0, again.to(moves.dtype).clamp(max=2), UNKNOWN)
        return (
            nn.functional.embedding(moves.long(), self.moves)
            + _one_hot(times, 4, self.repetitions) @ self.repetitions
            + probability[:, :, None] * self.chance
            + self.ranks
        )


def _table(count: int, width: int) -> nn.Parameter:
    return nn.Parameter(torch.randn(count, width) * 0.02)


def _one_hot(codes: Tensor, count: int, like: Tensor) -> Tensor:
    return (codes[:, :, None] == torch.arange(count, device=codes.device)).to(like.dtype)
