"""`tabiya lab resnet-progress|resnet-ablation|resnet-data`: train, play, report."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tabiya.cli.common import progress
from tabiya.cli.lab_stages import (
    add_arguments,
    need_torch,
    plan_of,
    play_stage,
    report_stage,
    run_stages,
    train_stage,
)

if TYPE_CHECKING:
    from tabiya.learn.lab.folder import LabFolder
    from tabiya.minds.resnet.lab.plan import Lab

__all__ = ["add_arguments", "run"]


def run(args: argparse.Namespace) -> int:
    need_torch("the ResNet's lab")
    from tabiya.learn.lab.folder import LabFolder
    from tabiya.minds.resnet.lab.plan import Lab

    lab = plan_of(args, Lab)
    folder = LabFolder(Path(args.out))
    return run_stages(
        args,
        {
            "train": lambda: _train(lab, folder, args),
            "play": lambda: _play(lab, folder, args),
            "report": lambda: _report(lab, folder, args),
        },
    )


def _train(lab: Lab, folder: LabFolder, args: argparse.Namespace) -> dict[str, Any]:
    from tabiya.minds.resnet.lab.train import train
    from tabiya.minds.resnet.lab.variants import comparison

    names = [variant.name for variant in comparison(lab).variants]
    return train_stage(args, folder, names, lambda minutes, say: train(lab, folder, minutes, say))


def _play(lab: Lab, folder: LabFolder, args: argparse.Namespace) -> dict[str, Any]:
    from tabiya.minds.resnet.lab.exams import sit_exams
    from tabiya.minds.resnet.lab.games import expected_games, play_games
    from tabiya.minds.resnet.lab.variants import comparison
    from tabiya.roster import open_player

    sit_exams(lab, folder, open_player, progress)
    play_games(lab, folder, open_player, progress)
    return play_stage(args, folder, expected_games(lab, comparison(lab)))


def _report(lab: Lab, folder: LabFolder, args: argparse.Namespace) -> dict[str, Any]:
    from tabiya.minds.resnet.lab.report import write_report
    from tabiya.reports.lab_table import markdown

    record = write_report(lab, folder)
    return report_stage(args, folder, record, markdown(record))
