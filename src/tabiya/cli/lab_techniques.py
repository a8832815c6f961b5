"""`tabiya lab techniques [NAME…]`: each technique of the NNUE's search, tested by SPRT."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from tabiya.cli.arena_options import add_arena_arguments, plan_from
from tabiya.cli.common import executor_of, print_json, progress

if TYPE_CHECKING:
    from tabiya.arena.match import MatchStatus

OUT = "results/techniques"


def add_arguments(parser: argparse.ArgumentParser, name: str) -> None:
    parser.add_argument("techniques", nargs="*", metavar="NAME", help="which (all)")
    parser.add_argument("--mind", default="nnue", metavar="MIND", help="the player (nnue)")
    parser.add_argument(
        "--sprt", default="0,10", metavar="ELO0,ELO1[,ALPHA,BETA]", help="the test of each (0,10)"
    )
    add_arena_arguments(parser, "at most, for each technique")
    parser.set_defaults(games=4000)


def run(args: argparse.Namespace) -> int:
    from tabiya.arena.sprt import Sprt
    from tabiya.minds.nnue.lab.techniques import Trial, chosen_techniques, ledger_text, try_techniques
    from tabiya.roster import open_player

    names = chosen_techniques(args.techniques)
    trial = Trial(args.mind, plan_from(args, [args.mind, args.mind]), Sprt.parse(args.sprt, "logistic"))
    folder = Path(args.out or OUT)
    with executor_of(args) as executor, progress("techniques", len(names)) as meter:

        def watch(name: str, status: MatchStatus) -> None:
            score = status.score
            meter.describe(f"{name} +{score.wins} ={score.draws} -{score.losses}  LLR {status.llr or 0:+.2f}")

        ledger = try_techniques(trial, names, folder, open_player, watch, meter.advance, executor)
    if args.json:
        print_json(ledger)
    else:
        print(ledger_text(ledger["techniques"]), end="")
        print(f"ledger {folder / 'ledger.md'}")
    return 0
