"""`tabiya lab nnue-sweep|axes|pairs|mobility|attacks|symmetry|piece-move|statistical|neurons|pqr`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tabiya.cli.common import progress
from tabiya.cli.lab_stages import (
    add_arguments as add_stage_arguments,
)
from tabiya.cli.lab_stages import (
    need_torch,
    plan_of,
    play_stage,
    report_stage,
    run_stages,
    train_stage,
)

if TYPE_CHECKING:
    from tabiya.learn.lab.folder import LabFolder
    from tabiya.minds.nnue.lab.plan import Lab


def add_arguments(parser: argparse.ArgumentParser, name: str) -> None:
    add_stage_arguments(parser, name, name if name.startswith("nnue-") else f"nnue-{name}")


def run(args: argparse.Namespace) -> int:
    need_torch("the NNUE's lab")
    from tabiya.learn.lab.folder import LabFolder
    from tabiya.minds.nnue.lab.plan import Lab

    lab = plan_of(args, Lab)
    folder = LabFolder(Path(args.out), ".nnue")
    return run_stages(
        args,
        {
            "train": lambda: _train(lab, folder, args),
            "play": lambda: _play(lab, folder, args),
            "report": lambda: _report(lab, folder, args),
        },
    )


def _train(lab: Lab, folder: LabFolder, args: argparse.Namespace) -> dict[str, Any]:
    from tabiya.minds.nnue.lab.train import train
    from tabiya.minds.nnue.lab.variants import comparison

    names = [variant.name for variant in comparison(lab).variants]
    return train_stage(args, folder, names, lambda minutes, say: train(lab, folder, minutes, say))


def _play(lab: Lab, folder: LabFolder, args: argparse.Namespace) -> dict[str, Any]:
    from tabiya.minds.nnue.lab.play import expected_games, play
    from tabiya.minds.nnue.lab.variants import comparison
    from tabiya.roster import open_player

    play(lab, folder, open_player, progress)
    return play_stage(args, folder, expected_games(lab, comparison(lab)))


def _report(lab: Lab, folder: LabFolder, args: argparse.Namespace) -> dict[str, Any]:
    from tabiya.minds.nnue.lab.report import write_report
    from tabiya.reports.nnue_lab_table import markdown

    record = write_report(lab, folder)
    return report_stage(args, folder, record, markdown(record))
