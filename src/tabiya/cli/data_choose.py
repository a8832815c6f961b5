"""`tabiya data choose`: a teacher's own moves in positions of games and beside them."""

from __future__ import annotations

import argparse

from tabiya.cli.common import add_limit_arguments, add_on_argument, executor_of, print_json, progress
from tabiya.cli.data_label import add_engine_arguments, teaching_of
from tabiya.errors import UserError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "source",
        help="a folder of `tabiya data extract`, or games (.pgn) or positions (.fen, .epd) in a file",
    )
    parser.add_argument("--out", required=True, metavar="DIR", help="the folder of choices")
    parser.add_argument(
        "--positions", type=int, default=1_000_000, metavar="N", help="positions to draw (1000000)"
    )
    parser.add_argument(
        "--wander",
        type=float,
        default=0.0,
        metavar="P",
        help="the share of them in which a move of chance is made first (0)",
    )
    parser.add_argument(
        "--strip",
        type=float,
        default=0.0,
        metavar="P",
        help="the share of them in which one side is robbed of its army first (0)",
    )
    parser.add_argument(
        "--line",
        type=int,
        default=1,
        metavar="N",
        help="keep so many positions of the line that the teacher expects, the asked one first (1)",
    )
    parser.add_argument(
        "--men", metavar="LOW-HIGH", help="ask only where so many men are on the board (any number)"
    )
    parser.add_argument("--puzzles", metavar="FILE", help="leave out what is on a puzzle's line or near it")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="which positions (0)")
    add_limit_arguments(parser)
    add_engine_arguments(parser)
    add_on_argument(parser)
    parser.add_argument("--json", action="store_true", help="print the counts as JSON")


def run(args: argparse.Namespace) -> int:
    from pathlib import Path

    from tabiya.data.choosing import Choosers, ChoosingJob

    teaching = teaching_of(args, nodes=2000, line=args.line)
    with executor_of(args) as executor, executor.crew(Choosers(teaching), args.workers) as crew:
        job = ChoosingJob(
            Path(args.source),
            Path(args.out),
            teaching,
            crew,
            positions=args.positions,
            wander=args.wander,
            strip=args.strip,
            men=None if args.men is None else _men(args.men),
            puzzles=None if args.puzzles is None else Path(args.puzzles),
            seed=args.seed,
        )
        with progress("choosing", job.wanted, job.done, unit="positions") as meter:
            entries = job.run(meter.advance)
    kept = entries["counts"].get("positions_kept", 0)
    if args.json:
        print_json({"out": args.out, "positions": kept, "seconds": entries["seconds"]})
    else:
        print(f"{args.out}: {kept:,} moves chosen by {entries['options']['teacher']}, {entries['seconds']} s")
    return 0


def _men(text: str) -> tuple[int, int]:
    low, dash, high = text.partition("-")
    if not (dash and low.isdecimal() and high.isdecimal() and 2 <= int(low) <= int(high) <= 32):
        raise UserError(f"--men is two numbers from 2 to 32, such as 12-26, got {text!r}")
    return int(low), int(high)
