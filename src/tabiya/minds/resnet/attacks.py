"""Who attacks what, which the network works out from its own input.

A convolution sees three squares far, so a tower needs several blocks to learn
that a queen on a1 attacks h8, and blocks for the same again on every line of
the board. The rules know it at once. They are asked about the given position
alone: no move is made and no other position is looked at.

All is made inside the network, out of its first twelve planes. So a file needs
no other input for it, and a piece that is blanked attacks nothing.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from tabiya.minds.resnet.lines import Lines

PLANES = 26
"""Twelve of attackers, six of lines and jumps to the kings, eight of what lies behind one piece."""
RELATIONS = 6
_PAWN, _KNIGHT, _BISHOP, _ROOK, _QUEEN, _KING = range(6)
_OTHER = 6
"""The first plane of the other side's pieces."""
_ROUND = ((1, 1), (1, -1), (-1, 1), (-1, -1), (1, 0), (-1, 0), (0, 1), (0, -1))
_JUMPS = ((1, 2), (1, -2), (-1, 2), (-1, -2), (2, 1), (2, -1), (-2, 1), (-2, -1))
_AHEAD, _BACK = ((1, 1), (1, -1)), ((-1, 1), (-1, -1))
_DIAGONALLY = [piece + side for piece in (_BISHOP, _QUEEN, _KING) for side in (0, _OTHER)]
_STRAIGHT = [piece + side for piece in (_ROOK, _QUEEN, _KING) for side in (0, _OTHER)]
"""Planes of what runs; a king does not, but what could run to it gives check."""


class Attacks(nn.Module):
    """Pieces [B, 12, 64], rank 1 the mover's, and the lines between them.

    `forward` gives planes [B, 26, 8, 8], counts of attackers:

    | planes | what stands on a square |
    | --- | --- |
    | 0–5, 6–11 | how many pawns, knights, bishops, rooks, queens, kings attack it: the mover's, the other's |
    | 12, 13 | whether a knight there attacks the mover's, the other's king |
    | 14, 15 · 16, 17 | whether it lies on a free diagonal · a free line of the mover's, the other's king |
    | 18, 19 · 20, 21 | how many of each side's would attack it diagonally · straight, were one piece gone |
    | 22, 23 · 24, 25 | the same of the kings' diagonals · lines |

    `relations` gives [B, 6, 64, 64], 1 where the first square has something to do with the second: its piece
    attacks it; is attacked by its piece; both again through one piece; a free diagonal; a free straight line.
    """

    leaps: Tensor

    def __init__(self) -> None:
        super().__init__()
        leaps = torch.stack([_moved(steps) for steps in (_JUMPS, _ROUND, _AHEAD, _BACK)])
        self.register_buffer("leaps", leaps, persistent=False)

    def forward(self, pieces: Tensor, lines: Lines) -> Tensor:
        jumps, round_the_king, ahead, back = self.leaps
        diagonally, straight = pieces[:, _DIAGONALLY], pieces[:, _STRAIGHT]
        near = diagonally @ lines.diagonal, straight @ lines.straight
        far = diagonally @ lines.diagonal_behind, straight @ lines.straight_behind
        found = []
        for side, forward in ((0, ahead), (_OTHER, back)):
            own = 1 if side else 0
            found += [
                pieces[:, side + _PAWN] @ forward,
                pieces[:, side + _KNIGHT] @ jumps,
                near[0][:, own],
                near[1][:, own],
                near[0][:, 2 + own] + near[1][:, 2 + own],
                pieces[:, side + _KING] @ round_the_king,
            ]
        found += [pieces[:, _KING] @ jumps, pieces[:, _OTHER + _KING] @ jumps]
        found += [near[way][:, 4 + side] for way in (0, 1) for side in (0, 1)]
        found += [far[way][:, side] + far[way][:, 2 + side] for way in (0, 1) for side in (0, 1)]
        found += [far[way][:, 4 + side] for way in (0, 1) for side in (0, 1)]
        return torch.stack(found, 1).reshape(-1, PLANES, 8, 8)

    def relations(self, pieces: Tensor, lines: Lines) -> Tensor:
        leaps = self.leaps.to(lines.diagonal.dtype)
        pieces = pieces.to(lines.diagonal.dtype)[:, :, :, None]
        either = pieces[:, :_OTHER] + pieces[:, _OTHER:]
        diagonally, straight = either[:, _BISHOP] + either[:, _QUEEN], either[:, _ROOK] + either[:, _QUEEN]
        attacks = (
            diagonally * lines.diagonal
            + straight * lines.straight
            + either[:, _KNIGHT] * leaps[0]
            + either[:, _KING] * leaps[1]
            + pieces[:, _PAWN] * leaps[2]
            + pieces[:, _OTHER + _PAWN] * leaps[3]
        )
        behind = diagonally * lines.diagonal_behind + straight * lines.straight_behind
        turned = attacks.transpose(1, 2), behind.transpose(1, 2)
        return torch.stack([attacks, turned[0], behind, turned[1], lines.diagonal, lines.straight], 1)


def _moved(steps: tuple[tuple[int, int], ...]) -> Tensor:
    """[64, 64]: 1 where one of the steps (ranks, files) leads from the first square to the second."""
    found = torch.zeros(64, 64)
    for ranks, files in steps:
        for square in range(64):
            rank, file = square // 8 + ranks, square % 8 + files
            if 0 <= rank < 8 and 0 <= file < 8:
                found[square, 8 * rank + file] = 1
    return found
