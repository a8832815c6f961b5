"""`tabiya export int8 NETWORK --out FILE`: a network in eight bits, calibrated or in its weights alone."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tabiya.cli.common import print_json, progress
from tabiya.errors import UserError

if TYPE_CHECKING:
    from tabiya.searchless.player import SearchlessPlayer

KEEPS = ("nothing", "first", "heads", "first+heads")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from tabiya.cli.export_files import NETWORK

    parser.add_argument("network", metavar="NETWORK", help=NETWORK)
    parser.add_argument(
        "--out", type=Path, required=True, metavar="FILE", help="FILE.onnx; FILE.json beside it"
    )
    parser.add_argument(
        "--calibration",
        metavar="POSITIONS",
        help="an extracted folder, .fen, .epd, .pgn or .moves (the network's own games)",
    )
    parser.add_argument("--positions", type=int, default=1024, metavar="N", help="positions drawn (1024)")
    parser.add_argument("--keep", choices=KEEPS, help="what stays float (each is tried, the truest is kept)")
    parser.add_argument(
        "--weights-only", action="store_true", help="int8 is only how weights are stored; no calibration"
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="for the positions (0)")
    parser.add_argument("--json", action="store_true", help="print what was tried as JSON")


def run(args: argparse.Namespace) -> int:
    from tabiya.cli.export_files import manifest_of, onnx_target, open_network
    from tabiya.learn.parameters import parameter_count
    from tabiya.learn.quantise import store_weights
    from tabiya.learn.sidecar import write_sidecar

    target = onnx_target(args.out)
    if args.weights_only and (args.calibration or args.keep):
        raise UserError("--weights-only needs no --calibration and no --keep")
    player = open_network(args.network)
    path = player.network.path
    manifest = manifest_of(path)
    made = store_weights(path, target) if args.weights_only else _computed(args, player, target)
    write_sidecar(
        target,
        kind=player.settings.MIND,
        inputs=player.open_network(target, 1).inputs(),  # it opens, and is what such a network must be
        parameters=int(manifest.get("parameters") or parameter_count(path)),
        config={**manifest.get("config", {}), "int8": made},
        trained_on=manifest.get("trained_on", {}),
    )
    figures = {"network": args.network, "out": str(target), "bytes": target.stat().st_size, **made}
    if args.json:
        print_json(figures)
    else:
        _print(figures)
    return 0


def _computed(args: argparse.Namespace, player: SearchlessPlayer[Any, Any], target: Path) -> dict[str, Any]:
    """Eight bits in what is computed, and what stays float chosen by measuring."""
    from tabiya.cli.export_files import positions_for

    quantise, keeps = _way(player)
    if args.keep not in (None, *keeps):
        raise UserError(f"of a {player.settings.MIND} {' or '.join(keeps)} can stay float, not {args.keep}")
    packed = positions_for(player, args.calibration, args.positions, args.seed, "calibration")
    with progress("int8", 1 if args.keep else len(keeps)) as meter:
        made = quantise(
            player.network.path,
            target,
            packed,
            keep=args.keep,
            tried=lambda _attempt: meter.advance(),
        )
    return {**made, "calibration": args.calibration or "the network's own games", "seed": args.seed}


def _way(player: SearchlessPlayer[Any, Any]) -> tuple[Callable[..., dict[str, Any]], tuple[str, ...]]:
    """How networks of the player's mind become int8, and what of them can stay float."""
    if player.settings.MIND == "transformer":
        from tabiya.minds.transformer import int8

        return int8.quantise, int8.KEEPS
    from tabiya.learn import quantise as static

    return partial(static.quantise, planes=player.network.planes), tuple(static.KEEPS)


def _print(figures: dict[str, Any]) -> None:
    for attempt in figures.get("tried", ()):
        print(
            f"  float: {attempt['kept_float']:<12} same move {100 * attempt['same_move_share']:.1f} %, "
            f"divergence {attempt['policy_divergence']:.5f}, {attempt['bytes'] / 1e6:.2f} MB"
        )
    kept = f", float: {figures['kept_float']}" if "kept_float" in figures else ""
    print(f"{figures['out']}: {figures['bytes'] / 1e6:.2f} MB, {figures['method']} int8{kept}")
    print(f"  next: tabiya export check {figures['out']} --against {figures['network']}")
