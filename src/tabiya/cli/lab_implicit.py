"""`tabiya lab implicit`: train, play, report; only the first needs torch."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING

from tabiya.cli.lab_stages import Stages, add_arguments, need_torch, run_stages

if TYPE_CHECKING:
    from tabiya.learn.lab.folder import LabFolder
    from tabiya.minds.transformer.lab.plan import ImplicitLab

__all__ = ["add_arguments", "run"]


def run(args: argparse.Namespace) -> int:
    from tabiya.minds.transformer.lab.plan import ImplicitLab
    from tabiya.minds.transformer.lab.play import play
    from tabiya.minds.transformer.lab.report import write_report
    from tabiya.minds.transformer.lab.variants import names_of

    return run_stages(args, ImplicitLab, Stages(names_of, _train, play, write_report))


def _train(
    lab: ImplicitLab, folder: LabFolder, minutes: float | None, say: Callable[[str], None]
) -> list[str]:
    need_torch("the training of the transformer's lab")
    from tabiya.minds.transformer.lab.train import train

    return train(lab, folder, minutes, say)
