"""`tabiya lab patterns`: maps of many positions, an embedding of them, clusters, a gallery."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tabiya.cli.common import Meter, add_on_argument, executor_of, print_json, progress
from tabiya.cli.lab_lens import device_of
from tabiya.errors import UserError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tabiya.minds.transformer.lens_workers import Mapped, Position
    from tabiya.scale.executor import Crew

OUT = "runs/lab-patterns"
CHUNK = 32
"""Positions in one file of maps: what an interruption can cost, for each worker."""


def add_arguments(parser: argparse.ArgumentParser, name: str) -> None:
    parser.add_argument("network", metavar="RUN", help="run folder or checkpoint of a transformer")
    parser.add_argument("--positions", metavar="FILE", help="positions to look at, a FEN or EPD a line")
    parser.add_argument("--max", type=int, default=2000, metavar="N", help="positions to look at (2000)")
    parser.add_argument("--clusters", type=int, default=24, metavar="N", help="clusters (24)")
    parser.add_argument("--steps", type=int, default=600, metavar="N", help="training steps (600)")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of training and clusters (0)")
    parser.add_argument("--out", default=OUT, metavar="DIR", help=f"folder for all of it, resumed ({OUT})")
    parser.add_argument("--device", default="", metavar="NAME", help="cpu or cuda (cuda where there is one)")
    parser.add_argument("--speed", action="store_true", help="only measure how long one position's maps take")
    add_on_argument(parser)
    parser.add_argument("--json", action="store_true", help="print the outcome as JSON")


def run(args: argparse.Namespace) -> int:
    device = device_of(args.device)
    from tabiya.minds.transformer.export import load_network

    network, metadata, file = load_network(Path(args.network))
    if args.speed:
        from tabiya.minds.transformer.lens_maps import speed

        figures = speed(network, device)
        if args.json:
            print_json(figures)
        else:
            print(f"{figures['device']}: occlusion {figures['occlusion']:g} s, pairs {figures['pairs']:g} s")
        return 0
    if args.positions is None:
        raise UserError("which positions? --positions names a file with a FEN or EPD a line")
    from tabiya.data.fens import read_positions
    from tabiya.files import hold_to_settings
    from tabiya.lens.gallery import build
    from tabiya.lens.patterns import Maps
    from tabiya.minds.transformer.lens_patterns import PatternTraining, train
    from tabiya.minds.transformer.lens_workers import Cartographers

    out = Path(args.out)
    settings = {"checkpoint": file.name, "step": metadata.get("step"), "positions": Path(args.positions).name}
    hold_to_settings(out / "settings.json", settings)
    packed = playable(read_positions(Path(args.positions)))[: args.max]
    if len(packed) < 2:
        raise UserError(f"{args.positions} has fewer than two positions with a move in them")
    makers = Cartographers(file.absolute(), str(device))
    with (
        executor_of(args) as executor,
        executor.crew(makers) as crew,
        progress("maps", len(packed), unit="positions") as meter,
    ):
        files = collect(crew, packed, out / "maps", meter)
    maps = Maps.load(files)
    config = PatternTraining(steps=args.steps, seed=args.seed)
    with progress("embedding", config.steps, unit="steps") as meter:
        weights, figures = train(maps, config, device, meter.advance)
    clusters = build(weights, maps, min(args.clusters, len(maps)), args.seed, out)
    outcome: dict[str, Any] = {
        "positions": len(maps),
        "training": figures,
        "clusters": clusters,
        "out": str(out),
    }
    if args.json:
        print_json(outcome)
    else:
        print(f"{len(maps):,} positions in {len(clusters)} clusters; {out / 'gallery.html'}")
        for each in sorted(clusters, key=lambda each: -each["positions"]):
            said = ", ".join(f"{row['trait']} {100 * row['share']:.0f} %" for row in each["in_common"])
            print(f"  {each['cluster']:>3}: {each['positions']:>6,}  {said or 'nothing plain in common'}")
    return 0


def playable(packed: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """The positions in which there is a move, each once, in their order."""
    import numpy as np

    from tabiya._core import states
    from tabiya.board.states import GOES_ON

    _, first = np.unique(packed, axis=0, return_index=True)
    once = packed[np.sort(first)]
    return np.ascontiguousarray(once[states(once) == GOES_ON])


def collect(
    crew: Crew[Position, Mapped], packed: NDArray[np.uint8], folder: Path, meter: Meter
) -> list[Path]:
    """The files of maps, those that are missing made; each is written when its last position is there."""
    import numpy as np

    from tabiya.lens.patterns import Maps
    from tabiya.minds.transformer.lens_workers import Position

    starts = range(0, len(packed), CHUNK)
    files = {at: folder / f"{at:07}-{min(CHUNK, len(packed) - at)}.npz" for at in starts}
    missing = [at for at, path in files.items() if not path.exists()]
    numbers = [number for at in missing for number in range(at, min(at + CHUNK, len(packed)))]
    meter.advance(len(packed) - len(numbers))
    found: dict[int, dict[int, Mapped]] = {at: {} for at in missing}
    for position, mapped in crew.answers(Position(number, packed[number]) for number in numbers):
        meter.advance()
        at = position.number // CHUNK * CHUNK
        found[at][position.number] = mapped
        some = packed[at : at + CHUNK]
        if len(found[at]) == len(some):
            whole = [each for _, each in sorted(found.pop(at).items())]
            Maps(
                some,
                np.array([each.move for each in whole], np.uint16),
                np.stack([each.squares for each in whole]),
                np.stack([each.pairs for each in whole]),
            ).save(files[at])
    return list(files.values())
