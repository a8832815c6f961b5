"""The rules and the encodings a second time, slowly: python-chess and numpy, nothing of ours.

Written from the description of the formats and not from the Rust, so that the
tests can hold one against the other, and the bench has something to be faster
than. Whatever is asked of a board with moves on its stack counts repetitions
from that stack; a board made from a packed position is given its count.

    >>> board = chess.Board()
    >>> move_index(chess.Move.from_uci("e2e4"), "fromto")
    796
    >>> int(legal_mask(board, "planes").sum())
    20
"""

from __future__ import annotations

import struct
from functools import cache
from typing import Literal, TypeAlias

import chess
import numpy as np
from numpy.typing import NDArray

View: TypeAlias = Literal["white", "black", "mover"]
Space: TypeAlias = Literal["planes", "uci", "fromto"]

SIZES: dict[Space, int] = {"planes": 64 * 73, "uci": 1968, "fromto": 4096 + 44 * 3}
RIGHTS = (chess.BB_H1, chess.BB_A1, chess.BB_H8, chess.BB_A8)  # K Q k q
MIRROR = 56  # square ^ 56 is the same square seen from the other side

# (file step, rank step), in the order of the planes
DIRECTIONS = ((0, 1), (1, 1), (1, 0), (1, -1), (0, -1), (-1, -1), (-1, 0), (-1, 1))
KNIGHT_STEPS = ((1, 2), (2, 1), (2, -1), (1, -2), (-1, -2), (-2, -1), (-2, 1), (-1, 2))
UNDERPROMOTIONS = (chess.KNIGHT, chess.BISHOP, chess.ROOK)


def repetitions(board: chess.Board) -> int:
    """How often the position stood on the board earlier in its game, at most 2."""
    replay = board.copy(stack=board.halfmove_clock)  # nothing from before a capture or a pawn move comes back
    now = identity(replay)
    earlier = 0
    while replay.move_stack and earlier < 2:
        replay.pop()
        earlier += identity(replay) == now
    return earlier


def identity(board: chess.Board) -> tuple[object, ...]:
    """What makes two positions the same one for the repetition rule."""
    return (
        (board.pawns, board.knights, board.bishops, board.rooks, board.queens, board.kings),
        board.occupied_co[chess.WHITE],
        board.turn,
        board.clean_castling_rights(),
        board.ep_square if board.has_legal_en_passant() else None,
    )


def _seen_by_black(board: chess.Board, view: View) -> bool:
    return view == "black" or (view == "mover" and board.turn == chess.BLACK)


def _rights(board: chess.Board, black_view: bool) -> list[bool]:
    """The four castling rights, the viewer's own first."""
    held = board.clean_castling_rights()
    rights = [bool(held & corner) for corner in RIGHTS]
    return rights[2:] + rights[:2] if black_view else rights


# --- positions to arrays ---------------------------------------------------------------------


def planes(board: chess.Board, view: View = "mover") -> NDArray[np.uint8]:
    """Eighteen 8×8 planes, uint8, [plane][rank][file]."""
    black_view = _seen_by_black(board, view)
    flip = MIRROR if black_view else 0
    cells = np.zeros((18, 64), np.uint8)
    for square, piece in board.piece_map().items():
        own = piece.color != black_view
        cells[piece.piece_type - 1 + (0 if own else 6), square ^ flip] = 1
    cells[12] = board.turn == chess.WHITE
    for plane, right in enumerate(_rights(board, black_view), 13):
        cells[plane] = right
    cells[17] = min(board.halfmove_clock, 100)
    return cells.reshape(18, 8, 8)


def tokens(board: chess.Board, view: View = "white", earlier: int | None = None) -> NDArray[np.int16]:
    """The row of 84 tokens, int16; `earlier` stands in for a stack that the board lacks."""
    black_view = _seen_by_black(board, view)
    flip = MIRROR if black_view else 0
    row = np.zeros(84, np.int16)
    for square, piece in board.piece_map().items():
        own = piece.color != black_view
        row[square ^ flip] = piece.piece_type + (0 if own else 6)
    row[64] = board.turn == chess.BLACK
    row[65:69] = _rights(board, black_view)
    if board.has_legal_en_passant():
        assert board.ep_square is not None
        row[69] = 1
        row[70 + chess.square_file(board.ep_square)] = 1
    row[78] = repetitions(board) if earlier is None else earlier
    row[79] = board.halfmove_clock
    row[80] = board.fullmove_number
    return row


def pack(board: chess.Board, earlier: int | None = None) -> bytes:
    """The position in 32 bytes; `earlier` stands in for a stack that the board lacks."""
    pieces = 0
    for place, square in enumerate(chess.scan_forward(board.occupied)):
        piece_type = board.piece_type_at(square)
        assert piece_type is not None
        black = bool(board.occupied_co[chess.BLACK] >> square & 1)
        pieces |= (piece_type - 1 + 8 * black) << 4 * place
    bits = [board.turn == chess.BLACK, *_rights(board, black_view=False)]
    en_passant = board.ep_square if board.ep_square is not None and board.has_legal_en_passant() else 255
    return struct.pack(
        "<Q16sBBBBHxx",
        board.occupied,
        pieces.to_bytes(16, "little"),
        sum(bit << place for place, bit in enumerate(bits)),
        en_passant,
        min(board.halfmove_clock, 255),
        repetitions(board) if earlier is None else earlier,
        board.fullmove_number,
    )


