"""Squares, pieces, moves and shares in words, as the lens's sentences use them."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tabiya._core import Board
from tabiya.lens.interface import SQUARES

_KINDS = {"p": "pawn", "n": "knight", "b": "bishop", "r": "rook", "q": "queen", "k": "king"}


def part_named(board: Board, part: str) -> str:
    """What stands on a square, or what else a mind reads, with its article.

    >>> part_named(Board(), "g1"), part_named(Board(), "e4"), part_named(Board(), "half-moves")
    ('the white knight on g1', 'the empty square e4', 'the half-move clock')
    """
    if part not in SQUARES:
        return _OTHERS.get(part, part if part.startswith(("White's", "Black's")) else f"the {part}")
    piece = board.piece_at(part)
    if piece is None:
        return f"the empty square {part}"
    colour = "white" if piece.isupper() else "black"
    return f"the {colour} {_KINDS[piece.lower()]} on {part}"


_OTHERS = {
    "half-moves": "the half-move clock",
    "full moves": "the move number",
    "repetition": "the count of repetitions",
    "castling": "every right to castle",
    "en passant": "the right to capture en passant",
    "turn": "whose turn it is",
    "CLS": "the row that gathers the answer",
}


def parts_named(board: Board, parts: Sequence[str]) -> str:
    """Several of them: "the rook on a1, the pawn on b2 and the king on g1"."""
    names = [part_named(board, part) for part in parts]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def move_named(board: Board, move: str, otherwise: Board | None = None) -> str:
    """A move's name on this board, on the other one if it is legal only there, or its squares."""
    for each in (board, otherwise):
        if each is not None and each.is_legal(move):
            return each.san(move)
    return move


def line_named(board: Board, line: Sequence[str]) -> list[str]:
    """The names of moves that follow each other, up to the first that does not."""
    walk, names = board.copy(), []
    for move in line:
        if not walk.is_legal(move):
            break
        names.append(walk.san(move))
        walk.push(move)
    return names


def percent(share: float) -> str:
    """A share as people read it.

    >>> percent(0.8123), percent(0.004), percent(0.00001)
    ('81 %', '0.4 %', 'under 0.1 %')
    """
    if math.isnan(share):
        return "unknown"
    if 0 < share < 0.001:
        return "under 0.1 %"
    return f"{100 * share:.0f} %" if share >= 0.1 or share == 0 else f"{100 * share:.1f} %"


def dropped_named(count: int) -> str:
    """How many claims are not printed."""
    if count == 0:
        return "Every claim that was put to the test held."
    return "1 further claim failed its test." if count == 1 else f"{count} further claims failed their tests."
