"""`tabiya uci [MIND]` and `tabiya xboard [MIND]`: a player as an engine under any chess program."""

from __future__ import annotations

import argparse

from tabiya.errors import UserError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "mind", nargs="?", default="turing", metavar="MIND", help="the player (default: turing)"
    )
    # One module serves both commands; the program's name tells which was called.
    parser.set_defaults(protocol=parser.prog.split()[-1])


def run(args: argparse.Namespace) -> int:
    from tabiya.player import PlayerName
    from tabiya.roster import open_player

    if PlayerName.parse(args.mind).kind == "human":
        raise UserError("a person cannot be an engine; try `tabiya play human turing`")
    with open_player(args.mind) as player:
        if args.protocol == "uci":
            from tabiya.protocols import uci_server

            uci_server.serve(player, centipawns=_centipawns)
        else:
            from tabiya.protocols import xboard_server

            xboard_server.serve(player, centipawns=_centipawns)
    return 0


def _centipawns(points: float) -> float:
    from tabiya.data.scale import centipawns

    return centipawns(points)
