"""The command line: one program, one table of commands, each loaded only when it is called."""

from __future__ import annotations

import argparse
import difflib
import importlib
import os
import sys
from collections.abc import Sequence

from tabiya.errors import UserError

# name: (module under tabiya.cli, what it does)
COMMANDS: dict[str, tuple[str, str]] = {
    "minds": ("minds", "the players at hand: kind, size, measured rating"),
    "play": ("play", "a game in the terminal: tabiya play [WHITE] [BLACK]"),
    "move": ("move", "one decision: tabiya move MIND FEN"),
    "explain": ("explain", "why: tabiya explain MIND FEN"),
    "serve": ("serve", "the web page: play, compare, watch, look inside"),
    "uci": ("engine", "a mind as a UCI engine under any chess program"),
    "xboard": ("engine", "a mind as an xboard engine"),
    "install-engine": ("install_engine", "minds in the engine list of xboard, PyChess, Cute Chess, …"),
    "data": (
        "data",
        "games to positions to labels: extract, label, join, curate, stats, download, …",
    ),
    "train": ("train", "train a network from a config, resumable"),
    "pipeline": ("pipeline", "the training phases a, b, c of the ResNet, resumable"),
    "evolve": ("evolve", "evolve a gene pool, resumable"),
    "match": ("match", "two players, N games: Elo with its error, PGN, SPRT"),
    "tournament": ("tournament", "several players, a rating list"),
    "eval": ("evaluate", "strength without games: puzzles, agree, endgames, openings, suite"),
    "elo": ("elo", "Elo and SPRT from games already played"),
    "promote": ("promote", "a new network replaces the shipped one if it wins"),
    "lab": ("lab", "the experiments, each one run with a report"),
    "export": ("export", "a network for deployment: onnx, int8, check"),
    "bench": ("bench", "speed, as ratios in one run"),
}

OVERVIEW = """\
Tabiya, a laboratory of chess minds.

  tabiya serve                         the web page: play, compare, watch
  tabiya play human turing             play a game in the terminal
  tabiya move turing FEN               ask one player for one move
  tabiya uci turing                    put a player into your chess program
  tabiya match turing random           two players, an honest Elo
  tabiya eval puzzles turing --puzzles FILE   strength on tactical puzzles
  tabiya data extract GAMES.pgn --out DIR     games to training positions
  tabiya --help                        everything else
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; the exit code is 0, 2 for bad input, 130 when interrupted."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        return _dispatch(arguments)
    except UserError as error:
        print(f"tabiya: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        # The reader of our output went away (`| head`); that is its right.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        where = f": {error.filename}" if error.filename else ""
        print(f"tabiya: {error.strerror or error}{where}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("tabiya: interrupted", file=sys.stderr)
        return 130


def _dispatch(arguments: list[str]) -> int:
    if not arguments:
        print(OVERVIEW, end="")
        return 0
    if arguments[0] in ("-h", "--help", "help"):
        print(_help_text())
        return 0
    if arguments[0] in ("-V", "--version"):
        from tabiya import __version__

        print(f"tabiya {__version__}")
        return 0
    name = arguments[0]
    if name not in COMMANDS:
        close = difflib.get_close_matches(name, COMMANDS, n=1)
        hint = f", did you mean {close[0]!r}?" if close else "; `tabiya --help` lists the commands"
        raise UserError(f"unknown command {name!r}{hint}")
    module_name, summary = COMMANDS[name]
    module = importlib.import_module(f"tabiya.cli.{module_name}")
    parser = Parser(prog=f"tabiya {name}", description=summary[0].upper() + summary[1:] + ".")
    module.add_arguments(parser)
    return int(module.run(parser.parse_args(arguments[1:])))


def _help_text() -> str:
    width = max(map(len, COMMANDS))
    lines = ["usage: tabiya COMMAND …", "", "Tabiya, a laboratory of chess minds.", ""]
    lines += [f"  {name:<{width}}  {summary}" for name, (_, summary) in COMMANDS.items()]
    lines += ["", "`tabiya COMMAND --help` has the options; --json prints figures for programs."]
    return "\n".join(lines)


class Parser(argparse.ArgumentParser):
    """argparse, but a wrong word on the command line is one sentence and no usage block."""

    def error(self, message: str) -> None:  # type: ignore[override]
        raise UserError(f"{message} (see `{self.prog} --help`)")
