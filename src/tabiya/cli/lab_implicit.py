"""`tabiya lab implicit`: train, play, report; only the first needs torch."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from tabiya.cli import lab_stages
from tabiya.cli.lab_stages import Stages, need_torch, plan_of, run_stages
from tabiya.errors import UserError

if TYPE_CHECKING:
    from tabiya.learn.lab.folder import LabFolder
    from tabiya.minds.transformer.lab.plan import ImplicitLab


def add_arguments(parser: argparse.ArgumentParser, name: str) -> None:
    lab_stages.add_arguments(parser, name)
    parser.add_argument(
        "--size",
        action="append",
        default=[],
        metavar="NAME",
        help="with --stage train or play: only networks of this size, such as 8x256 (all); may be repeated",
    )


def run(args: argparse.Namespace) -> int:
    from tabiya.minds.transformer.lab.plan import ImplicitLab
    from tabiya.minds.transformer.lab.play import play
    from tabiya.minds.transformer.lab.report import write_report
    from tabiya.minds.transformer.lab.variants import names_of

    sizes = tuple(args.size)
    if sizes:
        _refuse_sizes(args, [size.name for size in plan_of(args, ImplicitLab).sizes])
    stages = Stages(
        partial(names_of, sizes=sizes), partial(_train, sizes=sizes), partial(play, sizes=sizes), write_report
    )
    return run_stages(args, ImplicitLab, stages)


def _refuse_sizes(args: argparse.Namespace, known: Sequence[str]) -> None:
    """Some sizes have no report: its answers are told from all of them."""
    for size in args.size:
        if size not in known:
            raise UserError(f"no size {size!r} in {args.config}: it has {', '.join(known)}")
    if args.stage not in ("train", "play"):
        raise UserError("--size goes with --stage train or --stage play: the report needs every size")


def _train(
    lab: ImplicitLab,
    folder: LabFolder,
    minutes: float | None,
    say: Callable[[str], None],
    sizes: Sequence[str],
) -> list[str]:
    need_torch("the training of the transformer's lab")
    from tabiya.minds.transformer.lab.train import train

    return train(lab, folder, minutes, say, sizes)
