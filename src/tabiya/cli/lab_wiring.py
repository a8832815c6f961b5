"""`tabiya lab wiring`: an evolution of feedback, resumed where it stopped, and its report."""

from __future__ import annotations

import argparse
import sys
from contextlib import redirect_stdout
from pathlib import Path

from tabiya.cli.common import print_json
from tabiya.cli.lab_stages import need_torch, plan_of

CONFIG, OUT = "configs/lab-wiring.toml", "runs/lab-wiring"


def add_arguments(parser: argparse.ArgumentParser, name: str) -> None:
    parser.add_argument(
        "--config", metavar="FILE", default=CONFIG, help=f"the experiment's settings ({CONFIG})"
    )
    parser.add_argument("--out", metavar="DIR", default=OUT, help=f"folder for all of it, resumed ({OUT})")
    parser.add_argument(
        "--stage", choices=("evolve", "report"), help="only this one (both, one after the other)"
    )
    parser.add_argument("--minutes", type=float, metavar="N", help="stop after N minutes, to go on later")
    parser.add_argument("--json", action="store_true", help="print the outcome as JSON")
    parser.set_defaults(experiment=name)


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
            done = evolve(lab, folder, args.minutes, lambda text: print(text, file=sys.stderr, flush=True))
        if not done and not args.json:
            print(f"the minutes are over: the same command goes on in {folder.path}")
    if args.stage == "evolve":
        if args.json:
            print_json({"stage": "evolve", "out": str(folder.path), "done": done})
        return 0
    from tabiya.minds.transformer.lab.wiring_report import wiring_markdown, write_wiring_report

    record = write_wiring_report(lab, folder)
    if args.json:
        print_json(record)
    else:
        print(wiring_markdown(record), end="")
        print(f"\nreport {folder.report('.md')}, all figures {folder.report('.json')}")
    return 0