def unpack(packed: NDArray[np.uint8] | bytes) -> tuple[chess.Board, int]:
    """The board of a packed position, without its past, and how often it stood there before."""
    raw = bytes(packed)
    board = chess.Board(None)
    for place, square in enumerate(chess.scan_forward(int.from_bytes(raw[:8], "little"))):
        nibble = raw[8 + place // 2] >> 4 * (place % 2) & 15
        board.set_piece_at(square, chess.Piece(nibble % 8 + 1, nibble < 8))
    board.turn = not raw[24] & 1
    board.castling_rights = sum(corner for bit, corner in enumerate(RIGHTS, 1) if raw[24] >> bit & 1)
    board.ep_square = raw[25] if raw[25] < 64 else None
    board.halfmove_clock = raw[26]
    board.fullmove_number = raw[28] + 256 * raw[29]
    return board, raw[27]


# --- moves to numbers ------------------------------------------------------------------------


@cache
def uci_strings() -> tuple[str, ...]:
    """Every move that some piece on some board can make, in the order of the alphabet."""
    plain = []
    for start in chess.SQUARES:
        queen = chess.SquareSet(chess.BB_RANK_ATTACKS[start][0] | chess.BB_FILE_ATTACKS[start][0])
        reach = queen | chess.BB_DIAG_ATTACKS[start][0] | chess.BB_KNIGHT_ATTACKS[start]
        plain += [chess.Move(start, end).uci() for end in reach]
    promotions = [
        chess.Move(start, end).uci() + piece for start, end in promotion_pairs() for piece in "nbrq"
    ]
    return tuple(sorted(plain + promotions))


@cache
def promotion_pairs() -> tuple[tuple[int, int], ...]:
    """The 44 (from, to) squares of a promotion, ascending."""
    pairs = []
    for start_rank, end_rank in ((1, 0), (6, 7)):
        for file in range(8):
            ends = [end for end in (file - 1, file, file + 1) if 0 <= end < 8]
            pairs += [(chess.square(file, start_rank), chess.square(end, end_rank)) for end in ends]
    return tuple(sorted(pairs))


@cache
def _uci_places() -> dict[str, int]:
    return {text: place for place, text in enumerate(uci_strings())}


@cache
def _promotion_places() -> dict[tuple[int, int], int]:
    return {pair: place for place, pair in enumerate(promotion_pairs())}


@cache
def move_index(move: chess.Move, space: Space, black_view: bool = False) -> int:
    """The number of a move in an index space; with `black_view` the board is turned round first."""
    if black_view:
        move = chess.Move(move.from_square ^ MIRROR, move.to_square ^ MIRROR, move.promotion)
    if space == "uci":
        return _uci_places()[move.uci()]
    if space == "fromto":
        if move.promotion in UNDERPROMOTIONS:
            pair = _promotion_places()[move.from_square, move.to_square]
            return 4096 + pair * 3 + UNDERPROMOTIONS.index(move.promotion)
        return move.from_square * 64 + move.to_square
    return move.from_square * 73 + _plane_of(move)


def _plane_of(move: chess.Move) -> int:
    files = chess.square_file(move.to_square) - chess.square_file(move.from_square)
    ranks = chess.square_rank(move.to_square) - chess.square_rank(move.from_square)
    if move.promotion in UNDERPROMOTIONS:
        return 64 + UNDERPROMOTIONS.index(move.promotion) * 3 + files + 1
    if (files, ranks) in KNIGHT_STEPS:
        return 56 + KNIGHT_STEPS.index((files, ranks))
    distance = max(abs(files), abs(ranks))
    return DIRECTIONS.index((files // distance, ranks // distance)) * 7 + distance - 1


def legal_mask(board: chess.Board, space: Space, view: View = "mover") -> NDArray[np.uint8]:
    """One where the index stands for a legal move, zero elsewhere."""
    black_view = _seen_by_black(board, view)
    mask = np.zeros(SIZES[space], np.uint8)
    mask[[move_index(move, space, black_view) for move in board.legal_moves]] = 1
    return mask


def move_code(move: chess.Move) -> int:
    """The two bytes of a move in a shard: from | to << 6 | promotion << 12."""
    promotion = move.promotion - 1 if move.promotion else 0
    return move.from_square | move.to_square << 6 | promotion << 12


def perft(board: chess.Board, depth: int) -> int:
    """The leaves of the tree of legal moves, `depth` plies deep."""
    if depth == 0:
        return 1
    if depth == 1:
        return board.legal_moves.count()
    leaves = 0
    for move in board.legal_moves:
        board.push(move)
        leaves += perft(board, depth - 1)
        board.pop()
    return leaves
