"""`tabiya lab rounding RUN`: the error histogram of the NNUE in integers against the float network."""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path

from tabiya.cli.common import print_json, progress
from tabiya.errors import UserError

OUT = "results"
PLOTS = (".svg", ".png", ".pdf")


def add_arguments(parser: argparse.ArgumentParser, name: str) -> None:
    parser.add_argument("run", type=Path, metavar="RUN", help="a run's folder, or one of its checkpoints")
    parser.add_argument(
        "--network", type=Path, metavar="FILE", help="the .nnue file (the one beside the checkpoint)"
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
    from tabiya.files import checksum, replacing
    from tabiya.learn.calibration import draw_positions
    from tabiya.minds.nnue import rounding

    if args.positions < 1:
        raise UserError(f"--positions must be at least 1, got {args.positions}")
    if args.plot is not None and args.plot.suffix not in PLOTS:
        raise UserError(f"a plot is a {', '.join(PLOTS)} file, not {args.plot.name}")
    with progress("rounding", None):
        if args.positions_from is None:
            packed, source = random_positions(args.positions, args.seed), {"name": "games of random moves"}
        else:
            packed, source = draw_positions(args.positions_from, args.positions, args.seed), {}
            path = Path(args.positions_from)
            source["name"] = path.name
            if path.is_file():
                source["sha256"] = checksum(path)
        record = rounding.measure(args.run, packed, args.network, os.cpu_count() or 1)
    record |= {"positions_from": source, "seed": args.seed}
    out = args.out or Path(OUT) / f"nnue-rounding-{record['sha256'][:8]}.json"
    out.parent.mkdir(parents=True, exist_ok=True)
    with replacing(out) as part:
        part.write_text(json.dumps(record, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    if args.plot is not None:
        rounding.draw(record, args.plot)
    if args.json:
        print_json(record)
    else:
        print(rounding.as_text(record))
        print(f"record {out}")
    return 0
