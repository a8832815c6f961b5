"""`tabiya lab lookahead`: activation patching on puzzles, resumed where it stopped."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tabiya.cli.common import add_on_argument, executor_of, print_json, progress
from tabiya.cli.lab_lens import device_of, write_pages
from tabiya.errors import UserError

if TYPE_CHECKING:
    from tabiya.scale.executor import Executor

OUT = "runs/lab-lookahead"
SAMPLED = 20
"""Puzzles drawn for each that is wanted: many are not solved, or over too soon."""


def add_arguments(parser: argparse.ArgumentParser, name: str) -> None:
    parser.add_argument(
        "networks",
        nargs="*",
        metavar="RUN",
        help="run folders or checkpoints of transformers (none: report only)",
    )
    parser.add_argument("--puzzles", metavar="FILE", help="puzzles in Lichess's columns")
    parser.add_argument("--max", type=int, default=500, metavar="N", help="puzzles to measure (500)")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="draws the puzzles (0)")
    parser.add_argument(
        "--judge-nodes",
        type=int,
        default=4000,
        metavar="N",
        help="nodes of the search that says whether a twin spoils the line (4000; 0: not asked)",
    )
    parser.add_argument("--out", default=OUT, metavar="DIR", help=f"folder for records and report ({OUT})")
    parser.add_argument("--device", default="", metavar="NAME", help="cpu or cuda (cuda where there is one)")
    add_on_argument(parser)
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")


def run(args: argparse.Namespace) -> int:
    out = Path(args.out)
    if args.networks:
        with executor_of(args) as executor:
            _measure(args, out, executor)
    report = write_report(out)
    if args.json:
        print_json(report)
    else:
        print((out / "report.md").read_text(), end="")
        print(f"\nreport {out / 'report.md'}, figure {out / 'report.png'}, figures {out / 'report.json'}")
    return 0


def _measure(args: argparse.Namespace, out: Path, executor: Executor) -> None:
    device = device_of(args.device)
    from tabiya.arena.puzzles import load_puzzles
    from tabiya.files import hold_to_settings, replacing
    from tabiya.lens.lookahead import read_records
    from tabiya.minds.transformer.export import load_network
    from tabiya.minds.transformer.lens_workers import Patchers, measured

    if args.puzzles is None:
        raise UserError("which puzzles? --puzzles names a file in Lichess's columns")
    if args.max < 1:
        raise UserError(f"--max must be at least 1, got {args.max}")
    networks = [load_network(Path(each)) for each in args.networks]
    names = [
        _name(Path(each), network.shape.flipped)
        for each, (network, _, _) in zip(args.networks, networks, strict=True)
    ]
    if len(set(names)) < len(names):
        raise UserError(
            f"two networks would both be called {max(names, key=names.count)}: name other folders"
        )
    puzzles = load_puzzles(Path(args.puzzles), SAMPLED * args.max, args.seed).puzzles
    out.mkdir(parents=True, exist_ok=True)
    for name, (_, metadata, file) in zip(names, networks, strict=True):
        settings = {
            "puzzles": Path(args.puzzles).name,
            "seed": args.seed,
            "judge_nodes": args.judge_nodes,
            "checkpoint": file.name,
            "step": metadata.get("step"),
        }
        hold_to_settings(out / f"{name}.settings.json", settings)
        records = out / f"{name}.jsonl"
        before = read_records(records)
        # A line that was cut off must not stay in front of the next.
        with replacing(records) as part:
            part.write_text("".join(json.dumps(each) + "\n" for each in before))
        counted = sum("skipped" not in each for each in before)
        done = {each["puzzle"] for each in before}
        patchers = Patchers(file.absolute(), str(device), args.judge_nodes)
        with (
            executor.crew(patchers) as crew,
            progress(name, args.max, counted, "puzzles") as meter,
            records.open("a") as lines,
        ):
            for found in measured(crew, puzzles, args.max - counted, done, meter.advance):
                lines.write(json.dumps(found) + "\n")
                lines.flush()


def _name(where: Path, flipped: bool) -> str:
    folder = where if where.is_dir() else where.parent
    return f"{folder.resolve().name}-{'flipped' if flipped else 'unflipped'}"


def write_report(out: Path) -> dict[str, Any]:
    """The report of all records in a folder."""
    from tabiya.lens.lookahead import figure, markdown, read_records, summary

    files = sorted(out.glob("*.jsonl"))
    if not files:
        raise UserError(f"no records in {out}: name the run of a transformer, and --puzzles")
    found = {file.stem: summary(read_records(file)) for file in files}
    write_pages(out, found, markdown(found), figure(found), "effects of patching by layer")
    return found
