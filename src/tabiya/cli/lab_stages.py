"""What every experiment that trains, plays and reports does alike at the command line."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from contextlib import nullcontext, redirect_stdout, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from tabiya.cli.common import print_json, progress
from tabiya.errors import UserError

if TYPE_CHECKING:
    from tabiya.learn.lab.folder import LabFolder, Record
    from tabiya.learn.lab.games import Progress
    from tabiya.player import OpenPlayer

Plan = TypeVar("Plan")


@dataclass(frozen=True)
class Stages(Generic[Plan]):
    """What is an experiment's own: its networks, and what each stage does with them."""

    names: Callable[[Plan], list[str]]
    train: Callable[[Plan, LabFolder, float | None, Callable[[str], None]], list[str]]
    """Trains for so many minutes at most, says what it does, and answers with the networks still missing."""
    play: Callable[[Plan, LabFolder, OpenPlayer, Progress], int]
    """Plays what is missing, and answers with the number of games."""
    report: Callable[[Plan, LabFolder], Record]


def add_arguments(parser: argparse.ArgumentParser, name: str, stem: str | None = None) -> None:
    """`stem` names the config and the folder where the experiment's own name does not say enough."""
    add_place_arguments(parser, name, stem or name)
    parser.add_argument(
        "--stage", choices=tuple(_WAYS), help="only this one (all three, one after the other)"
    )
    parser.add_argument(
        "--minutes", type=float, metavar="N", help="stop training after N minutes, to go on later"
    )
    parser.add_argument(
        "--jobs", type=int, default=1, metavar="N", help="train and play in N processes side by side (1)"
    )


def add_place_arguments(parser: argparse.ArgumentParser, name: str, stem: str) -> None:
    """Where an experiment's settings and all that it makes lie, and how its outcome is told."""
    config, out = f"configs/lab-{stem}.toml", f"runs/lab-{stem}"
    parser.add_argument(
        "--config", metavar="FILE", default=config, help=f"the experiment's settings ({config})"
    )
    parser.add_argument("--out", metavar="DIR", default=out, help=f"folder for all of it, resumed ({out})")
    parser.add_argument("--json", action="store_true", help="print the outcome as JSON")
    parser.set_defaults(experiment=name)


def need_torch(whose: str) -> None:
    """Asked first, so that its absence is one sentence."""
    try:
        import torch  # noqa: F401 - only whether it is there
    except ImportError:
        raise UserError(f"{whose} needs torch: install it with `pip install 'tabiya[train]'`") from None


def need_device(name: str, doing: str) -> None:
    """Refuse a GPU that is not there; `doing` is what would be done on it. Asked after `need_torch`."""
    import torch

    if name == "cuda" and not torch.cuda.is_available():
        raise UserError(f"no CUDA device here: say --device cpu, or {doing} where there is a GPU")


def plan_of(args: argparse.Namespace, cls: type[Plan]) -> Plan:
    """The settings that the arguments name; those of another experiment are refused."""
    from tabiya.learn.config import load_config

    path = Path(args.config)
    plan = load_config(path, cls)
    named = getattr(plan, "experiment", None)
    if named != args.experiment:
        raise UserError(f"{path} is a config of {named}, not of {args.experiment}")
    return plan


def run_stages(
    args: argparse.Namespace, plan: type[Plan], stages: Stages[Plan], suffix: str = ".onnx"
) -> int:
    """The stage asked for, or all of them as far as they come; `suffix` is that of a network's file."""
    from tabiya.learn.lab.folder import LabFolder

    if args.jobs < 1:
        raise UserError(f"--jobs must be at least 1, got {args.jobs}")
    lab, folder = plan_of(args, plan), LabFolder(Path(args.out), suffix)
    outcome: dict[str, Any] = {}
    for stage in (args.stage,) if args.stage else _WAYS:
        if stage in _HELPED and args.jobs > 1:
            _side_by_side(args, stage, lab, folder, stages)
        outcome = _WAYS[stage](args, lab, folder, stages)
        if outcome.get("missing"):
            break
    if args.json:
        print_json(outcome)
    return 0


def _side_by_side(
    args: argparse.Namespace, stage: str, lab: Plan, folder: LabFolder, stages: Stages[Plan]
) -> None:
    """Let several processes do a stage, each what no other is at.

    Whatever one of them leaves undone, because it failed or its time was over,
    is found by the stage itself afterwards, which also says, once, why it cannot be done.
    """
    import multiprocessing

    context = multiprocessing.get_context("spawn")
    helpers = [
        context.Process(target=_HELPED[stage], args=(args, lab, folder, stages)) for _ in range(args.jobs)
    ]
    for helper in helpers:
        helper.start()
    for helper in helpers:
        helper.join()


def _help_train(args: argparse.Namespace, lab: Plan, folder: LabFolder, stages: Stages[Plan]) -> None:
    with redirect_stdout(sys.stderr), suppress(UserError):
        stages.train(lab, folder, args.minutes, say)


def _help_play(args: argparse.Namespace, lab: Plan, folder: LabFolder, stages: Stages[Plan]) -> None:
    from tabiya.learn.lab.games import silent
    from tabiya.roster import open_player

    with suppress(UserError):
        stages.play(lab, folder, open_player, silent)


_HELPED: dict[str, Callable[..., None]] = {"train": _help_train, "play": _help_play}


def _train(args: argparse.Namespace, lab: Plan, folder: LabFolder, stages: Stages[Plan]) -> dict[str, Any]:
    names = stages.names(lab)
    # A run shows its figures as it goes; beside JSON they must not stand.
    with redirect_stdout(sys.stderr) if args.json else nullcontext():
        missing = stages.train(lab, folder, args.minutes, say)
    trained = [name for name in names if name not in missing]
    if not args.json:
        rest = f", still to do: {', '.join(missing)} (the same command goes on)" if missing else ""
        print(f"{len(trained)} of {len(names)} networks in {folder.path / 'networks'}{rest}")
    return {"stage": "train", "out": str(folder.path), "trained": trained, "missing": missing}


def _play(args: argparse.Namespace, lab: Plan, folder: LabFolder, stages: Stages[Plan]) -> dict[str, Any]:
    from tabiya.roster import open_player

    games = stages.play(lab, folder, open_player, progress)
    if not args.json:
        print(f"{games:,} games in {folder.path / 'games'}")
    return {"stage": "play", "out": str(folder.path), "games": games}


def _report(args: argparse.Namespace, lab: Plan, folder: LabFolder, stages: Stages[Plan]) -> Record:
    record = stages.report(lab, folder)
    if not args.json:
        print_report(folder)
    return record


_WAYS = {"train": _train, "play": _play, "report": _report}


def print_report(folder: LabFolder) -> None:
    """A report that was just written, and where it lies."""
    print(folder.report(".md").read_text(encoding="utf-8"), end="")
    print(f"\nreport {folder.report('.md')}, all figures {folder.report('.json')}")


def say(text: str) -> None:
    """What an experiment does as it goes: beside its outcome, and at once."""
    print(text, file=sys.stderr, flush=True)
