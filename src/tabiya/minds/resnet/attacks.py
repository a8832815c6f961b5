"""Who attacks what, as planes that the network makes of its own input.

A convolution sees three squares far, so a tower needs several blocks to learn
that a queen on a1 attacks h8, and blocks for the same again on every line of
the board. The rules know it at once. They are asked about the given position
alone: no move is made and no other position is looked at.

The planes are made inside the network, out of its first twelve planes. So a
file needs no other input for them, and a piece that is blanked attacks nothing.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

PLANES = 26
"""Twelve of attackers, six of lines and jumps to the kings, eight of what lies behind one piece."""
FARTHEST = 7
_PAWN, _KNIGHT, _BISHOP, _ROOK, _QUEEN, _KING = range(6)
_OTHER = 6
"""The first plane of the other side's pieces."""
_DIAGONAL = ((1, 1), (1, -1), (-1, 1), (-1, -1))
_STRAIGHT = ((1, 0), (-1, 0), (0, 1), (0, -1))
_JUMPS = ((1, 2), (1, -2), (-1, 2), (-1, -2), (2, 1), (2, -1), (-2, 1), (-2, -1))
_RUNNERS = (
    tuple(piece + side for piece in (_BISHOP, _QUEEN, _KING) for side in (0, _OTHER)),
    tuple(piece + side for piece in (_ROOK, _QUEEN, _KING) for side in (0, _OTHER)),
)
"""Planes of what runs diagonally and straight; a king does not, but what could run to it gives check."""


class Attacks(nn.Module):
    """Piece planes [B, 12 or more, 8, 8], rank 1 the mover's, to [B, 26, 8, 8]: counts of attackers.

    | planes | what stands on a square |
    | --- | --- |
    | 0–5, 6–11 | how many pawns, knights, bishops, rooks, queens, kings attack it: the mover's, the other's |
    | 12, 13 | whether a knight there attacks the mover's, the other's king |
    | 14, 15 · 16, 17 | whether it lies on a free diagonal · a free line of the mover's, the other's king |
    | 18, 19 · 20, 21 | how many of each side's would attack it diagonally · straight, were one piece gone |
    | 22, 23 · 24, 25 | the same of the kings' diagonals · lines |
    """

    steps: Tensor
    leaps: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("steps", _moved((*_DIAGONAL, *_STRAIGHT)))
        ups, downs = ((1, 1), (1, -1)), ((-1, 1), (-1, -1))
        leaps = [_moved(each).sum(0) for each in (_JUMPS, (*_DIAGONAL, *_STRAIGHT), ups, downs)]
        self.register_buffer("leaps", torch.stack(leaps))

    def forward(self, planes: Tensor) -> Tensor:
        pieces = planes[:, :12].reshape(-1, 12, 64)
        jumps, round_the_king, up, down = self.leaps
        near, far = self._runs(pieces)
        found = []
        for side, ahead in ((0, up), (_OTHER, down)):
            own = 1 if side else 0
            found += [
                pieces[:, side + _PAWN] @ ahead,
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

    def _runs(self, pieces: Tensor) -> tuple[list[Tensor], list[Tensor]]:
        """Diagonally and straight, [B, 6, 64] each: squares run to, and those reached through one piece."""
        ways = [pieces[:, list(runners)] for runners in _RUNNERS for _ in range(4)]
        going = torch.stack(ways)  # [8 directions, B, 6, 64]
        occupied = pieces.sum(1, keepdim=True)
        through = torch.zeros_like(going)
        near, far = through, through
        for _ in range(FARTHEST):
            going, through = _stepped(going, self.steps), _stepped(through, self.steps)
            near, far = near + going, far + through
            through = through * (1 - occupied) + going * occupied
            going = going * (1 - occupied)
        return _by_way(near), _by_way(far)


def _stepped(going: Tensor, steps: Tensor) -> Tensor:
    """Everything one square on, each in its direction. Sizes are spelt out, so that the batch stays free."""
    return (going.reshape(8, -1, 64) @ steps).reshape(8, -1, 6, 64)


def _by_way(runs: Tensor) -> list[Tensor]:
    """[8, B, 6, 64] to [B, 6, 64] of the four diagonal and the four straight directions."""
    return [runs[way : way + 4].sum(0) for way in (0, 4)]


def _moved(steps: tuple[tuple[int, int], ...]) -> Tensor:
    """[steps, 64, 64]: 1 where a step (ranks, files) leads from the first square to the second."""
    found = torch.zeros(len(steps), 64, 64)
    for number, (ranks, files) in enumerate(steps):
        for square in range(64):
            rank, file = square // 8 + ranks, square % 8 + files
            if 0 <= rank < 8 and 0 <= file < 8:
                found[number, square, 8 * rank + file] = 1
    return found
