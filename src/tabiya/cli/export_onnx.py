"""`tabiya export onnx RUN_OR_CHECKPOINT --out FILE`: the step of deployment that needs torch."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tabiya.cli.common import print_json, progress
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
    from tabiya.learn.checkpoint import checkpoint_metadata, chosen_checkpoint

    target = onnx_target(args.out)
    if not args.source.exists():
        raise UserError(f"no run or checkpoint {args.source}")
    file = chosen_checkpoint(args.source)
    export_checkpoint = _exporter(checkpoint_metadata(file).get("config"), file)
    with progress("export: held against torch", None):
        figures = export_checkpoint(file, target, half=args.half)
    if args.json:
        print_json(figures)
        return 0
    worst = max(figures["difference_from_torch"].values())
    print(
        f"{args.out}: {figures['parameters']:,} parameters in {figures['bytes'] / 1e6:.2f} MB, "
        f"outputs within {worst:g} of torch's on {figures['positions']:,} positions"
    )
    return 0


def _exporter(config: Any, file: Path) -> Callable[..., dict[str, Any]]:
    """What exports the checkpoints of the mind that a run's config names."""
    from tabiya.minds.resnet.checkpoint_export import export_checkpoint as resnet
    from tabiya.minds.transformer.export import export_checkpoint as transformer

    exporters = {"resnet": resnet, "transformer": transformer}
    kind = config.get("mind", "resnet") if isinstance(config, dict) else "resnet"
    if kind not in exporters:
        raise UserError(f"{file} is of a run of {kind}; those of {' and '.join(exporters)} become ONNX")
    return exporters[kind]
