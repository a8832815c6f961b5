"""`tabiya export duel NETWORK OTHER --games N --device cuda`: thousands of games of two networks, on a GPU.

`export check` plays on the processor that will play; this is its match alone,
where a bound of a few Elo needs more games than a processor plays in an hour.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from tabiya.cli.common import print_json
from tabiya.cli.lab_stages import need_torch
from tabiya.errors import UserError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from tabiya.cli.export_files import NETWORK, add_match_arguments

    parser.add_argument("network", metavar="NETWORK", help=NETWORK)
    parser.add_argument("other", metavar="OTHER", help="the network it plays against")
    parser.add_argument("--games", type=int, default=4000, metavar="N", help="games between the two (4000)")
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda", help="what computes (cuda)")
    add_match_arguments(parser)
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="for the openings (0)")
    parser.add_argument(
        "--out", type=Path, metavar="DIR", help="folder for duel.json and the games, which go on if stopped"
    )
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")


def run(args: argparse.Namespace) -> int:
    need_torch("a duel")
    from tabiya.arena.provenance import provenance
    from tabiya.cli.export_check import described, play_match
    from tabiya.cli.export_files import open_network
    from tabiya.cli.match import score_lines
    from tabiya.files import write_json
    from tabiya.learn.on_device import on_device

    if args.games < 1:
        raise UserError(f"--games must be at least 1, got {args.games}")
    texts = (args.network, args.other)
    players: list[Any] = [open_network(text) for text in texts]
    files = [described(text, player) for text, player in zip(texts, players, strict=True)]
    for player in players:
        on_device(player, args.device)
    figures = {
        "kind": "export-duel",
        "question": f"What is {args.network} worth against {args.other}?",
        "network": files[0],
        "against": files[1],
        "device": args.device,
        "seed": args.seed,
        "match": play_match(args, players, files),
        **provenance(),
    }
    if args.out is not None:
        write_json(args.out / "duel.json", figures)
    if args.json:
        print_json(figures)
    else:
        print(f"{args.network} against {args.other}: {figures['match']['games']} games")
        print(score_lines(figures["match"]))
    return 0
