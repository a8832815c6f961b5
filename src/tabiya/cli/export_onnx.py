"""`tabiya export onnx RUN_OR_CHECKPOINT --out FILE`: the one verb of `export` that needs torch."""

from __future__ import annotations

import argparse
from pathlib import Path

from tabiya.cli.common import print_json
from tabiya.errors import UserError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "source", type=Path, metavar="RUN_OR_CHECKPOINT", help="a run's folder, or one of its checkpoints"
    )
    parser.add_argument(
        "--out", type=Path, required=True, metavar="FILE", help="FILE.onnx; FILE.json beside it"
    )
    parser.add_argument("--half", action="store_true", help="store the weights as float16, half the size")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")


def run(args: argparse.Namespace) -> int:
    try:
        import torch  # noqa: F401 - asked for first, so that its absence is one sentence
    except ImportError:
        raise UserError("to export, torch is needed: install it with `pip install 'tabiya[train]'`") from None
    from tabiya.cli.export_files import onnx_target
    from tabiya.minds.resnet.checkpoint_export import export_checkpoint

    if not args.source.exists():
        raise UserError(f"no run or checkpoint {args.source}")
    figures = export_checkpoint(args.source, onnx_target(args.out), half=args.half)
    if args.json:
        print_json(figures)
        return 0
    worst = max(figures["difference_from_torch"].values())
    print(
        f"{args.out}: {figures['parameters']:,} parameters in {figures['bytes'] / 1e6:.2f} MB, "
        f"outputs within {worst:g} of torch's on {figures['positions']:,} positions"
    )
    return 0
