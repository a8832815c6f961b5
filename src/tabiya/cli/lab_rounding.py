"""`tabiya lab rounding RUN`: the error histogram of the NNUE in integers against the float network."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING

from tabiya.cli.common import print_json, progress
from tabiya.errors import UserError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

OUT = "results"
PLOTS = (".svg", ".png", ".pdf")


def add_arguments(parser: argparse.ArgumentParser, name: str) -> None:
    parser.add_argument("run", type=Path, metavar="RUN", help="a run's folder, or one of its checkpoints")
    parser.add_argument(
        "--network", type=Path, metavar="FILE", help="the .nnue file (the one beside the checkpoint)"
    )
    parser.add_argument(
        "--anew",
        type=Path,
        metavar="FILE",
        help="round the checkpoint anew into this .nnue file, and judge that",
    )
    parser.add_argument("--positions", type=int, default=50_000, metavar="N", help="so many (50000)")
    parser.add_argument(
        "--positions-from",
        metavar="SOURCE",
        help="an extracted folder, .pgn, .fen, .epd or .moves (games of random moves)",
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of the positions drawn (0)")
    parser.add_argument("--out", type=Path, metavar="FILE", help=f"the record ({OUT}/nnue-rounding-….json)")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="a picture too (.svg, .png or .pdf)")
    parser.add_argument("--json", action="store_true", help="print the record as JSON")


def run(args: argparse.Namespace) -> int:
    from tabiya._core import random_positions
    from tabiya.files import checksum, write_json
    from tabiya.learn.calibration import draw_positions
    from tabiya.minds.nnue import rounding

    if args.positions < 1:
        raise UserError(f"--positions must be at least 1, got {args.positions}")
    if args.plot is not None and args.plot.suffix not in PLOTS:
        raise UserError(f"a plot is a {', '.join(PLOTS)} file, not {args.plot.name}")
    if args.anew is not None and (args.network is not None or args.anew.suffix != ".nnue"):
        raise UserError("--anew takes a name that ends in .nnue, and no --network beside it")
    source = {"name": "games of random moves"}
    if args.positions_from is not None:
        path = Path(args.positions_from)
        source = {"name": path.name} | ({"sha256": checksum(path)} if path.is_file() else {})

    def drawn(seed: int) -> NDArray[np.uint8]:
        if args.positions_from is None:
            return random_positions(args.positions, seed)
        return draw_positions(args.positions_from, args.positions, seed)

    with progress("rounding", None):
        if args.anew is not None:
            rounding.write_anew(args.run, args.anew, drawn(args.seed + 1))
        packed = drawn(args.seed)
        record = rounding.measure(args.run, packed, args.anew or args.network, os.cpu_count() or 1)
    record |= {"positions_from": source, "seed": args.seed}
    out = args.out or Path(OUT) / f"nnue-rounding-{record['sha256'][:8]}.json"
    out.parent.mkdir(parents=True, exist_ok=True)
    write_json(out, record)
    if args.plot is not None:
        rounding.draw(record, args.plot)
    if args.json:
        print_json(record)
    else:
        print(rounding.as_text(record))
        print(f"record {out}")
    return 0
