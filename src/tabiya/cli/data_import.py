"""`tabiya data import FILE.jsonl… --out FOLDER`: lines of JSON as a data folder."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tabiya.cli.common import print_json, progress
from tabiya.errors import UserError

SHOWN = 5
"""Skipped lines that are printed; the manifest names more."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "files",
        nargs="+",
        type=Path,
        metavar="FILE",
        help="JSONL files, also .gz, .bz2, .zst; `fen` is required",
    )
    parser.add_argument("--out", type=Path, required=True, metavar="FOLDER", help="the data folder to make")
    parser.add_argument("--json", action="store_true", help="print the counts as JSON")


def run(args: argparse.Namespace) -> int:
    from tabiya.data.jsonl import import_positions

    for file in args.files:
        if not file.is_file():
            raise UserError(f"no file {file}")
    total = sum(file.stat().st_size for file in args.files) / 1e6
    with progress("reading", total, unit="MB") as meter:
        found = import_positions(args.files, args.out, lambda count: meter.advance(count / 1e6))
    for entry in found.named[:SHOWN]:
        print("tabiya: skipped {file}:{line}: {why}".format(**entry), file=sys.stderr)
    if found.broken > SHOWN:
        print(f"tabiya: skipped {found.broken:,} lines in all, see {args.out}/manifest.json", file=sys.stderr)
    if args.json:
        print_json(
            {
                "positions": found.train + found.validation,
                "train": found.train,
                "validation": found.validation,
                "broken": found.broken,
                "out": str(args.out),
            }
        )
    else:
        print(f"{args.out}: {found.train:,} positions to train on, {found.validation:,} for validation")
    return 0
