"""`tabiya lab resnet-tables [TABLE …]`: measure the result tables of a mind, and write the report."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from tabiya.cli.common import print_json, progress
from tabiya.errors import UserError

if TYPE_CHECKING:
    from tabiya.minds.resnet.lab.result_plan import ResultTables
    from tabiya.player import Player

CONFIG = "configs/lab-resnet-tables.toml"
OUT = "runs/lab-resnet-tables"


def add_arguments(parser: argparse.ArgumentParser, name: str) -> None:
    parser.add_argument(
        "tables",
        nargs="*",
        metavar="TABLE",
        help="puzzles, openings, endgames, size, engines (all that the config has), or gpu or report alone",
    )
    parser.add_argument(
        "--config", metavar="FILE", default=CONFIG, help=f"where the questions lie ({CONFIG})"
    )
    parser.add_argument("--out", metavar="DIR", default=OUT, help=f"folder for all of it, resumed ({OUT})")
    parser.add_argument("--mind", metavar="MIND", help="the player that is measured, instead of the config's")
    parser.add_argument("--modes", metavar="MODE,MODE", help="only these modes of a ResNet")
    parser.add_argument(
        "--device", choices=("cuda",), help="compute the ResNet by torch there, not by ONNX Runtime here"
    )
    parser.add_argument("--max", type=int, metavar="N", help="a random sample of so many puzzles")
    parser.add_argument("--json", action="store_true", help="print the tables as JSON")


def run(args: argparse.Namespace) -> int:
    from tabiya.learn.config import load_config
    from tabiya.minds.resnet.lab.result_plan import TABLES, ResultTables
    from tabiya.minds.resnet.lab.result_report import read_tables, write_report
    from tabiya.minds.resnet.lab.results import Results

    for table in args.tables:
        if table not in (*TABLES, "gpu", "report"):
            raise UserError(f"unknown table {table!r}; there are {', '.join(TABLES)}, gpu and report")
    out = Path(args.out)
    if args.tables == ["gpu"]:
        return _gpu(_changed(load_config(args.config, ResultTables), args), out)
    if args.tables != ["report"]:
        plan = _changed(load_config(args.config, ResultTables), args)
        results = Results(plan, out, _opener(args.device), progress)
        for table in TABLES:
            if table in (args.tables or plan.tables()):
                results.measure(table)
    text = write_report(out)
    if args.json:
        print_json(read_tables(out))
    else:
        print(text, end="")
        print(f"\nreport {out / 'report.md'}, all figures in the .json files beside it")
    return 0


def _opener(device: str | None) -> Callable[[str], Player]:
    from tabiya.roster import open_player

    if device is None:
        return open_player
    from tabiya.learn.on_device import on_device

    return lambda name: on_device(open_player(name), device)


def _gpu(plan: ResultTables, out: Path) -> int:
    """Time the network where a GPU is, for the table of sizes to quote."""
    try:
        import torch  # noqa: F401 - asked for first, so that its absence is one sentence
    except ImportError:
        raise UserError(
            "a GPU's time is taken with torch: install it with `pip install 'tabiya[train]'`"
        ) from None
    from tabiya.files import write_json
    from tabiya.minds.resnet.lab.gpu_latency import measure_gpu
    from tabiya.minds.resnet.lab.results import GPU_FILE
    from tabiya.minds.resnet.shelf import network_path
    from tabiya.player import PlayerName

    figures = measure_gpu(network_path(PlayerName.parse(plan.mind).where))
    write_json(out / GPU_FILE, figures)
    print_json(figures)
    return 0


def _changed(plan: ResultTables, args: argparse.Namespace) -> ResultTables:
    """The config's plan with what the options say otherwise."""
    from tabiya.learn.config import config_from_dict, config_to_dict
    from tabiya.minds.resnet.lab.result_plan import ResultTables

    if args.max is not None and plan.puzzles is not None:
        plan = replace(plan, puzzles=replace(plan.puzzles, count=args.max, value_count=None))
    changes: dict[str, object] = {"mind": args.mind} if args.mind else {}
    changes |= {"modes": args.modes.split(",")} if args.modes else {}
    # Through the reader of configs, so that a misspelt mode is refused as in a file.
    return config_from_dict(config_to_dict(plan) | changes, ResultTables, "the options")
