"""`tabiya export checkpoint NETWORK --out FILE`: a network's file as a checkpoint to go on learning from."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tabiya.cli.common import print_json
from tabiya.cli.lab_stages import need_torch
from tabiya.errors import UserError

if TYPE_CHECKING:
    from torch import nn

    from tabiya.searchless.player import SearchlessPlayer


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from tabiya.cli.export_files import NETWORK

    parser.add_argument("network", metavar="NETWORK", help=NETWORK)
    parser.add_argument("--out", type=Path, required=True, metavar="FILE", help="FILE.safetensors")
    parser.add_argument(
        "--normalised-by",
        metavar="POSITIONS",
        help="what a ResNet is to be normalised by: an extracted folder, .fen, .epd, .pgn or .moves "
        "(its own games)",
    )
    parser.add_argument("--positions", type=int, default=4096, metavar="N", help="positions drawn (4096)")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="for the positions (0)")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")


def run(args: argparse.Namespace) -> int:
    need_torch("a checkpoint")
    from tabiya.cli.export_files import manifest_of, open_network
    from tabiya.files import checksum
    from tabiya.learn.checkpoint import save_checkpoint, state_tensors
    from tabiya.learn.parameters import parameter_count

    if args.out.suffix != ".safetensors":
        raise UserError(f"a checkpoint's name ends in .safetensors, got {args.out}")
    player = open_network(args.network)
    path = player.network.path
    manifest = manifest_of(path)
    network, shape = _restored(args, player, manifest)
    config = {**manifest.get("config", {}), "mind": player.settings.MIND, "shape": shape}
    before = {"sha256": checksum(path), "trained_on": manifest.get("trained_on", {})}
    metadata = {"step": 0, "config": config, "before": before}
    save_checkpoint(args.out, state_tensors(model=network, rng=False), metadata)
    figures = {"network": str(path), "out": str(args.out), "parameters": parameter_count(path)}
    if args.json:
        print_json(figures)
    else:
        print(f"{args.out}: the weights of {path}, for start_from in a run's config")
    return 0


def _restored(
    args: argparse.Namespace, player: SearchlessPlayer[Any, Any], manifest: dict[str, Any]
) -> tuple[nn.Module, dict[str, Any]]:
    """The network in torch, and its shape as a config has it."""
    from tabiya.learn.config import config_from_dict, config_to_dict

    path = player.network.path
    if player.settings.MIND == "transformer":
        from tabiya.minds.transformer.restored import restored as transformer

        network = transformer(path)
        return network, config_to_dict(network.shape)
    from tabiya.cli.export_files import positions_for
    from tabiya.minds.resnet.network import ResNetShape
    from tabiya.minds.resnet.restored import restored as resnet

    told = manifest.get("config", {}).get("shape")
    if told is None:
        raise UserError(f"{path} has no manifest that tells its shape, so it cannot be restored")
    packed = positions_for(player, args.normalised_by, args.positions, args.seed, "checkpoint")
    return resnet(path, config_from_dict(told, ResNetShape, f"the manifest of {path}"), packed), told
