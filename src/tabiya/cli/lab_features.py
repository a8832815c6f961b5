"""`tabiya lab features EXPR …`: what feature sets hold and cost on real games."""

from __future__ import annotations

import argparse
from pathlib import Path

from tabiya.cli.common import print_json, progress
from tabiya.errors import UserError

PLOTS = (".svg", ".png", ".pdf")


def add_arguments(parser: argparse.ArgumentParser, name: str) -> None:
    parser.add_argument("sets", nargs="*", metavar="EXPR", help="feature sets, such as ALL or 'FILE*ROLE'")
    parser.add_argument(
        "--pgn", required=True, metavar="FILE", help="games to count on (.pgn, .gz, .bz2, .zst)"
    )
    parser.add_argument("--games", type=int, default=200, metavar="N", help="read so many games (200)")
    parser.add_argument("--l1", type=int, default=512, metavar="N", help="neurons of the timed network (512)")
    parser.add_argument("--l2", type=int, default=32, metavar="N", help="neurons of its second layer (32)")
    parser.add_argument("--plot", metavar="FILE", help="draw the figures too (.svg, .png or .pdf)")
    parser.add_argument("--json", action="store_true", help="for programs")


def run(args: argparse.Namespace) -> int:
    from tabiya.minds.nnue import feature_report

    if args.games < 1:
        raise UserError(f"--games must be at least 1, not {args.games}")
    plot = None if args.plot is None else Path(args.plot)
    if plot is not None and plot.suffix not in PLOTS:
        raise UserError(f"a plot is a {', '.join(PLOTS)} file, not {plot.name}")
    sets = args.sets or list(feature_report.USUAL_SETS)
    pgn, uses = Path(args.pgn), []
    with progress("feature sets", total=len(sets)) as meter:
        for expression in sets:
            meter.describe(expression)
            uses.append(feature_report.measure(expression, pgn, args.games, args.l1, args.l2))
            meter.advance()
    if plot is not None:
        feature_report.draw(uses, plot)
    if args.json:
        print_json(feature_report.as_json(uses, pgn, args.l1, args.l2))
        return 0
    from rich.console import Console

    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=160)  # a file has no edge to fold at
    console.print(feature_report.as_table(uses))
    first = uses[0]
    console.print(
        f"{first.positions:,} positions of {first.games} games; timed with L1 {args.l1}, L2 {args.l2}"
    )
    return 0
