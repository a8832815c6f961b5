"""`human`: a person at the terminal, as a player like any other.

It draws the board, reads a move and understands the words that concern this
move alone: moves, fen, flip, draw, resign, help. Whoever runs a game may hand
in more words, such as undo or save (see `terminal_game`).
"""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from tabiya._core import Board
from tabiya.player import Decision, Limit, Player, PlayerError, PlayerFailure, PlayerName
from tabiya.protocols.move_input import understand

if TYPE_CHECKING:
    from rich.console import Console

HELP = {
    "e4, Nf3, exd5, O-O, e2e4": "a move",
    "moves": "every legal move",
    "flip": "turn the board round",
    "fen": "the position as FEN",
    "draw": "offer a draw with your next move",
    "resign": "give up the game",
    "help": "this list",
}

Words = dict[str, tuple[Callable[[str], None], str]]
"""More words at the prompt: what to do with the rest of the line, and a help text."""


def open_player(name: PlayerName) -> Player:
    if name.where or set(name.options) - {"name"}:
        raise PlayerError("human takes no path and no option but name, as in human?name=Ada")
    return HumanPlayer(name.options.get("name", "human"))


class HumanPlayer(Player):
    """Asks on standard input, shows on standard output."""

    def __init__(
        self,
        name: str = "human",
        console: Console | None = None,
        read: Callable[[str], str] | None = None,
    ) -> None:
        self.name = name
        self._console = console
        self.read = read or _read_line
        self.flipped: bool | None = None
        """Black below; None: whoever is to move sits below."""
        self.words: Words = {}
        """What the one who runs the game adds."""
        self._offers_draw = False

    @property
    def console(self) -> Console:
        if self._console is None:
            from rich.console import Console

            self._console = Console(highlight=False)
        return self._console

    @console.setter
    def console(self, console: Console) -> None:
        self._console = console

    def play(self, board: Board, limit: Limit) -> Decision:
        """The typed move; EOFError and KeyboardInterrupt are the person leaving."""
        began = time.perf_counter()
        self._offers_draw = False
        self.show(board)
        while True:
            line = self._ask(board)
            word, _, rest = line.partition(" ")
            move = self._obey(board, word.lower(), rest.strip(), line)
            if move is not None:
                wants = "resign" if word.lower() == "resign" else "draw" if self._offers_draw else None
                return Decision(move=move, seconds=time.perf_counter() - began, wants=wants)

    def _ask(self, board: Board) -> str:
        dots = "." if board.white_to_move else "..."
        try:
            return self.read(f"{board.fullmove_number}{dots} ").strip()
        except EOFError:
            if self.words:
                raise
            # In a match nobody else knows what an end of input means.
            raise PlayerFailure(f"{self.name} left the game") from None

    def _obey(self, board: Board, word: str, rest: str, line: str) -> str | None:
        """The move if the line was one (or a resignation), else None."""
        say = self.console.print
        if not line:
            return None
        if word in self.words:
            self.words[word][0](rest)
        elif word == "resign":
            return board.legal_moves()[0]
        elif word == "draw":
            self._offers_draw = True
            say("Your next move will offer a draw.")
        elif word == "moves":
            say(" ".join(sorted(board.san(move) for move in board.legal_moves())))
        elif word == "fen":
            say(board.fen(), soft_wrap=True)
        elif word == "flip":
            self.flipped = not self._turned(board)
            self.show(board)
        elif word in ("help", "?"):
            self._help()
        else:
            try:
                return understand(board, line)
            except ValueError as error:
                say(f"{error}", style="yellow", markup=False)
        return None

    def _help(self) -> None:
        lines = {**HELP, **{word: text for word, (_do, text) in self.words.items() if text}}
        width = max(map(len, lines))
        for word, text in lines.items():
            self.console.print(f"  {word:<{width}}  {text}", markup=False)

    def show(self, board: Board) -> None:
        """Draw the board."""
        from tabiya.protocols.board_view import draw

        self.console.print()
        self.console.print(draw(board, self.console, self._turned(board)))
        self.console.print()

    def _turned(self, board: Board) -> bool:
        return not board.white_to_move if self.flipped is None else self.flipped


def _read_line(prompt: str) -> str:
    if sys.stdin.isatty():
        # Importing it is enough: input() then has a line editor and a history.
        with contextlib.suppress(ImportError):
            import readline  # noqa: F401
    return input(prompt)
