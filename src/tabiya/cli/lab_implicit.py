"""`tabiya lab implicit`: train, play, report; only the first needs torch."""

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
    from tabiya.minds.transformer.lab.plan import ImplicitLab

__all__ = ["add_arguments", "run"]


def run(args: argparse.Namespace) -> int:
    from tabiya.learn.lab.folder import LabFolder
    from tabiya.minds.transformer.lab.plan import ImplicitLab

    lab = plan_of(args, ImplicitLab)
    folder = LabFolder(Path(args.out))
    return run_stages(
        args,
        {
            "train": lambda: _train(lab, folder, args),
            "play": lambda: _play(lab, folder, args),
            "report": lambda: _report(lab, folder, args),
        },
    )


def _train(lab: ImplicitLab, folder: LabFolder, args: argparse.Namespace) -> dict[str, Any]:
    need_torch("the training of the transformer's lab")
    from tabiya.minds.transformer.lab.train import train
    from tabiya.minds.transformer.lab.variants import variants_of

    names = [variant.name for variant in variants_of(lab)]
    return train_stage(args, folder, names, lambda minutes, say: train(lab, folder, minutes, say))


def _play(lab: ImplicitLab, folder: LabFolder, args: argparse.Namespace) -> dict[str, Any]:
    from tabiya.minds.transformer.lab.play import expected_games, play
    from tabiya.roster import open_player

    play(lab, folder, open_player, progress)
    return play_stage(args, folder, expected_games(lab))


def _report(lab: ImplicitLab, folder: LabFolder, args: argparse.Namespace) -> dict[str, Any]:
    from tabiya.minds.transformer.lab.implicit_table import markdown
    from tabiya.minds.transformer.lab.report import write_report

    record = write_report(lab, folder)
    return report_stage(args, folder, record, markdown(record))
