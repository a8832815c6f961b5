"""`tabiya lab development`: the lens's measures over the checkpoints of a run, resumed where it stopped."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from tabiya.cli.common import print_json, progress
from tabiya.cli.lab_lens import device_of, write_pages
from tabiya.errors import UserError

OUT = "runs/lab-development"


def add_arguments(parser: argparse.ArgumentParser, name: str) -> None:
    parser.add_argument("run", metavar="RUN", help="run folder of a transformer, with its checkpoints")
    parser.add_argument("--puzzles", required=True, metavar="FILE", help="puzzles in Lichess's columns")
    parser.add_argument("--max", type=int, default=300, metavar="N", help="puzzles to be solved (300)")
    parser.add_argument("--patched", type=int, default=60, metavar="N", help="of which patched (60)")
    parser.add_argument(
        "--positions",
        type=int,
        default=100,
        metavar="N",
        help="puzzle positions whose pieces are blanked (100)",
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="draws the puzzles (0)")
    parser.add_argument("--out", default=OUT, metavar="DIR", help=f"folder for figures and report ({OUT})")
    parser.add_argument("--device", default="", metavar="NAME", help="cpu or cuda (cuda where there is one)")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")


def run(args: argparse.Namespace) -> int:
    device = device_of(args.device)
    import numpy as np

    from tabiya.arena.puzzles import load_puzzles
    from tabiya.files import hold_to_settings, replacing
    from tabiya.learn.checkpoint import checkpoint_step, checkpoints
    from tabiya.minds.transformer.export import load_network
    from tabiya.minds.transformer.lens_development import Development

    where, out = Path(args.run), Path(args.out)
    files = checkpoints(where)
    if not files:
        raise UserError(f"no checkpoint (step-….safetensors) in the folder {where}")
    for name in ("max", "patched", "positions"):
        if getattr(args, name) < 1:
            raise UserError(f"--{name} must be at least 1, got {getattr(args, name)}")
    puzzles = load_puzzles(Path(args.puzzles), args.max, args.seed).puzzles
    boards = [puzzle.solver_positions()[0][0] for puzzle in puzzles[: args.positions]]
    packed = np.frombuffer(b"".join(board.packed() for board in boards), np.uint8).reshape(-1, 32)
    settings = {
        "run": where.resolve().name,
        "puzzles": Path(args.puzzles).name,
        **{name: getattr(args, name) for name in ("max", "patched", "positions", "seed")},
    }
    hold_to_settings(out / "settings.json", settings)
    measures = Development(packed, puzzles, device, args.patched)
    with progress("checkpoints", len(files)) as meter:
        for file in files:
            step = checkpoint_step(file)
            target = out / f"step-{step:08}.json"
            if not target.exists():
                network, _, _ = load_network(file)
                row = {"step": step, **measures.measure(network)}
                with replacing(target) as part:
                    part.write_text(json.dumps(row) + "\n")
            meter.advance()
    rows = write_report(out, str(settings["run"]))
    if args.json:
        print_json(rows)
    else:
        print((out / "report.md").read_text(), end="")
        print(f"\nreport {out / 'report.md'}, figure {out / 'report.png'}")
    return 0


def write_report(out: Path, name: str) -> list[dict[str, Any]]:
    """The report of every checkpoint that was measured, also of those that are gone by now."""
    from tabiya.lens.development import figure, markdown

    rows = [json.loads(file.read_text()) for file in sorted(out.glob("step-*.json"))]
    write_pages(out, rows, markdown(name, rows), figure(rows), "measures over the steps")
    return rows
