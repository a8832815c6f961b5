"""`tabiya train CONFIG`: one run from its file, resumed where it stands."""

from __future__ import annotations

import argparse
import os
import sys
from contextlib import nullcontext, redirect_stdout
from pathlib import Path
from typing import Any

from tabiya.cli.common import print_json
from tabiya.cli.lab_stages import need_torch
from tabiya.errors import UserError

TRAINERS = {
    "resnet": "tabiya.minds.resnet.training",
    "nnue": "tabiya.minds.nnue.training",
    "transformer": "tabiya.minds.transformer.training",
}
"""By the config's `mind`: a module whose `train(path, out, minutes)` and `speed(path)` give figures."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("config", help="a run's settings, such as configs/resnet-main.toml")
    parser.add_argument("--out", metavar="DIR", help="the run's folder (runs/NAME)")
    parser.add_argument("--minutes", type=float, metavar="N", help="stop after N minutes, to go on later")
    parser.add_argument(
        "--speed",
        action="store_true",
        help="measure positions a second, fed and synthetic, and train nothing",
    )
    parser.add_argument("--json", action="store_true", help="print the last figures as JSON")


def run(args: argparse.Namespace) -> int:
    import importlib

    path = Path(args.config)
    module = TRAINERS[_mind(path)]
    need_torch("training")
    trainer = importlib.import_module(module)
    if args.speed:
        if int(os.environ.get("WORLD_SIZE", "1")) > 1:
            raise UserError("--speed measures one process: run it without torchrun")
        figures = trainer.speed(path)
    else:
        # A run shows its figures as it goes; beside JSON they must not stand.
        with redirect_stdout(sys.stderr) if args.json else nullcontext():
            figures = trainer.train(path, Path(args.out or Path("runs") / path.stem), args.minutes)
    if int(os.environ.get("RANK", "0")) == 0:  # of several processes the first speaks
        if args.json:
            print_json(figures)
        elif args.speed:
            _show(figures)
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        # All is written. Taken down in the usual way, one of several processes was seen to abort at its end,
        # it seems because a thread that torch had begun was alive still.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)
    return 0


def _mind(path: Path) -> str:
    """Which mind a config trains."""
    import tomllib

    try:
        mind = tomllib.loads(path.read_text(encoding="utf-8")).get("mind")
    except FileNotFoundError:
        raise UserError(f"no file {path}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UserError(f"{path} is not TOML: {error}") from None
    if mind not in TRAINERS:
        known = " or ".join(f'mind = "{name}"' for name in TRAINERS)
        raise UserError(f"{path} needs {known}, got {mind!r}")
    return str(mind)


def _show(figures: dict[str, Any]) -> None:
    """Each figure on a line: rates of several rounds side by side."""
    width = max(map(len, figures))
    for name, value in figures.items():
        values = value if isinstance(value, list) else [value]
        shown = (
            f"{v:,}" if isinstance(v, int) else f"{v:.3g}" if isinstance(v, float) else str(v) for v in values
        )
        print(f"{name.replace('_', ' '):{width}}  {' '.join(shown)}")
