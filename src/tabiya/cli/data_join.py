"""`tabiya data join`: several files of move labels as one to train on."""

from __future__ import annotations

import argparse

from tabiya.cli.common import print_json
from tabiya.errors import UserError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("labels", nargs="+", help="move labels: .moves or .tsv, also compressed")
    parser.add_argument("--out", required=True, metavar="FILE", help="the joined labels, a .moves file")
    parser.add_argument(
        "--puzzles", metavar="FILE", help="leave out this puzzle file's positions and those one ply from them"
    )
    parser.add_argument(
        "--without",
        action="append",
        default=[],
        metavar="DIR",
        help="leave out this folder's validation games",
    )
    parser.add_argument("--json", action="store_true", help="print the counts as JSON")


def run(args: argparse.Namespace) -> int:
    from pathlib import Path

    from tabiya.data.join import join
    from tabiya.data.labels import write_move_labels

    out = Path(args.out)
    if out.suffix != ".moves":
        raise UserError(f"joined labels are a .moves file, got --out {out}")
    puzzles = None if args.puzzles is None else Path(args.puzzles)
    labels, counts = join([Path(file) for file in args.labels], puzzles, tuple(map(Path, args.without)))
    write_move_labels(out, labels)
    if args.json:
        print_json({"out": str(out), **counts})
    else:
        print(
            ", ".join(f"{amount:,} {name.replace('_', ' ')}" for name, amount in counts.items()) + f": {out}"
        )
    return 0
