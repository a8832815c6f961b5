"""`tabiya lab nnue-sweep|axes|pairs|mobility|attacks|symmetry|piece-move|statistical|neurons|pqr`."""

from __future__ import annotations

import argparse

from tabiya.cli import lab_stages


def add_arguments(parser: argparse.ArgumentParser, name: str) -> None:
    lab_stages.add_arguments(parser, name, name if name.startswith("nnue-") else f"nnue-{name}")


def run(args: argparse.Namespace) -> int:
    lab_stages.need_torch("the NNUE's lab")
    from tabiya.minds.nnue.lab.plan import Lab
    from tabiya.minds.nnue.lab.play import play
    from tabiya.minds.nnue.lab.report import write_report
    from tabiya.minds.nnue.lab.train import train
    from tabiya.minds.nnue.lab.variants import names_of

    stages = lab_stages.Stages(names_of, train, play, write_report)
    return lab_stages.run_stages(args, Lab, stages, suffix=".nnue")
