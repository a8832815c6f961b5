"""What every experiment that trains, plays and reports does alike at the command line."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from tabiya.cli.common import print_json
from tabiya.errors import UserError

if TYPE_CHECKING:
    from tabiya.learn.lab.folder import LabFolder

STAGES = ("train", "play", "report")

Plan = TypeVar("Plan")
Train = Callable[[float | None, Callable[[str], None]], list[str]]
"""Trains for so many minutes at most, says what it does, and answers with the networks still missing."""


def add_arguments(parser: argparse.ArgumentParser, name: str, stem: str | None = None) -> None:
    """`stem` names the config and the folder where the experiment's own name does not say enough."""
    stem = f"lab-{stem or name}"
    config, out = f"configs/{stem}.toml", f"runs/{stem}"
    parser.add_argument(
        "--config", metavar="FILE", default=config, help=f"the experiment's settings ({config})"
    )
    parser.add_argument("--out", metavar="DIR", default=out, help=f"folder for all of it, resumed ({out})")
    parser.add_argument("--stage", choices=STAGES, help="only this one (all three, one after the other)")
    parser.add_argument(
        "--minutes", type=float, metavar="N", help="stop training after N minutes, to go on later"
    )
    parser.add_argument("--json", action="store_true", help="print the outcome as JSON")
    parser.set_defaults(experiment=name)


def need_torch(whose: str) -> None:
    """Asked first, so that its absence is one sentence."""
    try:
        import torch  # noqa: F401 - only whether it is there
    except ImportError:
        raise UserError(f"{whose} needs torch: install it with `pip install 'tabiya[train]'`") from None


def plan_of(args: argparse.Namespace, cls: type[Plan]) -> Plan:
    """The settings that the arguments name; those of another experiment are refused."""
    from tabiya.learn.config import load_config

    path = Path(args.config)
    plan = load_config(path, cls)
    named = getattr(plan, "experiment", None)
    if named != args.experiment:
        raise UserError(f"{path} is a config of {named}, not of {args.experiment}")
    return plan


def run_stages(args: argparse.Namespace, stages: Mapping[str, Callable[[], dict[str, Any]]]) -> int:
    """The stage asked for, or all of them as far as they come."""
    outcome: dict[str, Any] = {}
    for stage in (args.stage,) if args.stage else STAGES:
        outcome = stages[stage]()
        if outcome.get("missing"):
            break
    if args.json:
        print_json(outcome)
    return 0


def train_stage(
    args: argparse.Namespace, folder: LabFolder, names: Sequence[str], train: Train
) -> dict[str, Any]:
    # A run shows its figures as it goes; beside JSON they must not stand.
    with redirect_stdout(sys.stderr) if args.json else nullcontext():
        missing = train(args.minutes, lambda text: print(text, file=sys.stderr, flush=True))
    trained = [name for name in names if name not in missing]
    if not args.json:
        rest = f", still to do: {', '.join(missing)} (the same command goes on)" if missing else ""
        print(f"{len(trained)} of {len(names)} networks in {folder.path / 'networks'}{rest}")
    return {"stage": "train", "out": str(folder.path), "trained": trained, "missing": missing}


def play_stage(args: argparse.Namespace, folder: LabFolder, games: int) -> dict[str, Any]:
    """What is said once all games are played."""
    if not args.json:
        print(f"{games:,} games in {folder.path / 'games'}")
    return {"stage": "play", "out": str(folder.path), "games": games}


def report_stage(
    args: argparse.Namespace, folder: LabFolder, record: dict[str, Any], text: str
) -> dict[str, Any]:
    """What is said of a report that is written."""
    if not args.json:
        print(text, end="")
        print(f"\nreport {folder.report('.md')}, all figures {folder.report('.json')}")
    return record
