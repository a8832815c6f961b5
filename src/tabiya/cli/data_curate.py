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


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "source",
        help="move labels (.moves, .tsv), or an extracted folder with value labels",
    )
    parser.add_argument("--out", required=True, metavar="FILE", help="hard positions: .fen, or .moves")
    parser.add_argument("--player", metavar="NAME", help="hard is where its move loses --loss or more")
    parser.add_argument("--labels", metavar="FILE", help="move labels for the positions of SOURCE")
    parser.add_argument("--gap", type=float, metavar="P", help="hard is where the second move loses P")
    parser.add_argument("--loss", type=float, metavar="P", help=f"win probability lost by a move ({DEFAULT})")
    parser.add_argument("--max", type=int, metavar="N", help="stop when N are found")
    add_limit_arguments(parser)
    parser.add_argument("--json", action="store_true", help="print the counts as JSON")


def run(args: argparse.Namespace) -> int:
    _check(args)
    source, out = Path(args.source), Path(args.out)
    if not source.exists():
        raise UserError(f"no such file or folder: {source}")
    report = _swings(args, source, out) if source.is_dir() and not args.labels else _moves(args, source, out)
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
