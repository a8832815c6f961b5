"""`tabiya play [WHITE] [BLACK]`: a game in the terminal, or a short one to watch where there is none."""

from __future__ import annotations

import argparse
import sys
from contextlib import ExitStack
from typing import TYPE_CHECKING

from tabiya.cli.common import add_limit_arguments, limit_from
from tabiya.errors import UserError

if TYPE_CHECKING:
    from tabiya._core import Board

# Without a terminal and without names: a game that is over in a few seconds and always the same.
_EXHIBITION = ("turing", "random?seed=1")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("white", nargs="?", metavar="WHITE", help="who plays White (human)")
    parser.add_argument(
        "black", nargs="?", metavar="BLACK", help="who plays Black (turing, or human if White is not)"
    )
    start = parser.add_mutually_exclusive_group()
    start.add_argument("--fen", metavar="FEN", help="start from this position")
    start.add_argument("--pgn", metavar="FILE", help="play on from the end of the last game in this file")
    parser.add_argument(
        "--save", metavar="FILE", help="put the game at the end of this PGN file when it ends"
    )
    parser.add_argument("--flip", action="store_true", help="Black below")
    add_limit_arguments(parser)


def run(args: argparse.Namespace) -> int:
    from pathlib import Path

    from rich.console import Console

    from tabiya.player import Limit
    from tabiya.protocols.terminal_game import TerminalGame
    from tabiya.roster import open_player

    board = _starting_board(args.fen, args.pgn)
    if board.outcome() is not None:
        raise UserError(f"that game is already over: {' by '.join(board.outcome() or ())}")
    save = None if args.save is None else Path(args.save)
    if save is not None and not save.expanduser().absolute().parent.is_dir():
        raise UserError(f"there is no folder {save.parent} to save {save.name} in")

    exhibition = not sys.stdin.isatty() and args.white is None
    if exhibition:
        white, black, limit = *_EXHIBITION, limit_from(args, Limit(depth=2))
    else:
        white = args.white or "human"
        # One name alone is an opponent: somebody has to play it.
        black = args.black or ("turing" if white.startswith("human") else "human")
        limit = limit_from(args, Limit(movetime=1.0))
    with ExitStack() as stack:
        players = [stack.enter_context(open_player(name)) for name in (white, black)]
        game = TerminalGame(
            players[0],
            players[1],
            board,
            limit,
            Console(highlight=False),
            save=save,
            adviser=lambda: open_player("turing"),
            boards=not exhibition,
            flipped=True if args.flip else None,
        )
        try:
            game.play()
        except OSError as error:
            raise UserError(f"cannot save {args.save}: {error.strerror or error}") from error
    return 0


def _starting_board(fen: str | None, pgn: str | None) -> Board:
    from tabiya._core import Board

    if pgn is not None:
        from pathlib import Path

        from tabiya.protocols.game_record import last_game

        return last_game(Path(pgn))
    try:
        return Board(fen)
    except ValueError as error:
        raise UserError(str(error)) from error
