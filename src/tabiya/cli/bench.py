"""`tabiya bench`: each hot path here and in python-chess, same input, same run, as a ratio."""

from __future__ import annotations

import argparse
import difflib
import json
import os
import platform
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tabiya.cli.common import print_json, progress
from tabiya.errors import UserError

if TYPE_CHECKING:
    from tabiya.bench.inputs import Inputs


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "names",
        nargs="*",
        metavar="NAME",
        help="which paths: legal, perft, planes, tokens, pack, fen, san, extract (default: all)",
    )
    parser.add_argument(
        "--positions", type=int, default=2000, metavar="N", help="positions to work on (2000)"
    )
    parser.add_argument("--pgn", metavar="FILE", help="take them from a PGN file instead of random games")
    parser.add_argument("--repeat", type=int, default=5, metavar="N", help="timings of each, in turn (5)")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="seed of the random games (1)")
    parser.add_argument("--out", metavar="DIR", help="also write the figures to DIR/bench.json")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")


def run(args: argparse.Namespace) -> int:
    for option in ("positions", "repeat"):
        if getattr(args, option) < 1:
            raise UserError(f"--{option} must be at least 1, got {getattr(args, option)}")
    from tabiya.bench.paths import PATHS

    for name in args.names:
        if name not in PATHS:
            close = difflib.get_close_matches(name, PATHS, n=1)
            hint = f"did you mean {close[0]!r}?" if close else f"there are {', '.join(PATHS)}"
            raise UserError(f"unknown bench {name!r}, {hint}")
    report = _measured(args, list(dict.fromkeys(args.names)) or list(PATHS))
    if args.out:
        _write(Path(args.out), report)
    if args.json:
        print_json(report)
    else:
        _show(report)
    return 0


def _measured(args: argparse.Namespace, names: list[str]) -> dict[str, Any]:
    from tabiya.bench.inputs import pgn_inputs, random_inputs
    from tabiya.bench.measure import measure
    from tabiya.bench.paths import PATHS

    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        inputs = (
            pgn_inputs(folder, Path(args.pgn), args.positions)
            if args.pgn
            else random_inputs(folder, args.positions, args.seed)
        )
        figures = []
        with progress("bench", len(names) * args.repeat) as meter:
            for name in names:
                meter.describe(f"bench {name}")
                figures.append(measure(PATHS[name][0](inputs), args.repeat, meter.advance).as_json())
        return _report(inputs, args, figures)


def _report(inputs: Inputs, args: argparse.Namespace, figures: list[Any]) -> dict[str, Any]:
    import chess

    from tabiya import __version__

    return {
        "input": inputs.source,
        "positions": len(inputs.packed),
        "repeat": args.repeat,
        "time": "of the processor, all threads together",
        "machine": {"processor": _processor(), "cores": os.cpu_count(), "system": platform.platform()},
        "versions": {
            "tabiya": __version__,
            "python-chess": chess.__version__,
            "python": platform.python_version(),
        },
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "paths": figures,
    }


def _processor() -> str:
    """The processor's name where Linux tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


def _write(folder: Path, report: dict[str, Any]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / "bench.json"
    temporary = target.with_name(f".bench.json.{os.getpid()}.part")
    try:
        temporary.write_text(json.dumps(report, ensure_ascii=False, indent=1) + "\n")
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)


def _show(report: dict[str, Any]) -> None:
    from tabiya.bench.paths import PATHS

    print(f"{report['positions']:,} positions from {report['input']}")
    print(f"each path timed {report['repeat']} times here and in python-chess, in turn\n")
    print(f"{'per second of one core':>24} {'python-chess':>14} {'ratio':>8}  {'spread':>13}")
    for path in report["paths"]:
        spread = f"{path['ratio_low']:,.0f} to {path['ratio_high']:,.0f}"
        print(
            f"{path['name']:8} {path['per_second']:>15,} {path['python_chess_per_second']:>14,} "
            f"{path['ratio']:>7,.0f}×  {spread:>13}   {path['unit']}: {PATHS[path['name']][1]}"
        )
