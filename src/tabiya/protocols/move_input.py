"""What a person types, as a move; and when it is none, a sentence that helps.

>>> understand(Board(), "nf3")
'g1f3'
>>> understand(Board(), "e5")
Traceback (most recent call last):
ValueError: no pawn of yours can reach e5
"""

from __future__ import annotations

import difflib
import re

import chess

from tabiya._core import Board
from tabiya.protocols.python_chess import to_python_chess

_UCI = re.compile(r"([a-h][1-8])[-x ]?([a-h][1-8])=?([qrbnk])?", re.IGNORECASE)
_SAN = re.compile(r"([KQRBN])?([a-h])?([1-8])?x?([a-h][1-8])(?:=?([QRBNK]))?")
_CASTLING = {"o-o": "O-O", "oo": "O-O", "o-o-o": "O-O-O", "ooo": "O-O-O"}


def understand(board: Board, text: str) -> str:
    """The legal move, as UCI, that `text` means: SAN or UCI, with the slips of the keyboard forgiven.

    A ValueError's sentence says why it is none.
    """
    tidy = _tidy(text)
    outside = to_python_chess(board)
    castling = _CASTLING.get(tidy.lower().replace("0", "o"))
    if castling:
        return _castle(outside, castling)
    squares = _UCI.fullmatch(tidy)
    if squares:
        return _from_to(outside, squares[1].lower(), squares[2].lower(), (squares[3] or "").lower())
    for reading in _readings(tidy):
        moves = _matching(outside, reading)
        if len(moves) == 1:
            return moves[0].uci()
        if moves:
            return _choose(outside, tidy, moves)
    for reading in _readings(tidy):
        raise ValueError(_why_not(outside, reading))
    raise ValueError(_not_a_move(outside, " ".join(text.split())))


def _tidy(text: str) -> str:
    text = text.strip().rstrip("!?").removesuffix("e.p.").strip()
    return text.rstrip("+#")


def _readings(text: str) -> list[re.Match[str]]:
    """The ways to read `text` as SAN; `bc4` may be a pawn or a bishop, the pawn comes first."""
    found = [_SAN.fullmatch(text)]
    if text[:1].islower():
        found.append(_SAN.fullmatch(text[:1].upper() + text[1:]))
    if text[-1:].islower():
        found.append(_SAN.fullmatch(text[:-1] + text[-1].upper()))
    if text[:1].isupper():
        found.append(_SAN.fullmatch(text[:1].lower() + text[1:]))
    return [each for each in found if each is not None]


def _kind(reading: re.Match[str]) -> chess.PieceType:
    letter = reading[1]
    return chess.PAWN if letter is None else chess.PIECE_SYMBOLS.index(letter.lower())


def _matching(board: chess.Board, reading: re.Match[str], legal: bool = True) -> list[chess.Move]:
    kind, target = _kind(reading), chess.parse_square(reading[4])
    file, rank, promotion = reading[2], reading[3], reading[5]
    moves = board.legal_moves if legal else board.pseudo_legal_moves
    return [
        move
        for move in moves
        if move.to_square == target
        and board.piece_type_at(move.from_square) == kind
        and not (kind == chess.KING and board.is_castling(move))
        and (file is None or chess.square_name(move.from_square)[0] == file)
        and (rank is None or chess.square_name(move.from_square)[1] == rank)
        and (promotion is None or chess.piece_symbol(move.promotion or 0) == promotion.lower())
        # A pawn that changes its file must say where it comes from, as SAN has it.
        and (kind != chess.PAWN or file is not None or not board.is_capture(move))
    ]


def _choose(board: chess.Board, text: str, moves: list[chess.Move]) -> str:
    choices = " or ".join(sorted(board.san(move) for move in moves))
    if all(move.promotion for move in moves) and len({move.from_square for move in moves}) == 1:
        raise ValueError(f"{text} promotes: say to what, {choices}")
    raise ValueError(f"{text} is ambiguous: {choices}")


