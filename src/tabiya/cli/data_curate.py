"""`tabiya data curate`: the hard positions out of many."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from tabiya.cli.common import add_limit_arguments, limit_from, print_json, progress
from tabiya.errors import UserError
from tabiya.player import Limit

DEFAULT = 0.1
"""The loss of win probability that makes a position hard, unless said otherwise."""

TOLD = 0.1
"""The divergence between two looks of a network that makes a position hard, unless said otherwise."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "source",
        help="move labels (.moves, .tsv), or an extracted folder with value labels; "
        "with --network a list of positions (.fen, .epd)",
    )
    parser.add_argument("--out", required=True, metavar="FILE", help="hard positions: .fen, or .moves")
    parser.add_argument("--player", metavar="NAME", help="hard is where its move loses --loss or more")
    parser.add_argument("--labels", metavar="FILE", help="move labels for the positions of SOURCE")
    parser.add_argument("--gap", type=float, metavar="P", help="hard is where the second move loses P")
    parser.add_argument("--loss", type=float, metavar="P", help=f"win probability lost by a move ({DEFAULT})")
    parser.add_argument(
        "--network",
        metavar="FILE",
        help="a ResNet's checkpoint or run: hard is where its second look differs most from its first",
    )
    parser.add_argument(
        "--told", type=float, metavar="D", help=f"by how much, at least, as a divergence ({TOLD})"
    )
    parser.add_argument(
        "--puzzles", metavar="FILE", help="with --network: leave out what is on a puzzle's line or near it"
    )
    parser.add_argument("--device", choices=("cuda", "cpu"), help="where the network looks (cuda)")
    parser.add_argument(
        "--max", type=int, metavar="N", help="stop when N are found; with --network, the N hardest"
    )
    add_limit_arguments(parser)
    parser.add_argument("--json", action="store_true", help="print the counts as JSON")


def run(args: argparse.Namespace) -> int:
    _check(args)
    source, out = Path(args.source), Path(args.out)
    if not source.exists():
        raise UserError(f"no such file or folder: {source}")
    if args.network is not None:
        report = _told(args, source, out)
    elif source.is_dir() and not args.labels:
        report = _swings(args, source, out)
    else:
        report = _moves(args, source, out)
    if args.json:
        print_json(report)
    else:
        print(f"{report['hard']:,} hard positions of {report['looked_at']:,} looked at, in {out}")
    return 0


def _check(args: argparse.Namespace) -> None:
    for name in ("gap", "loss"):
        share = getattr(args, name)
        if share is not None and not 0 < share <= 1:
            raise UserError(f"--{name} is a share of win probability above 0 and at most 1, got {share}")
    if args.network is None and (args.told is not None or args.puzzles or args.device):
        raise UserError("--told, --puzzles and --device are for a network: name one with --network")
    if args.network is not None and any((args.player, args.labels, args.gap, args.loss)):
        raise UserError("--network needs no labels: --player, --labels, --gap and --loss do not go with it")
    if args.told is not None and args.told < 0:
        raise UserError(f"--told must not be negative, got {args.told}")
    if args.max is not None and args.max < 1:
        raise UserError(f"--max must be at least 1, got {args.max}")


def _moves(args: argparse.Namespace, source: Path, out: Path) -> dict[str, Any]:
    from tabiya.data.curate import check_out, hard_moves, labels_of, select, write_hard
    from tabiya.roster import open_player

    check_out(out, labelled=True)
    if args.loss is not None and args.player is None:
        raise UserError("--loss is a player's: name one with --player, or use --gap")
    labels = labels_of(source, Path(args.labels) if args.labels else None)
    gap = DEFAULT if args.gap is None and args.player is None else args.gap
    loss = DEFAULT if args.loss is None else args.loss
    limit = limit_from(args, Limit(movetime=0.1))
    player = open_player(args.player) if args.player else None
    try:
        with progress("curating", len(labels[0]), unit="positions") as meter:
            indices, counts = hard_moves(
                labels,
                gap=gap,
                loss=loss,
                player=player,
                limit=limit,
                maximum=args.max,
                advance=meter.advance,
            )
    finally:
        if player is not None:
            player.close()
    report: dict[str, Any] = {"source": str(source), "gap": gap}
    if player is not None:
        report |= {"player": args.player, "loss": loss}
    report |= {"positions": len(labels[0]), **counts, "hard": len(indices)}
    chosen = select(labels, indices)
    write_hard(out, chosen[0], chosen, report)
    return report


def _swings(args: argparse.Namespace, source: Path, out: Path) -> dict[str, Any]:
    from tabiya.data.curate import check_out, swings, write_hard
    from tabiya.data.shards import ShardFolder

    if args.player is not None or args.gap is not None:
        raise UserError(f"--player and --gap need move labels for {source}: give them with --labels")
    check_out(out, labelled=False)
    folder = ShardFolder.open(source)
    loss = DEFAULT if args.loss is None else args.loss
    total = folder.count("train") + folder.count("validation")
    with progress("curating", total, unit="positions") as meter:
        packed, counts = swings(folder, loss, args.max, meter.advance)
    report = {"source": str(source), "loss": loss, "positions": total, **counts, "hard": len(packed)}
    write_hard(out, packed, None, report)
    return report


def _told(args: argparse.Namespace, source: Path, out: Path) -> dict[str, Any]:
    import os

    import numpy as np

    from tabiya.cli.lab_stages import need_device, need_torch
    from tabiya.data.curate import check_out, write_hard
    from tabiya.data.extract_worker import read_exclusion
    from tabiya.data.fens import read_positions, stem_and_kind
    from tabiya.data.label_source import LISTS

    if source.is_dir() or stem_and_kind(source)[1] not in LISTS:
        raise UserError(f"with --network, positions come from a list (.fen, .epd), not from {source}")
    check_out(out, labelled=False)
    need_torch("a network's second look")
    device = args.device or "cuda"
    need_device(device, "look")
    from tabiya.minds.resnet.curating import hardest, told
    from tabiya.minds.resnet.judge import Judge

    packed = read_positions(source)
    looked_at = len(packed)
    if args.puzzles:
        packed = packed[~np.array(read_exclusion(Path(args.puzzles))[0].near(packed), bool)]
    tells = told(Judge.load(args.network, device), packed, os.cpu_count() or 1)
    least = TOLD if args.told is None else args.told
    rows = hardest(packed, tells, least, args.max)
    report = {"source": str(source), "network": args.network, "told": least}
    report |= {"looked_at": looked_at, "hard": len(rows)}
    write_hard(out, packed[rows], None, report)
    return report
