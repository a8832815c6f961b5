"""When a game is ended before its end: by the players' own scores, by its length, by tablebases.

Scores decide only where both players agree for several moves running; a
player that gives no scores is never adjudicated by them.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tabiya._core import Board
from tabiya.arena.record import Result
from tabiya.errors import UserError

if TYPE_CHECKING:
    import chess.syzygy


@dataclass(frozen=True, kw_only=True)
class Adjudication:
    """What ends a game early; by default nothing does."""

    resign_score: float | None = None
    """Centipawns that one player must give itself, and the other deny itself, to win."""
    resign_moves: int = 3
    """For so many moves of each in a row."""

    draw_score: float | None = None
    """Centipawns within which both players must see the game for it to be drawn."""
    draw_moves: int = 8
    """For so many moves of each in a row."""
    draw_from: int = 40
    """No earlier than at this move number."""

    max_moves: int | None = None
    """A game in which each has played so many moves, the opening not counted, is a draw."""

    def __post_init__(self) -> None:
        for name, low in (("resign_score", 1), ("draw_score", 0), ("max_moves", 1)):
            value = getattr(self, name)
            if value is not None and value < low:
                raise UserError(f"{name.replace('_', ' ')} must be at least {low}, got {value:g}")
        for name in ("resign_moves", "draw_moves", "draw_from"):
            if getattr(self, name) < 1:
                raise UserError(f"{name.replace('_', ' ')} must be at least 1, got {getattr(self, name)}")


class Tablebases:
    """Syzygy tables in a folder; what they say of a position, for any thread."""

    def __init__(self, folder: str | Path) -> None:
        import chess.syzygy

        folder = Path(folder)
        if not folder.is_dir():
            raise UserError(f"there is no folder of Syzygy tables at {folder}")
        tables = sorted(folder.glob("*.rtbw"))
        if not tables:
            raise UserError(f"there are no Syzygy tables (*.rtbw) in {folder}")
        self.men = max(len(table.stem) - 1 for table in tables)
        self._tables: chess.syzygy.Tablebase = chess.syzygy.open_tablebase(str(folder))
        self._lock = threading.Lock()
        self._folder = folder

    def __reduce__(self) -> tuple[type[Tablebases], tuple[Path]]:
        """On another machine they are opened there, from the same folder."""
        return Tablebases, (self._folder,)

    def result(self, board: Board) -> Result | None:
        """The result with best play under the 50-move rule; None where the tables cannot tell."""
        import chess

        fen = board.fen()
        if sum(letter.isalpha() for letter in fen.split()[0]) > self.men:
            return None
        position = chess.Board(fen)
        try:
            with self._lock:
                value = self._tables.probe_wdl(position)
                # A win by the table is one under the rule only if it comes in time from here.
                distance = abs(self._tables.probe_dtz(position)) if abs(value) == 2 else 0
        except KeyError:
            return None
        if abs(value) < 2:
            return "1/2-1/2"
        if distance + board.halfmove_clock >= 100:
            return None
        return "1-0" if (value > 0) == board.white_to_move else "0-1"

    def close(self) -> None:
        self._tables.close()


class Adjudicator:
    """Follows one game, move by move."""

    def __init__(self, rules: Adjudication, tablebases: Tablebases | None = None) -> None:
        self._rules = rules
        self._tablebases = tablebases
        self._plies = 0
        # Moves in a row, by "the mover is White": ahead, behind, level.
        self._ahead = {True: 0, False: 0}
        self._behind = {True: 0, False: 0}
        self._level = {True: 0, False: 0}

    def after(self, board: Board, score: float | None) -> tuple[Result, str] | None:
        """The verdict after a move, given the mover's score for it; None: play on."""
        rules, mover = self._rules, not board.white_to_move
        self._plies += 1
        won = rules.resign_score is not None and score is not None and score >= rules.resign_score
        lost = rules.resign_score is not None and score is not None and score <= -rules.resign_score
        level = rules.draw_score is not None and score is not None and abs(score) <= rules.draw_score
        self._ahead[mover] = self._ahead[mover] + 1 if won else 0
        self._behind[mover] = self._behind[mover] + 1 if lost else 0
        # The move number has already gone up when Black has moved.
        number = board.fullmove_number - board.white_to_move
        self._level[mover] = self._level[mover] + 1 if level and number >= rules.draw_from else 0

        for side in (True, False):
            if min(self._ahead[side], self._behind[not side]) >= rules.resign_moves:
                return ("1-0" if side else "0-1"), "both players' scores"
        if min(self._level.values()) >= rules.draw_moves:
            return "1/2-1/2", "both players' scores"
        if self._tablebases is not None and (result := self._tablebases.result(board)) is not None:
            return result, "tablebase"
        if rules.max_moves is not None and self._plies >= 2 * rules.max_moves:
            return "1/2-1/2", f"longer than {rules.max_moves} moves"
        return None
