"""Packed positions to tokens on the device that trains, and moves to numbers of the UCI space there.

Gives the numbers of `_core.encode_tokens` in the view the network has, with
one difference: a network that sees the board turned to the side to move is
not told whose turn it is, so that a position and its twin with colours
exchanged are one. Tests hold all of it equal to the core.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tabiya import _core

_DIRECTIONS = ((1, 0), (1, 1), (0, 1), (-1, 1), (-1, 0), (-1, -1), (0, -1), (1, -1))
_JUMPS = ((2, 1), (1, 2), (-1, 2), (-2, 1), (-2, -1), (-1, -2), (1, -2), (2, -1))


def tokens_of(packed: Tensor, flipped: bool, mirror: Tensor | None = None) -> Tensor:
    """uint8 [B, 32] to int32 [B, 84]; the slots are empty; where `mirror` [B] is true, left is right."""
    count, device = packed.shape[0], packed.device
    data = packed.to(torch.int32)
    bits = torch.arange(8, device=device, dtype=torch.int32)
    occupied = ((data[:, :8, None] >> bits) & 1).reshape(count, 64)
    at = (occupied.cumsum(1, dtype=torch.int32) - 1).clamp(min=0)
    pair = data[:, 8:24].gather(1, (at >> 1).to(torch.int64))
    nibble = (pair >> ((at & 1) * 4)) & 15
    black = data[:, 24:25] & 1
    turned = black if flipped else torch.zeros_like(black)
    nibble = nibble ^ (turned * 8)
    squares = torch.where(occupied == 1, (nibble & 7) + 1 + (nibble >> 3) * 6, 0).reshape(count, 8, 8)
    squares = torch.where(turned[:, :, None] == 1, squares.flip(1), squares)
    rights = (data[:, 24:25] >> bits[1:5]) & 1
    rights = torch.where(turned == 1, rights[:, [2, 3, 0, 1]], rights)
    file = data[:, 25:26] & 7
    if mirror is not None:
        squares = torch.where(mirror[:, None, None], squares.flip(2), squares)
        file = torch.where(mirror[:, None], 7 - file, file)
    passant = (data[:, 25:26] < 64).to(torch.int32)
    files = (file == bits).to(torch.int32) * passant
    turn = torch.zeros_like(black) if flipped else black
    full = data[:, 28:29] + data[:, 29:30] * 256
    slots = torch.zeros(count, 3, dtype=torch.int32, device=device)
    counters = [data[:, 27:28], data[:, 26:27], full]
    return torch.cat([squares.reshape(count, 64), turn, rights, passant, files, *counters, slots], 1)


def mirrored_moves() -> NDArray[np.int16]:
    """For each move of the UCI space, the number of the move mirrored left to right."""
    return _renamed(str.maketrans("abcdefgh", "hgfedcba"), keep=4)


def turned_moves() -> NDArray[np.int16]:
    """For each move of the UCI space, the number of the move as the other side sees it."""
    return _renamed(str.maketrans("12345678", "87654321"), keep=4)


def _renamed(letters: dict[int, int], keep: int) -> NDArray[np.int16]:
    # The fifth letter is the promotion, whose 'b' is no file.
    moves = _core.uci_moves()
    number = {move: at for at, move in enumerate(moves)}
    return np.array([number[move[:keep].translate(letters) + move[keep:]] for move in moves], np.int16)


def uci_of_planes() -> NDArray[np.int16]:
    """[2, 4672]: the UCI number of each move of the 8×8×73 space, by whether a pawn makes it; else −1.

    Both in the mover's view. The second row differs where a pawn's step to
    the last rank is a promotion to a queen.
    """
    table = np.full((2, 4672), -1, np.int16)
    for number, move in enumerate(_core.uci_moves()):
        file, rank = ord(move[0]) - 97, int(move[1]) - 1
        files, ranks = ord(move[2]) - 97 - file, int(move[3]) - 1 - rank
        start = (rank * 8 + file) * 73
        promotion = move[4:]
        if promotion and rank != 6:
            continue  # the other side's, which the mover's view does not know
        if promotion in ("n", "b", "r"):
            table[1, start + 64 + "nbr".index(promotion) * 3 + files + 1] = number
            continue
        if (ranks, files) in _JUMPS:
            plane = 56 + _JUMPS.index((ranks, files))
        else:
            far = max(abs(ranks), abs(files))
            plane = _DIRECTIONS.index((ranks // far, files // far)) * 7 + far - 1
        if promotion == "q":
            table[1, start + plane] = number
            continue
        table[0, start + plane] = number
        if table[1, start + plane] < 0:
            table[1, start + plane] = number
    return table


def renumbered(legal: Tensor, packed: Tensor, flipped: bool) -> Tensor:
    """Legal moves int16 [N, W] of the planes space, mover's view, as numbers of the UCI space in the view."""
    device = legal.device
    table = torch.from_numpy(uci_of_planes()).to(device)
    numbers = legal.clamp(min=0).long()
    own_pawns = tokens_of(packed, True)[:, :64] == 1
    by_pawn = own_pawns.gather(1, numbers // 73)
    uci = torch.where(by_pawn, table[1][numbers], table[0][numbers])
    if not flipped:
        turned = torch.from_numpy(turned_moves()).to(device)
        black = (packed[:, 24:25] & 1) == 1
        uci = torch.where(black, turned[uci.clamp(min=0).long()], uci)
    return torch.where(legal >= 0, uci, legal)
