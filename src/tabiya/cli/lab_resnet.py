"""`tabiya lab resnet-progress|resnet-ablation|resnet-data`: train, play, report."""

from __future__ import annotations

import argparse
import sys
from contextlib import nullcontext, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tabiya.cli.common import print_json, progress
from tabiya.errors import UserError

if TYPE_CHECKING:
    from tabiya.minds.resnet.lab.folder import LabFolder
    from tabiya.minds.resnet.lab.plan import Lab

STAGES = ("train", "play", "report")


def add_arguments(parser: argparse.ArgumentParser, name: str) -> None:
    parser.add_argument(
        "--config", metavar="FILE", help=f"the experiment's settings (configs/lab-{name}.toml)"
    )
    parser.add_argument("--out", metavar="DIR", help=f"folder for all of it, resumed (runs/lab-{name})")
    parser.add_argument("--stage", choices=STAGES, help="only this one (all three, one after the other)")
    parser.add_argument(
        "--minutes", type=float, metavar="N", help="stop training after N minutes, to go on later"
    )
    parser.add_argument("--json", action="store_true", help="print the outcome as JSON")
    parser.set_defaults(experiment=name)


def run(args: argparse.Namespace) -> int:
    try:
        import torch  # noqa: F401 - asked for first, so that its absence is one sentence
    except ImportError:
        raise UserError(
            "the ResNet's lab needs torch: install it with `pip install 'tabiya[train]'`"
        ) from None
    from tabiya.learn.config import load_config
    from tabiya.minds.resnet.lab.folder import LabFolder
    from tabiya.minds.resnet.lab.plan import Lab

    path = Path(args.config or f"configs/lab-{args.experiment}.toml")
    lab = load_config(path, Lab)
    if lab.experiment != args.experiment:
        raise UserError(f"{path} is a config of {lab.experiment}, not of {args.experiment}")
    folder = LabFolder(Path(args.out or f"runs/lab-{args.experiment}"))
    stages = {"train": _train, "play": _play, "report": _report}
    outcome: dict[str, Any] = {}
    for stage in (args.stage,) if args.stage else STAGES:
        outcome = stages[stage](lab, folder, args)
        if outcome.get("missing"):
            break
    if args.json:
        print_json(outcome)
    return 0


def _train(lab: Lab, folder: LabFolder, args: argparse.Namespace) -> dict[str, Any]:
    from tabiya.minds.resnet.lab.train import train
    from tabiya.minds.resnet.lab.variants import comparison

    # A run shows its figures as it goes; beside JSON they must not stand.
    with redirect_stdout(sys.stderr) if args.json else nullcontext():
        missing = train(lab, folder, args.minutes, lambda text: print(text, file=sys.stderr, flush=True))
    names = [variant.name for variant in comparison(lab).variants]
    trained = [name for name in names if name not in missing]
    if not args.json:
        rest = f", still to do: {', '.join(missing)} (the same command goes on)" if missing else ""
        print(f"{len(trained)} of {len(names)} networks in {folder.path / 'networks'}{rest}")
    return {"stage": "train", "out": str(folder.path), "trained": trained, "missing": missing}


def _play(lab: Lab, folder: LabFolder, args: argparse.Namespace) -> dict[str, Any]:
    from tabiya.minds.resnet.lab.exams import sit_exams
    from tabiya.minds.resnet.lab.games import expected_games, play_games
    from tabiya.minds.resnet.lab.variants import comparison
    from tabiya.roster import open_player

    sit_exams(lab, folder, open_player, progress)
    play_games(lab, folder, open_player, progress)
    games = expected_games(lab, comparison(lab))
    if not args.json:
        print(f"{games:,} games in {folder.path / 'games'}")
    return {"stage": "play", "out": str(folder.path), "games": games}


def _report(lab: Lab, folder: LabFolder, args: argparse.Namespace) -> dict[str, Any]:
    from tabiya.minds.resnet.lab.report import write_report
    from tabiya.reports.lab_table import markdown

    record = write_report(lab, folder)
    if not args.json:
        print(markdown(record), end="")
        print(f"\nreport {folder.report('.md')}, all figures {folder.report('.json')}")
    return record
