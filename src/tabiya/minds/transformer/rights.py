"""Castling and en passant rights after a move, told from the tokens and the move alone.

On the device and for every batch, so that no table has to hold them. An en
passant right is told where a pawn of the other side stands beside the one that
made two steps; the core also asks whether a pin forbids the capture, which is
one such position in some hundred.
"""

from __future__ import annotations

import torch
from torch import Tensor

from tabiya import _core

# The home squares that castling on each side needs, in the order of the tokens.
_HOMES = ((4, 7), (4, 0), (60, 63), (60, 56))


def move_squares() -> Tensor:
    """int64 [1968, 2]: where each move of the UCI space leaves and arrives."""
    codes = torch.tensor([_core.uci_to_code(move) for move in _core.uci_moves()])
    return torch.stack([codes & 63, (codes >> 6) & 63], 1)


def rights_after(tokens: Tensor, moves: Tensor, squares: Tensor) -> Tensor:
    """float [B, 13] of 0 and 1: tokens 65–77 as they would stand after the moves [B], in the same view.

    `squares` are `move_squares()` on the device.
    """
    leaves, reaches = squares[moves].unbind(1)
    # Squares are compared one by one: a captured step can bring no table from the host.
    touched = [
        (leaves == king) | (reaches == king) | (leaves == rook) | (reaches == rook) for king, rook in _HOMES
    ]
    castling = tokens[:, 65:69] * ~torch.stack(touched, 1)
    piece = tokens.gather(1, leaves[:, None])[:, 0]
    pawn = (piece == 1) | (piece == 7)
    enemy = torch.where(piece == 1, 7, 1)
    file = reaches & 7
    left = tokens.gather(1, (reaches - 1).clamp(min=0)[:, None])[:, 0]
    right = tokens.gather(1, (reaches + 1).clamp(max=63)[:, None])[:, 0]
    beside = ((left == enemy) & (file > 0)) | ((right == enemy) & (file < 7))
    passant = pawn & ((leaves - reaches).abs() == 16) & beside
    files = (file[:, None] == torch.arange(8, device=tokens.device)) & passant[:, None]
    return torch.cat([castling, passant[:, None], files], 1).float()