def _castle(board: chess.Board, text: str) -> str:
    try:
        return board.parse_san(text).uci()
    except ValueError:
        pass
    side = "king's" if text == "O-O" else "queen's"
    rights = (
        board.has_kingside_castling_rights(board.turn)
        if text == "O-O"
        else board.has_queenside_castling_rights(board.turn)
    )
    if not rights:
        raise ValueError(f"you can no longer castle on the {side} side")
    if board.is_check():
        raise ValueError("you cannot castle out of check")
    home = 0 if board.turn == chess.WHITE else 56
    between = (5, 6) if text == "O-O" else (1, 2, 3)
    in_the_way = [chess.square_name(home + file) for file in between if board.piece_at(home + file)]
    if in_the_way:
        raise ValueError(f"you cannot castle: {' and '.join(in_the_way)} must be empty")
    raise ValueError("you cannot castle through or into check")


def _from_to(board: chess.Board, start: str, end: str, promotion: str) -> str:
    source, target = chess.parse_square(start), chess.parse_square(end)
    moves = [
        move
        for move in board.legal_moves
        if move.from_square == source
        and move.to_square == target
        and chess.piece_symbol(move.promotion or 0) == (promotion or chess.piece_symbol(0))
    ]
    if moves:
        return moves[0].uci()
    mover = board.piece_at(source)
    if mover is None:
        raise ValueError(f"there is no piece on {start}")
    if mover.color != board.turn:
        raise ValueError(f"the {_name(mover.piece_type)} on {start} is not yours")
    others = [move for move in board.legal_moves if move.from_square == source and move.to_square == target]
    if others and others[0].promotion:
        raise ValueError(f"{start}{end} promotes: say to what, {' or '.join(move.uci() for move in others)}")
    if others:
        raise ValueError(f"{start}{end} does not promote")
    if mover.piece_type == chess.KING and (start, end) in _KING_STEPS:
        return _castle(board, _KING_STEPS[start, end])
    standing = board.piece_at(target)
    if standing is not None and standing.color == board.turn:
        raise ValueError(f"your own {_name(standing.piece_type)} stands on {end}")
    if any(move.from_square == source and move.to_square == target for move in board.pseudo_legal_moves):
        raise ValueError(_king_in_danger(board, f"{start}{end}"))
    raise ValueError(f"the {_name(mover.piece_type)} on {start} cannot go to {end}")


_KING_STEPS = {("e1", "g1"): "O-O", ("e1", "c1"): "O-O-O", ("e8", "g8"): "O-O", ("e8", "c8"): "O-O-O"}


def _why_not(board: chess.Board, reading: re.Match[str]) -> str:
    kind, target = _kind(reading), reading[4]
    if _matching(board, reading, legal=False):
        return _king_in_danger(board, reading[0])
    if not board.pieces(kind, board.turn):
        return f"you have no {_name(kind)}"
    loose = _SAN.fullmatch((reading[1] or "") + target)
    near = _matching(board, loose) if loose is not None else []
    if near:
        return f"there is no {reading[0]}, but {' or '.join(sorted(board.san(move) for move in near))}"
    captures = [
        move
        for move in board.legal_moves
        if kind == chess.PAWN
        and board.piece_type_at(move.from_square) == chess.PAWN
        and chess.square_name(move.to_square) == target
    ]
    if captures:
        return f"a pawn only takes on {target}: {' or '.join(sorted({board.san(move) for move in captures}))}"
    return f"no {_name(kind)} of yours can reach {target}"


def _king_in_danger(board: chess.Board, move: str) -> str:
    if board.is_check():
        return f"{move} does not answer the check"
    return f"{move} would leave your king in check"


def _not_a_move(board: chess.Board, text: str) -> str:
    names = [board.san(move) for move in board.legal_moves]
    close = difflib.get_close_matches(text, names, n=3, cutoff=0.5)
    if close:
        return f"{text!r} is not a move; did you mean {' or '.join(close)}?"
    return f"{text!r} is neither a move (e4, Nf3, e2e4) nor a command; `help` lists them"


def _name(kind: chess.PieceType) -> str:
    return chess.piece_name(kind)
