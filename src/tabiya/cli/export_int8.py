"""`tabiya export int8 NETWORK --out FILE`: a network in eight bits, calibrated or in its weights alone."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from tabiya.cli.common import print_json, progress
from tabiya.errors import UserError

KEEPS = ("nothing", "first", "heads", "first+heads")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("network", metavar="NETWORK", help="an .onnx file, a run's folder, or resnet")
    parser.add_argument(
        "--out", type=Path, required=True, metavar="FILE", help="FILE.onnx; FILE.json beside it"
    )
    parser.add_argument(
        "--calibration",
        metavar="POSITIONS",
        help="an extracted folder, .fen, .epd, .pgn or .moves (the network's own games)",
    )
    parser.add_argument("--positions", type=int, default=1024, metavar="N", help="positions drawn (1024)")
    parser.add_argument(
        "--keep", choices=KEEPS, help="what stays float (all four are tried, the truest is kept)"
    )
    parser.add_argument(
        "--weights-only", action="store_true", help="int8 is only how weights are stored; no calibration"
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="for the positions (0)")
    parser.add_argument("--json", action="store_true", help="print what was tried as JSON")


def run(args: argparse.Namespace) -> int:
    from tabiya.cli.export_files import manifest_of, onnx_target, open_network
    from tabiya.learn.sidecar import write_sidecar
    from tabiya.minds.resnet.onnx_network import OnnxNetwork

    target = onnx_target(args.out)
    if args.weights_only and (args.calibration or args.keep):
        raise UserError("--weights-only needs no --calibration and no --keep")
    network = open_network(args.network).network
    manifest = manifest_of(network.path)
    made = _stored(network, target) if args.weights_only else _static(args, network, target)
    planes = OnnxNetwork(target).planes  # it opens, and has the inputs and outputs of a ResNet
    from tabiya.learn.parameters import parameter_count

    write_sidecar(
        target,
        kind="resnet",
        planes=planes,
        parameters=int(manifest.get("parameters") or parameter_count(network.path)),
        config={**manifest.get("config", {}), "int8": made},
        trained_on=manifest.get("trained_on", {}),
    )
    figures = {"network": args.network, "out": str(target), "bytes": target.stat().st_size, **made}
    if args.json:
        print_json(figures)
    else:
        _print(figures)
    return 0


def _stored(network: Any, target: Path) -> dict[str, Any]:
    from tabiya.learn.quantise import store_weights

    return store_weights(network.path, target)


def _static(args: argparse.Namespace, network: Any, target: Path) -> dict[str, Any]:
    from tabiya.cli.export_files import positions_for
    from tabiya.learn.quantise import quantise

    packed = positions_for(network, args.calibration, args.positions, args.seed, "calibration")
    with progress("int8", 1 if args.keep else len(KEEPS)) as meter:
        made = quantise(
            network.path,
            target,
            packed,
            network.planes,
            keep=args.keep,
            tried=lambda _attempt: meter.advance(),
        )
    return {**made, "calibration": args.calibration or "the network's own games", "seed": args.seed}


def _print(figures: dict[str, Any]) -> None:
    for attempt in figures.get("tried", ()):
        print(
            f"  float: {attempt['kept_float']:<12} same move {100 * attempt['same_move_share']:.1f} %, "
            f"divergence {attempt['policy_divergence']:.5f}, {attempt['bytes'] / 1e6:.2f} MB"
        )
    kept = f", float: {figures['kept_float']}" if "kept_float" in figures else ""
    print(f"{figures['out']}: {figures['bytes'] / 1e6:.2f} MB, {figures['method']} int8{kept}")
    print(f"  next: tabiya export check {figures['out']} --against {figures['network']}")
