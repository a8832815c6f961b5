"""The hot paths: each piece of work that Rust does here, and the same done with python-chess.

Where Rust starts from packed positions, python-chess starts from boards that
are ready-made, and its tables of move numbers are built before the clock
starts: what is timed is the work and not the preparation.
"""

from __future__ import annotations

import operator
from collections.abc import Callable

import chess
import numpy as np
from numpy.typing import NDArray

from tabiya import _core
from tabiya.bench import reference, reference_pgn
from tabiya.bench.inputs import Inputs
from tabiya.bench.measure import HotPath
from tabiya.data.shards import RECORD

BATCH = 512
"""Positions encoded at once into arrays that are used again, as a training loop does."""

PERFT = (
    ("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1", 3),
    ("r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1", 2),
)


def _ours(inputs: Inputs) -> list[_core.Board]:
    return [_core.Board.from_packed(row.tobytes()) for row in inputs.packed]


def _theirs(inputs: Inputs) -> list[chess.Board]:
    return [reference.unpack(row)[0] for row in inputs.packed]


def legal_moves(inputs: Inputs) -> HotPath:
    ours, theirs = _ours(inputs), _theirs(inputs)
    return HotPath(
        "legal",
        "positions",
        len(ours),
        lambda: [board.legal_moves() for board in ours],
        lambda: [[move.uci() for move in board.legal_moves] for board in theirs],
        lambda here, there: here == [sorted(moves) for moves in there],
    )


def perft(inputs: Inputs) -> HotPath:
    boards = [(chess.Board(fen), depth) for fen, depth in PERFT]
    return HotPath(
        "perft",
        "leaves",
        sum(_core.perft(fen, depth) for fen, depth in PERFT),
        lambda: [_core.perft(fen, depth) for fen, depth in PERFT],
        lambda: [reference.perft(board, depth) for board, depth in boards],
        operator.eq,
    )


def planes_and_mask(inputs: Inputs) -> HotPath:
    boards = _theirs(inputs)
    batches = [inputs.packed[start : start + BATCH] for start in range(0, len(boards), BATCH)]
    planes = np.zeros((BATCH, 18, 8, 8), np.uint8)
    masks = np.zeros((BATCH, 64 * 73), np.uint8)

    def here() -> None:
        for batch in batches:
            _core.encode_planes(batch, out=planes[: len(batch)])
            _core.legal_mask(batch, "planes", out=masks[: len(batch)])

    def there() -> list[tuple[NDArray[np.uint8], NDArray[np.uint8]]]:
        return [(reference.planes(board), reference.legal_mask(board, "planes")) for board in boards]

    def same(_overwritten: None, there: list[tuple[NDArray[np.uint8], NDArray[np.uint8]]]) -> bool:
        every_plane = np.array_equal(
            _core.encode_planes(inputs.packed), np.stack([pair[0] for pair in there])
        )
        every_mask = np.array_equal(
            _core.legal_mask(inputs.packed, "planes"), np.stack([pair[1] for pair in there])
        )
        return every_plane and every_mask

    return HotPath("planes", "positions", len(boards), here, there, same)


def tokens(inputs: Inputs) -> HotPath:
    boards = list(zip(_theirs(inputs), inputs.packed[:, 27].tolist(), strict=True))
    return HotPath(
        "tokens",
        "positions",
        len(boards),
        lambda: _core.encode_tokens(inputs.packed),
        lambda: np.stack([reference.tokens(board, "white", earlier) for board, earlier in boards]),
        np.array_equal,
    )


def packing(inputs: Inputs) -> HotPath:
    fens = _core.unpack_fens(inputs.packed)
    return HotPath(
        "pack",
        "positions",
        len(fens),
        lambda: _core.pack_fens(fens).tobytes(),
        lambda: b"".join(reference.pack(chess.Board(fen)) for fen in fens),
        operator.eq,
    )


def fen(inputs: Inputs) -> HotPath:
    fens = _core.unpack_fens(inputs.packed)
    return HotPath(
        "fen",
        "positions",
        len(fens),
        lambda: [_core.Board(fen).fen() for fen in fens],
        lambda: [chess.Board(fen).fen() for fen in fens],
        operator.eq,
    )


def san(inputs: Inputs) -> HotPath:
    """Every legal move of every tenth position, written as SAN and read again."""
    ours, theirs = _ours(inputs)[::10], _theirs(inputs)[::10]
    moves = [board.legal_moves() for board in ours]

    def there() -> list[list[str]]:
        answers = []
        for board, names in zip(theirs, moves, strict=True):
            answers.append([board.parse_san(board.san(chess.Move.from_uci(name))).uci() for name in names])
        return answers

    return HotPath(
        "san",
        "moves",
        sum(map(len, moves)),
        lambda: [
            [board.parse(board.san(name)) for name in names] for board, names in zip(ours, moves, strict=True)
        ],
        there,
        operator.eq,
    )


def extraction(inputs: Inputs) -> HotPath:
    """A PGN file to records, read from the disk by both."""

    def there() -> NDArray[np.void]:
        with inputs.games.open(encoding="utf-8") as stream:
            return reference_pgn.records(stream)

    def same(here: NDArray[np.uint8], there: NDArray[np.void]) -> bool:
        return here.tobytes() == there.tobytes()

    plies = _core.pgn_records(inputs.games).size // RECORD.itemsize
    return HotPath("extract", "plies", plies, lambda: _core.pgn_records(inputs.games), there, same)


# name: (how to make it ready, what it is)
PATHS: dict[str, tuple[Callable[[Inputs], HotPath], str]] = {
    "legal": (legal_moves, "legal moves of a board, as UCI strings"),
    "perft": (perft, "leaves of the tree of legal moves"),
    "planes": (planes_and_mask, "18 planes and the legal mask of 8×8×73, uint8"),
    "tokens": (tokens, "rows of 84 tokens"),
    "pack": (packing, "FEN to packed position"),
    "fen": (fen, "FEN read and written"),
    "san": (san, "moves to SAN and back"),
    "extract": (extraction, "PGN to training records"),
}
