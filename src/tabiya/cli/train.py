"""`tabiya train CONFIG`: one run from its file, resumed where it stands."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from tabiya.cli.common import print_json
from tabiya.errors import UserError

if TYPE_CHECKING:
    from tabiya.minds.resnet.training import ResNetTraining


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
    import tomllib
    from pathlib import Path

    path = Path(args.config)
    try:
        mind = tomllib.loads(path.read_text(encoding="utf-8")).get("mind")
    except FileNotFoundError:
        raise UserError(f"no file {path}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UserError(f"{path} is not TOML: {error}") from None
    if mind != "resnet":
        raise UserError(f'{path} needs mind = "resnet", got {mind!r}')
    try:
        import torch  # noqa: F401 - asked for first, so that its absence is one sentence
    except ImportError:
        raise UserError("training needs torch: install it with `pip install 'tabiya[train]'`") from None
    from tabiya.learn.config import load_config
    from tabiya.minds.resnet.training import ResNetTraining, Run

    if args.speed:
        return _speed(load_config(path, ResNetTraining), args.json)
    training = Run(load_config(path, ResNetTraining), Path(args.out or Path("runs") / path.stem))
    figures = training.train(args.minutes)
    if args.json:
        print_json({"step": training.step, "steps": training.config.steps, **figures})
    return 0


def _speed(config: ResNetTraining, as_json: bool) -> int:
    import tempfile
    from pathlib import Path

    from tabiya.minds.resnet.speed import measure
    from tabiya.minds.resnet.training import Run

    with tempfile.TemporaryDirectory() as folder:
        figures = measure(Run(config, Path(folder)))
    if as_json:
        print_json(figures)
        return 0
    print(f"fed        {' '.join(f'{rate:,}' for rate in figures['fed_per_second'])} positions a second")
    print(f"synthetic  {' '.join(f'{rate:,}' for rate in figures['synthetic_per_second'])}")
    use = figures["gpu_use_percent"]
    print(
        f"share      {figures['share']:.1%}"
        + ("" if use is None else f", GPU in use {use:.0f} % of the time")
    )
    return 0
