"""`tabiya data forcing`: deep but narrow test positions out of games, verified by a teacher."""

from __future__ import annotations

import argparse

from tabiya.cli.common import print_json, progress
from tabiya.errors import UserError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", help="a folder of `tabiya data extract`")
    parser.add_argument("--out", required=True, metavar="FILE", help="the positions, a puzzle file (.csv)")
    parser.add_argument("--least", type=int, default=3, metavar="N", help="solver's moves, at least (3)")
    parser.add_argument("--longest", type=int, default=8, metavar="N", help="and at most (8)")
    parser.add_argument("--replies", type=int, default=1, metavar="N", help="replies a check may leave (1)")
    parser.add_argument(
        "--lead", type=int, default=0, metavar="N", help="pawns' worth by which the solver may be ahead (0)"
    )
    parser.add_argument(
        "--others", type=int, default=200, metavar="CP", help="what any other move may be worth (200)"
    )
    parser.add_argument("--max", type=int, metavar="N", help="verify no more than so many, the longest first")
    parser.add_argument("--teacher", default="stockfish", metavar="ENGINE", help="who verifies (stockfish)")
    parser.add_argument("--depth", type=int, default=14, metavar="N", help="how deep it looks (14)")
    parser.add_argument("--workers", type=int, default=1, metavar="N", help="engines at once (1)")
    parser.add_argument("--json", action="store_true", help="print the counts as JSON")


def run(args: argparse.Namespace) -> int:
    import os
    from collections import Counter
    from pathlib import Path

    from tabiya.cli.data_label import engine_words
    from tabiya.data.forcing import Narrowness, candidates, verified, write_puzzles
    from tabiya.data.shards import ShardFolder
    from tabiya.data.teaching import Teaching

    out = Path(args.out)
    if out.suffix != ".csv":
        raise UserError(f"a puzzle file is a .csv file, got --out {out}")
    if not 1 <= args.least <= args.longest or args.replies < 1:
        raise UserError("--least must be at least 1 and no more than --longest, --replies at least 1")
    if args.max is not None and args.max < 1:
        raise UserError(f"--max must be at least 1, got {args.max}")
    command, *arguments = engine_words(args.teacher)
    teaching = Teaching(
        command=command,
        arguments=tuple(arguments),
        depth=args.depth,
        all_moves=True,
        workers=args.workers,
    )
    wanted = Narrowness(args.least, args.longest, args.replies, args.lead, args.others)
    with progress("looking for lines", None):
        found = candidates(ShardFolder.open(args.folder), wanted, os.cpu_count() or 1)
    asked = found[: args.max]
    with progress("verifying", sum(each.moves - 1 for each in asked), unit="positions") as meter:
        kept = verified(asked, teaching, out.with_suffix(".moves"), wanted, meter.advance)
    write_puzzles(out, kept)
    lengths = dict(sorted(Counter(each.moves for each in kept).items()))
    counts = {"found": len(found), "asked": len(asked), "kept": len(kept)}
    if args.json:
        print_json({"out": str(out), **counts, "lengths": lengths})
    else:
        by_length = ", ".join(f"{count} in {moves}" for moves, count in lengths.items())
        print(f"{len(found):,} lines, {len(asked):,} asked about, {len(kept):,} kept ({by_length}): {out}")
    return 0
