"""Games to records a second time, slowly: chess.pgn reads, the reference packs.

The same records as the Rust extractor writes when nothing is left out, so that
a test can hold them equal byte by byte and the bench can time the same work.
python-chess is given its fastest way: a visitor that builds no tree of moves
and skips variations.
"""

from __future__ import annotations

import struct
from functools import partial
from itertools import count
from typing import TextIO

import chess
import chess.engine
import chess.pgn
import numpy as np
from numpy.typing import NDArray

from tabiya.bench.reference import identity, move_code, pack
from tabiya.data.shards import NO_EVAL, NO_RESULT, RECORD

RESULTS = {"1-0": 1, "0-1": -1, "1/2-1/2": 0}
LARGEST_EVAL = 9_500  # beyond it the numbers are mates
FIELDS = struct.Struct("<32sHhHHIHbB")
assert FIELDS.size == RECORD.itemsize


def records(games: TextIO) -> NDArray[np.void]:
    """One record for each half-move of every game that can be replayed to its end."""
    kept: list[bytes] = []
    for number in count():
        rows = chess.pgn.read_game(games, Visitor=partial(_Recorder, number))
        if rows is None:
            break
        kept += rows
    return np.frombuffer(b"".join(kept), RECORD)


class _Recorder(chess.pgn.BaseVisitor[list[bytes]]):
    """The records of one game; none if a move in it is illegal."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.rows: list[bytes] = []
        self.white_elo = self.black_elo = 0
        self.outcome = NO_RESULT
        self.eval = NO_EVAL
        self.seen: list[tuple[object, ...]] = []
        self.broken = False

    def visit_header(self, tagname: str, tagvalue: str) -> None:
        if tagname == "WhiteElo":
            self.white_elo = int(tagvalue) if tagvalue.isdecimal() else 0
        elif tagname == "BlackElo":
            self.black_elo = int(tagvalue) if tagvalue.isdecimal() else 0
        elif tagname == "Result":
            self.outcome = RESULTS.get(tagvalue, NO_RESULT)

    def begin_variation(self) -> chess.pgn.SkipType:
        return chess.pgn.SKIP

    def visit_comment(self, comment: str) -> None:
        found = chess.pgn.EVAL_REGEX.search(comment)
        if found is None:
            return
        if found["mate"]:
            mate = int(found["mate"])
            self.eval = 10_000 - mate if mate > 0 else -10_000 - mate
        else:
            self.eval = max(-LARGEST_EVAL, min(LARGEST_EVAL, round(float(found["cp"]) * 100)))

    def visit_move(self, board: chess.Board, move: chess.Move) -> None:
        same = identity(board)
        earlier = self.seen[len(self.seen) - board.halfmove_clock :] if board.halfmove_clock else []
        packed = pack(board, min(earlier.count(same), 2))
        self.rows.append(
            FIELDS.pack(
                packed,
                move_code(move),
                self.eval,
                self.white_elo,
                self.black_elo,
                self.number,
                len(self.rows),
                self.outcome,
                0,
            )
        )
        self.seen.append(same)
        self.eval = NO_EVAL

    def handle_error(self, error: Exception) -> None:
        self.broken = True

    def result(self) -> list[bytes]:
        return [] if self.broken else self.rows
