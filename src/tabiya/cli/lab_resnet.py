"""`tabiya lab resnet-progress|resnet-ablation|resnet-data|resnet-mistakes`: train, play, report."""

from __future__ import annotations

import argparse

from tabiya.cli.lab_stages import Stages, add_arguments, need_torch, run_stages

__all__ = ["add_arguments", "run"]


def run(args: argparse.Namespace) -> int:
    need_torch("the ResNet's lab")
    from tabiya.minds.resnet.lab.plan import Lab
    from tabiya.minds.resnet.lab.play import play
    from tabiya.minds.resnet.lab.report import write_report
    from tabiya.minds.resnet.lab.train import train
    from tabiya.minds.resnet.lab.variants import names_of

    return run_stages(args, Lab, Stages(names_of, train, play, write_report))
