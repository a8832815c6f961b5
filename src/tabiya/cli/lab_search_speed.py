"""`tabiya lab search-speed PLAYER …`: nodes a second, time to depth, and how soon `stop` is obeyed."""

from __future__ import annotations

import argparse
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from tabiya.cli.common import print_json, progress
from tabiya.errors import UserError

OUT = "results/search-speed.json"


def add_arguments(parser: argparse.ArgumentParser, name: str) -> None:
    parser.add_argument(
        "players", nargs="*", metavar="PLAYER", help="our minds, or uci:/path/to/engine (nnue)"
    )
    parser.add_argument("--nodes", type=int, default=300_000, metavar="N", help="for each position (300000)")
    parser.add_argument("--depth", type=int, default=12, metavar="N", help="of the time to depth (12)")
    parser.add_argument("--stops", type=int, default=100, metavar="N", help="times `stop` is said (100)")
    parser.add_argument("--rounds", type=int, default=3, metavar="N", help="of the speed; the median (3)")
    parser.add_argument("--hash", type=int, default=64, metavar="MB", help="table of each engine (64)")
    parser.add_argument("--positions", type=Path, metavar="FILE", help="FEN or EPD lines (a dozen of ours)")
    parser.add_argument("--out", type=Path, default=Path(OUT), metavar="FILE", help=f"the record ({OUT})")
    parser.add_argument("--json", action="store_true", help="print the record as JSON")


def run(args: argparse.Namespace) -> int:
    from tabiya.arena.books import Book
    from tabiya.arena.provenance import provenance
    from tabiya.bench.engines import POSITIONS, Effort, Engine, measure
    from tabiya.files import write_json

    if args.stops < 0:
        raise UserError(f"--stops must not be negative, got {args.stops}")
    positions = list(POSITIONS)
    if args.positions is not None:
        book = Book.read(args.positions)
        positions = [book.replay(entry).board().fen() for entry in book.entries]
    effort = Effort(
        nodes=args.nodes,
        depth=args.depth,
        stops=args.stops,
        rounds=args.rounds,
        hash=args.hash,
        positions=positions,
    )
    players = args.players or ["nnue"]
    with ExitStack() as stack:
        engines = [stack.enter_context(Engine(player, args.hash)) for player in players]
        with progress("search speed", effort.searches * len(engines)) as meter:
            figures = measure(engines, effort, meter.advance)
    record: dict[str, Any] = {
        "question": "How fast do these engines search, and how soon do they stop?",
        "settings": {
            "nodes": effort.nodes,
            "depth": effort.depth,
            "stops": effort.stops,
            "rounds": effort.rounds,
            "hash": effort.hash,
            "threads": 1,
            "positions": len(positions),
        },
        "time": "the processor's, but of to_depth's positions and of stop that on the wall",
        "engines": figures,
        "nps_ratio": [round(figures[0]["nps"] / max(each["nps"], 1), 3) for each in figures[1:]],
        **provenance(),
    }
    args.out.parent.mkdir(parents=True, exist_ok=True)
    write_json(args.out, record)
    if args.json:
        print_json(record)
        return 0
    for each in figures:
        to_depth, stop = each["to_depth"], each["stop_ms"]
        print(f"{each['player']} ({each['engine']})")
        print(f"  {each['nps']:,} nodes a second, rounds {', '.join(f'{n:,}' for n in each['rounds'])}")
        print(f"  depth {to_depth['depth']}: {to_depth['seconds']:.2f} s, {to_depth['nodes']:,} nodes")
        if stop:
            print(f"  stop: median {stop['median']:.1f} ms, 95 % {stop['p95']:.1f}, most {stop['most']:.1f}")
    for each, ratio in zip(figures[1:], record["nps_ratio"], strict=True):
        print(f"{figures[0]['player']} makes {ratio:.2f} times the nodes of {each['player']}")
    print(f"record {args.out}")
    return 0
