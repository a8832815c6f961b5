"""One game of the terminal as PGN: written without losing what the file held, and read to play on."""

from __future__ import annotations

import datetime
import os
import tempfile
from pathlib import Path

import chess.pgn

from tabiya._core import Board
from tabiya.errors import UserError
from tabiya.protocols.python_chess import to_python_chess


class GameRecord:
    """A game that may be saved several times; each file gets it once, after whatever stood there."""

    def __init__(self, white: str, black: str) -> None:
        self.white = white
        self.black = black
        self.result = "*"
        self.reason = ""
        self._before: dict[Path, bytes] = {}

    def pgn(self, board: Board) -> str:
        game = chess.pgn.Game.from_board(to_python_chess(board))
        game.headers["Event"] = "A game at the terminal"
        game.headers["Site"] = "Tabiya"
        game.headers["Date"] = datetime.date.today().strftime("%Y.%m.%d")
        game.headers["White"] = self.white
        game.headers["Black"] = self.black
        game.headers["Result"] = self.result
        if self.reason:
            game.end().comment = self.reason
        return f"{game}\n"

    def save(self, board: Board, path: Path) -> None:
        """Put the game at the end of `path`; an OSError leaves the file as it was."""
        path = path.expanduser().absolute()
        if path not in self._before:
            self._before[path] = path.read_bytes() if path.exists() else b""
        before = self._before[path]
        if before and not before.endswith(b"\n\n"):
            before = before.rstrip(b"\n") + b"\n\n"
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(before + self.pgn(board).encode("utf-8"))
            # mkstemp makes private files; a saved game is as readable as any other.
            os.chmod(temporary, path.stat().st_mode & 0o777 if path.exists() else 0o644)
            os.replace(temporary, path)
        except BaseException:
            os.unlink(temporary)
            raise


def last_game(path: Path) -> Board:
    """The end of the last game in a PGN file, with its moves."""
    found: chess.pgn.Game | None = None
    with open(path, encoding="utf-8", errors="replace") as file:
        while (game := chess.pgn.read_game(file)) is not None:
            found = game
    if found is None or not (found.errors or found.mainline_moves() or "FEN" in found.headers):
        raise UserError(f"there is no game in {path}")
    if found.errors:
        raise UserError(f"the last game in {path} is broken: {' '.join(str(found.errors[0]).split())}")
    try:
        board = Board(found.board().fen())
        for move in found.mainline_moves():
            board.push(move.uci())
    except ValueError as error:
        raise UserError(f"the last game in {path} is not normal chess: {error}") from error
    return board
