"""What Turing's paper machine thinks of a position: material as a ratio, and position-play.

After A. M. Turing, "Digital computers applied to games" (in B. V. Bowden,
*Faster than Thought*, 1953). Material decides; position-play, a value of the
position right after the machine's own move and without any look-ahead,
chooses among moves of equal material. Numbers (i) to (ix) are Turing's.

Where the paper leaves room, these readings were taken. With them the gains in
position-play that Turing noted in the one recorded game come out within 0.1
for its first eight moves (4.2 for 1. e4, 3.1 for 2. Nc3, …):

- a piece's moves are those it could make if it were to move again, without
  leaving its king in check; a check does not count as a capture of the king;
- the king's vulnerability (iv) is the square root of a queen's moves, as in (i);
- the move that castles keeps the two points for being able to castle and adds
  "yet another", three in all; otherwise no one would ever castle (v);
- a defender counts even if it is pinned; the king defends as well (ii), (vii);
- mate is threatened (viii) if a second move in a row would mate.
"""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

import chess

PIECE_VALUES = {
    chess.PAWN: 1.0,
    chess.KNIGHT: 3.0,
    chess.BISHOP: 3.5,
    chess.ROOK: 5.0,
    chess.QUEEN: 10.0,
    chess.KING: 1000.0,
}

# A bare king has material 0, which no ratio survives; the paper does not speak of it.
_NEXT_TO_NOTHING = 0.01


def material(board: chess.Board, color: chess.Color) -> float:
    """The sum of the piece values of one side, without the king."""
    own = board.occupied_co[color]
    return (
        (board.pawns & own).bit_count()
        + 3.0 * (board.knights & own).bit_count()
        + 3.5 * (board.bishops & own).bit_count()
        + 5.0 * (board.rooks & own).bit_count()
        + 10.0 * (board.queens & own).bit_count()
    )


def material_ratio(board: chess.Board, color: chess.Color) -> float:
    """W/B, the material of `color` over that of the other side; 1 is equal.

    A ratio rather than a difference, so that whoever is ahead likes exchanges.
    """
    own, other = material(board, color), material(board, not color)
    return (own or _NEXT_TO_NOTHING) / (other or _NEXT_TO_NOTHING)


def position_play(board: chess.Board, castled: bool = False) -> float:
    """The position-play value for the side that has just moved; `castled` if it did so by that move."""
    color = not board.turn
    again = board.copy(stack=False)
    again.turn = color
    again.ep_square = None
    enemy_king = board.king(not color)
    spared = chess.BB_SQUARES[enemy_king] if enemy_king is not None else 0

    moves = dict.fromkeys(chess.scan_forward(board.occupied_co[color]), 0)
    can_castle = False
    for move in again.generate_legal_moves(to_mask=chess.BB_ALL & ~spared):
        if again.is_castling(move):
            can_castle = True
        else:
            moves[move.from_square] += 2 if again.is_capture(move) else 1

    value = 0.0
    for square, count in moves.items():
        kind = board.piece_type_at(square)
        if kind == chess.PAWN:
            value += _pawn(board, square, color)
            continue
        value += sqrt(count)  # (i), (iii)
        if kind == chess.KING:
            value -= sqrt(_queen_moves(board, square, color))  # (iv)
        elif kind != chess.QUEEN:
            defenders = len(board.attackers(color, square))
            value += 1.5 if defenders > 1 else float(defenders)  # (ii)
    if castled:
        value += 3.0  # (v)
    elif again.has_castling_rights(color):
        value += 2.0 if can_castle else 1.0
    if board.is_check():
        value += 0.5  # (ix)
    else:
        checking = CheckingSquares.of(again)
        if any(gives_mate(again, move, checking) for move in again.legal_moves):
            value += 1.0  # (viii)
    return value


class CheckingSquares(NamedTuple):
    """From where the side to move would give check; made once for all moves of a position."""

    by_kind: tuple[chess.Bitboard, ...]
    """Squares that a piece would check from, by its kind."""
    shields: chess.Bitboard
    """Pieces of its own that may uncover a check by leaving."""

    @classmethod
    def of(cls, board: chess.Board) -> CheckingSquares:
        king = board.king(not board.turn)
        if king is None:
            return cls((0,) * 7, 0)
        own, occupied = board.occupied_co[board.turn], board.occupied
        slanted = chess.BB_DIAG_ATTACKS[king]
        rank, file = chess.BB_RANK_ATTACKS[king], chess.BB_FILE_ATTACKS[king]
        masks = (chess.BB_DIAG_MASKS[king], chess.BB_RANK_MASKS[king], chess.BB_FILE_MASKS[king])
        diagonal = slanted[masks[0] & occupied]
        straight = rank[masks[1] & occupied] | file[masks[2] & occupied]
        shields = 0
        if own & diagonal:
            without = occupied & ~(own & diagonal)
            if slanted[masks[0] & without] & ~diagonal & own & (board.bishops | board.queens):
                shields |= own & diagonal
        if own & straight:
            without = occupied & ~(own & straight)
            seen = rank[masks[1] & without] | file[masks[2] & without]
            if seen & ~straight & own & (board.rooks | board.queens):
                shields |= own & straight
        pawn, knight = chess.BB_PAWN_ATTACKS[not board.turn][king], chess.BB_KNIGHT_ATTACKS[king]
        return cls((0, pawn, knight, diagonal, straight, diagonal | straight, 0), shields)

    def may_check(self, board: chess.Board, move: chess.Move) -> bool:
        """False only where `move` surely gives no check, from its new square or by leaving its old."""
        if move.promotion or chess.BB_SQUARES[move.from_square] & self.shields:
            return True
        kind = board.piece_type_at(move.from_square) or 0
        if self.by_kind[kind] & chess.BB_SQUARES[move.to_square]:
            return True
        # Castling brings a rook, and en passant takes a second pawn out of the way.
        return (kind == chess.KING and abs(move.from_square - move.to_square) == 2) or (
            kind == chess.PAWN and move.to_square == board.ep_square
        )


def gives_mate(board: chess.Board, move: chess.Move, checking: CheckingSquares | None = None) -> bool:
    """Whether `move` mates; cheap for the many moves that cannot even give check."""
    if not (checking or CheckingSquares.of(board)).may_check(board, move):
        return False
    board.push(move)
    mate = board.is_checkmate()
    board.pop()
    return mate


def _pawn(board: chess.Board, square: chess.Square, color: chess.Color) -> float:
    rank = chess.square_rank(square)
    advanced = rank - 1 if color == chess.WHITE else 6 - rank
    defended = board.attackers_mask(color, square) & ~board.pawns
    return 0.2 * advanced + (0.3 if defended else 0.0)  # (vi), (vii)


def _queen_moves(board: chess.Board, square: chess.Square, color: chess.Color) -> int:
    """Moves of a queen of `color` on `square`, a capture counting twice."""
    reach = (
        chess.BB_RANK_ATTACKS[square][chess.BB_RANK_MASKS[square] & board.occupied]
        | chess.BB_FILE_ATTACKS[square][chess.BB_FILE_MASKS[square] & board.occupied]
        | chess.BB_DIAG_ATTACKS[square][chess.BB_DIAG_MASKS[square] & board.occupied]
    )
    free = reach & ~board.occupied_co[color]
    return free.bit_count() + (free & board.occupied_co[not color]).bit_count()
