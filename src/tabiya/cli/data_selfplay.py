"""`tabiya data selfplay`: the positions of a network's games against itself, as a list for a teacher."""

from __future__ import annotations

import argparse

from tabiya.cli.common import print_json
from tabiya.cli.lab_stages import need_device, need_torch
from tabiya.errors import UserError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("network", help="a ResNet's checkpoint, or the folder of its run")
    parser.add_argument(
        "--openings", required=True, metavar="FILE", help="positions to begin from: .fen, .epd"
    )
    parser.add_argument("--out", required=True, metavar="FILE", help="the positions, a .fen file")
    parser.add_argument("--games", type=int, default=8192, metavar="N", help="how many, all at once (8192)")
    parser.add_argument("--plies", type=int, default=160, metavar="N", help="of a game, at most (160)")
    parser.add_argument(
        "--warm",
        type=int,
        default=12,
        metavar="N",
        help="plies that are drawn by chance, at the beginning (12)",
    )
    parser.add_argument(
        "--temperature", type=float, default=0.8, metavar="T", help="how freely they are drawn (0.8)"
    )
    parser.add_argument(
        "--level",
        type=float,
        default=0.12,
        metavar="P",
        help="keep all positions in which the network gives both sides more than this (0.12)",
    )
    parser.add_argument(
        "--others",
        type=float,
        default=0.125,
        metavar="SHARE",
        help="of the other positions keep so many (0.125)",
    )
    parser.add_argument(
        "--mistakes",
        metavar="FILE",
        help="also a .fen file of those where another move leads to more, by the network's own value",
    )
    parser.add_argument(
        "--margin", type=float, default=0.08, metavar="P", help="how much more makes a mistake (0.08)"
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of the games and the order (0)")
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda", help="where (cuda)")
    parser.add_argument("--json", action="store_true", help="print the counts as JSON")


def run(args: argparse.Namespace) -> int:
    need_torch("self-play")
    from pathlib import Path

    from tabiya.minds.resnet.judge import Judge
    from tabiya.minds.resnet.pipeline.doubt import THREADS, doubtful
    from tabiya.minds.resnet.pipeline.positions import book_openings, first_of_each, shuffled, write_list
    from tabiya.minds.resnet.selfplay import SelfPlaySettings, level_positions, self_play

    out = Path(args.out)
    for name, file in (("--out", args.out), ("--mistakes", args.mistakes)):
        if file is not None and Path(file).suffix != ".fen":
            raise UserError(f"positions go to a .fen file, got {name} {file}")
    if not 0 <= args.level < 0.5 or not 0 <= args.others <= 1:
        raise UserError("--level lies between 0 and 0.5, --others between 0 and 1")
    need_device(args.device, "play")
    settings = SelfPlaySettings(
        games=args.games,
        plies=args.plies,
        temperature=args.temperature,
        warm_plies=args.warm,
        margin=args.margin,
        seed=args.seed,
    )
    judge = Judge.load(args.network, args.device)
    openings = book_openings(args.openings, args.games, args.seed)
    played = self_play(judge, openings, settings, THREADS)
    first = first_of_each(played.packed)
    different = played.packed[first]
    level = level_positions(judge, different, args.level, args.others, args.seed)
    kept = shuffled(different[level], args.seed, None)
    write_list(out, kept)
    counts = {
        "games": args.games,
        "positions": len(played.packed),
        "different": len(different),
        "kept": len(kept),
    }
    if args.mistakes is not None:
        rows = doubtful(judge, different, played.likeliest[first], args.margin, least=0.005)
        wrong = shuffled(different[rows], args.seed, None)
        write_list(Path(args.mistakes), wrong)
        counts["mistakes"] = len(wrong)
    if args.json:
        print_json({"out": str(out), **counts})
    else:
        print(f"{len(kept):,} of {len(different):,} positions of {args.games:,} games: {out}")
        if args.mistakes is not None:
            print(f"{counts['mistakes']:,} of them mistakes: {args.mistakes}")
    return 0
