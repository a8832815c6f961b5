"""Positions between the page and the board: a FEN or a PGN read, and what the page must know of one.

The page knows no rules. With every position it gets the legal moves, each
with its name, so a dot on the board and a typed move come from one place.
"""

from __future__ import annotations

import io
import logging
from typing import Any

import chess.pgn

from tabiya._core import Board
from tabiya.lens.removal import can_still_take_en_passant
from tabiya.web import limits, wishes
from tabiya.web.refusal import Refusal

# python-chess reports a broken game in `Game.errors` and logs it as well; the sentence on the page is enough.
logging.getLogger("chess.pgn").setLevel(logging.CRITICAL)

START_FEN = Board().fen()


def read_start(given: str) -> Board:
    """The board that a paste stands for: nothing (the start), a FEN, or a PGN with its moves."""
    given = given.strip()
    if not given or given.lower() == "startpos":
        return Board()
    if looks_like_fen(given):
        return from_fen(given)
    return from_pgn(given)


def looks_like_fen(given: str) -> bool:
    """One line whose first word has the seven slashes of a board, or at least looks like ranks."""
    first = given.split()[0]
    return "\n" not in given and "[" not in given and first.count("/") >= 2


def from_fen(given: str) -> Board:
    if len(given) > limits.LONGEST_FEN:
        raise Refusal(f"a FEN has at most {limits.LONGEST_FEN} characters, this has {len(given):,}")
    try:
        return Board(given)
    except ValueError as error:
        raise Refusal(str(error)) from None


def from_pgn(given: str) -> Board:
    """The end of the last game in a PGN, with the moves that led to it."""
    found: chess.pgn.Game | None = None
    stream = io.StringIO(given)
    try:
        while (game := chess.pgn.read_game(stream)) is not None:
            found = game
    except (ValueError, RecursionError) as error:
        raise Refusal(f"the PGN cannot be read: {error}") from None
    if found is None or not (found.errors or found.variations or "FEN" in found.headers):
        raise Refusal("that is neither a FEN nor a PGN with moves")
    if found.errors:
        raise Refusal(f"the PGN is broken: {found.errors[0]}")
    return replayed(found.board().fen(), [move.uci() for move in found.mainline_moves()])


def replayed(fen: str, moves: list[str]) -> Board:
    """The board after these moves."""
    board = from_fen(fen) if fen else Board()
    if len(moves) > limits.LONGEST_GAME:
        raise Refusal(f"a game here has at most {limits.LONGEST_GAME} half-moves, not {len(moves)}")
    try:
        for move in moves:
            board.push(move)
    except ValueError as error:
        raise Refusal(str(error)) from None
    return board


def asked_board(wish: dict[str, Any]) -> Board:
    """The position of a request: `fen` (or nothing), the `moves` from there, and `blank` squares emptied."""
    board = replayed(wishes.text(wish, "fen", limits.LONGEST_FEN), wishes.moves(wish))
    blank = wishes.squares(wish, "blank")
    return blanked(board, blank) if blank else board


def blanked(board: Board, squares: list[str]) -> Board:
    """The same position without what stands on these squares; rights that depended on it are gone."""
    outside = chess.Board(board.fen())
    for square in squares:
        piece = outside.remove_piece_at(chess.parse_square(square))
        if piece is not None and piece.piece_type == chess.KING:
            raise Refusal(f"the king on {square} cannot be taken away: there is no chess without it")
    outside.castling_rights = outside.clean_castling_rights()
    if not can_still_take_en_passant(outside):
        outside.ep_square = None
    try:
        return Board(outside.fen())
    except ValueError:
        raise Refusal(f"without {', '.join(squares)} this is no possible position") from None


def view(board: Board) -> dict[str, Any]:
    """What the page shows of a position."""
    outcome = board.outcome()
    legal = {} if outcome else {move: board.san(move) for move in board.legal_moves()}
    return {
        "fen": board.fen(),
        "white_to_move": board.white_to_move,
        "legal": legal,
        "check": king_square(board) if board.is_check else None,
        "outcome": None if outcome is None else list(outcome),
    }


def king_square(board: Board) -> str | None:
    """Where the king of the side to move stands."""
    king = "K" if board.white_to_move else "k"
    return next(
        (f"{f}{r}" for f in "abcdefgh" for r in "12345678" if board.piece_at(f"{f}{r}") == king), None
    )


def line(board: Board) -> list[dict[str, str]]:
    """Every move of a game with its name and the position after it."""
    walk = Board(board.start_fen)
    shown = []
    for move in board.moves:
        san = walk.san(move)
        walk.push(move)
        shown.append({"move": move, "san": san, "fen": walk.fen()})
    return shown
