"""`tabiya data export FOLDER --out FILE.jsonl`: positions as lines of JSON."""

from __future__ import annotations

import argparse
from pathlib import Path

from tabiya.cli.common import print_json, progress
from tabiya.errors import UserError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", metavar="FOLDER", help="a data folder, as `tabiya data extract` makes them")
    parser.add_argument(
        "--out", type=Path, required=True, metavar="FILE", help="FILE.jsonl, FILE.jsonl.gz or FILE.jsonl.zst"
    )
    parser.add_argument(
        "--split", choices=("train", "validation", "all"), default="train", help="which positions (train)"
    )
    parser.add_argument("--max", type=int, metavar="N", help="stop after N positions")
    parser.add_argument("--json", action="store_true", help="print the count as JSON")


def run(args: argparse.Namespace) -> int:
    from tabiya.data.jsonl import export_positions, exported_count
    from tabiya.data.shards import ShardFolder

    if args.max is not None and args.max < 1:
        raise UserError(f"--max must be at least 1, got {args.max}")
    folder = ShardFolder.open(args.folder)
    with progress("writing", exported_count(folder, args.split, args.max), unit="positions") as meter:
        count = export_positions(folder, args.out, args.split, args.max, meter.advance)
    if args.json:
        print_json({"positions": count, "out": str(args.out)})
    else:
        print(f"{args.out}: {count:,} positions")
    return 0
