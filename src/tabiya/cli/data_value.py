"""`tabiya data value`: a network's own value of every successor as move labels."""

from __future__ import annotations

import argparse

from tabiya.cli.common import print_json
from tabiya.cli.lab_stages import need_device, need_torch
from tabiya.errors import UserError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", help="a folder of `tabiya data extract`")
    parser.add_argument(
        "--network", required=True, metavar="FILE", help="a ResNet's checkpoint, or the folder of its run"
    )
    parser.add_argument("--out", required=True, metavar="FILE", help="the labels, a .moves file")
    parser.add_argument("--positions", type=int, default=1_000_000, metavar="N", help="how many (1000000)")
    parser.add_argument(
        "--least",
        type=float,
        default=0.0,
        metavar="P",
        help="do not look at moves to which the network's policy gives less (0: look at all)",
    )
    parser.add_argument(
        "--considered",
        action="store_true",
        help="by all the network says of a successor, the best reply by Q included (its value's bins alone)",
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="which positions (0)")
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda", help="where (cuda)")
    parser.add_argument("--json", action="store_true", help="print the counts as JSON")


def run(args: argparse.Namespace) -> int:
    need_torch("valuing")
    import os
    import time
    from pathlib import Path

    from tabiya.data.labels import write_move_labels
    from tabiya.data.shards import ShardFolder
    from tabiya.minds.resnet.judge import Judge
    from tabiya.minds.resnet.valuing import some_positions, value_moves

    out = Path(args.out)
    if out.suffix != ".moves":
        raise UserError(f"labels of moves are a .moves file, got --out {out}")
    if args.positions < 1 or not 0 <= args.least < 1:
        raise UserError("--positions must be at least 1, and --least lie between 0 and 1")
    need_device(args.device, "value")
    packed = some_positions(ShardFolder.open(args.folder), args.positions, args.seed)
    judge = Judge.load(args.network, args.device)
    began = time.monotonic()
    labels = value_moves(judge, packed, os.cpu_count() or 1, least=args.least, considered=args.considered)
    seconds = time.monotonic() - began
    write_move_labels(out, labels)
    counts = {"positions": len(packed), "moves": len(labels[2]), "seconds": round(seconds, 1)}
    if args.json:
        print_json({"out": str(out), **counts})
    else:
        print(f"{len(packed):,} positions, {len(labels[2]):,} moves in {seconds:.1f} s: {out}")
    return 0
