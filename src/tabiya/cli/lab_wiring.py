"""`tabiya lab wiring`: an evolution of feedback, resumed where it stopped, and its report."""

from __future__ import annotations

import argparse
import sys
from contextlib import redirect_stdout
from pathlib import Path

from tabiya.cli.common import print_json
from tabiya.cli.lab_stages import add_place_arguments, need_torch, plan_of, print_report, say


def add_arguments(parser: argparse.ArgumentParser, name: str) -> None:
    add_place_arguments(parser, name, name)
    parser.add_argument(
        "--stage", choices=("evolve", "report"), help="only this one (both, one after the other)"
    )
    parser.add_argument("--minutes", type=float, metavar="N", help="stop after N minutes, to go on later")


def run(args: argparse.Namespace) -> int:
    from tabiya.learn.lab.folder import LabFolder
    from tabiya.minds.transformer.lab.wiring_plan import WiringLab

    lab, folder = plan_of(args, WiringLab), LabFolder(Path(args.out))
    done = True
    if args.stage != "report":
        need_torch("the evolution of feedback")
        from tabiya.minds.transformer.lab.evolve import evolve

        # A run shows its figures as it goes; dozens of them, or JSON, want them elsewhere.
        with redirect_stdout(sys.stderr):
            done = evolve(lab, folder, args.minutes, say)
        if not done and not args.json:
            print(f"the minutes are over: the same command goes on in {folder.path}")
    if args.stage == "evolve":
        if args.json:
            print_json({"stage": "evolve", "out": str(folder.path), "done": done})
        return 0
    from tabiya.minds.transformer.lab.wiring_report import write_wiring_report

    record = write_wiring_report(lab, folder)
    if args.json:
        print_json(record)
    else:
        print_report(folder)
    return 0
