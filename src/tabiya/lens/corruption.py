"""Positions that differ as little as possible and yet matter: one pawn or piece moved, added or taken away.

Patching needs a twin of a position in which the best line no longer works. A
twin keeps the kings, the side to move, whether there is a check, and every
square that the line touches; the move that was best must still be legal.
Whether a twin spoils the line is judged by a short search with the handmade
evaluation, which knows nothing of any network.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tabiya._core import Board, SearchEngine, StopFlag
from tabiya.lens.interface import SQUARES

_HOMES = {"a1", "h1", "a8", "h8"}
"""Rooks here may carry a right to castle."""
COSTS = {"moved": 0.0, "pawn": 0.3, "piece": 1.0}
"""How far from plausible each kind of change is, in the units of log-odds: a step is less than a missing
piece."""


MATE = 2000
"""Centipawns beyond which one win is as good as another."""
SPOILT = 150
"""Centipawns that a move must lose for its line to be spoilt, if it stays the best."""


@dataclass(frozen=True)
class Twin:
    """A position with one change."""

    fen: str
    kind: str
    """One of `COSTS`."""
    squares: tuple[str, ...]
    """Where it differs."""


class Judge:
    """Says by a search of so many nodes whether a twin spoils the best move."""

    def __init__(self, nodes: int = 4000) -> None:
        self._nodes = nodes
        self._engine = SearchEngine(None, 1, 1)

    def best(self, board: Board) -> str:
        """The move that the search prefers."""
        return str(self._search(board)["pv"][0])

    def worth(self, board: Board, move: str) -> int:
        """Centipawns for the one who makes the move, a mate as ±`MATE`."""
        after = board.copy()
        after.push(move)
        ending = after.outcome()
        if ending is not None:
            return 0 if ending[0] == "1/2-1/2" else MATE
        line = self._search(after)
        if line["mate"] is not None:
            return -MATE if line["mate"] > 0 else MATE
        return int(max(-MATE, min(MATE, -line["score"])))

    def _search(self, board: Board) -> dict[str, Any]:
        # As if nothing had been seen before, so that the order of the questions does not matter.
        self._engine.new_game()
        line: dict[str, Any] = self._engine.search(board, StopFlag(), nodes=self._nodes)["lines"][0]
        return line

    def spoilt(self, board: Board, twin: Board, move: str) -> bool:
        """Whether the move is worth clearly less in the twin, or another is better there."""
        return self.worth(board, move) - self.worth(twin, move) >= SPOILT or self.best(twin) != move


def pieces_of(fen: str) -> dict[str, str]:
    """What stands where, from the first word of a FEN."""
    found = {}
    for rank, row in zip("87654321", fen.split()[0].split("/"), strict=True):
        file = 0
        for letter in row:
            if letter.isdigit():
                file += int(letter)
            else:
                found["abcdefgh"[file] + rank] = letter
                file += 1
    return found


def with_pieces(fen: str, pieces: dict[str, str]) -> str:
    """The FEN with other pieces and everything else as it was."""
    rows = []
    for rank in "87654321":
        row, empty = "", 0
        for file in "abcdefgh":
            letter = pieces.get(file + rank)
            if letter is None:
                empty += 1
                continue
            row += f"{empty or ''}{letter}"
            empty = 0
        rows.append(f"{row}{empty or ''}")
    return " ".join(["/".join(rows), *fen.split()[1:]])


def twins(board: Board, best: str, untouched: set[str]) -> list[Twin]:
    """All positions one change away in which `best` is still legal; `untouched` squares stay as they are."""
    fen = board.fen()
    pieces = pieces_of(fen)
    found = []
    for kind, changed, squares in _changes(pieces, untouched):
        try:
            twin = Board(with_pieces(fen, changed))
        except ValueError:
            continue
        if twin.is_check == board.is_check and twin.is_legal(best):
            found.append(Twin(twin.fen(), kind, squares))
    return found


def _changes(
    pieces: dict[str, str], untouched: set[str]
) -> Iterator[tuple[str, dict[str, str], tuple[str, ...]]]:
    free = [square for square in SQUARES if square not in pieces and square not in untouched]
    for square, letter in sorted(pieces.items()):
        if letter in "Kk" or square in untouched or (letter in "Rr" and square in _HOMES):
            continue
        others = {at: each for at, each in pieces.items() if at != square}
        for target in free:
            if _one_step(square, target, letter):
                yield "moved", others | {target: letter}, (square, target)
        yield ("pawn" if letter in "Pp" else "piece"), others, (square,)
    for target in free:
        if target[1] in "234567":
            for pawn in "Pp":
                yield "pawn", pieces | {target: pawn}, (target,)


def _one_step(start: str, end: str, letter: str) -> bool:
    files, ranks = abs(ord(start[0]) - ord(end[0])), abs(int(start[1]) - int(end[1]))
    if letter in "Pp":
        return ranks <= 1 and files <= 1 and end[1] in "234567"
    return max(files, ranks) == 1
