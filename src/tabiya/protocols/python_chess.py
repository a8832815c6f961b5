"""Our board as python-chess's board, for whatever stands on that library: engines, PGN, Turing's rules."""

from __future__ import annotations

import chess

from tabiya._core import Board


def to_python_chess(board: Board) -> chess.Board:
    """The same position with the same history."""
    outside = chess.Board(board.start_fen)
    for move in board.moves:
        outside.push(chess.Move.from_uci(move))
    return outside
