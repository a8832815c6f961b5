"""`tabiya data label`: a teacher's verdict on every position."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from tabiya.cli.common import (
    add_limit_arguments,
    add_on_argument,
    executor_of,
    limit_from,
    print_json,
    progress,
)
from tabiya.errors import UserError
from tabiya.player import Limit

if TYPE_CHECKING:
    from tabiya.data.teaching import Teaching


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "source",
        nargs="+",
        help="an extracted folder, games (.pgn), positions (.fen, .epd) or move labels (.moves, .tsv); "
        "files may be compressed",
    )
    add_engine_arguments(parser)
    add_limit_arguments(parser)
    parser.add_argument("--all-moves", action="store_true", help="score every legal move, not the position")
    parser.add_argument(
        "--review",
        action="store_true",
        help="move labels: look for the best move again, by --nodes or --depth",
    )
    add_on_argument(parser)
    parser.add_argument("--out", metavar="DIR", help="where labels go (the folder's labels/, else here)")
    parser.add_argument("--max", type=int, metavar="N", help="label only the first N positions")
    parser.add_argument("--json", action="store_true", help="print the counts as JSON")


def add_engine_arguments(parser: argparse.ArgumentParser) -> None:
    """Which engine teaches, how it is set up, and how many of it are at work."""
    parser.add_argument(
        "--teacher",
        default="stockfish",
        metavar="CMD",
        help="a UCI engine, with arguments if it takes any (stockfish)",
    )
    parser.add_argument("--hash", type=int, metavar="MB", help="the teacher's Hash option")
    parser.add_argument(
        "--option", action="append", default=[], metavar="NAME=VALUE", help="a UCI option of the teacher"
    )
    parser.add_argument(
        "--workers",
        type=int,
        metavar="N",
        help="teachers at work at once (1, on a cluster one a core)",
    )


def teaching_of(
    args: argparse.Namespace,
    *,
    depth: int | None = None,
    nodes: int | None = None,
    all_moves: bool = False,
    line: int = 1,
    review: bool = False,
) -> Teaching:
    """Who teaches, as the arguments say; it thinks by `depth` or `nodes` where they set no limit."""
    from tabiya.data.teaching import Teaching

    command, *arguments = engine_words(args.teacher)
    limit = limit_from(args, Limit(depth=depth, nodes=nodes))
    return Teaching(
        command=command,
        arguments=tuple(arguments),
        options=_options(args),
        depth=limit.depth,
        nodes=limit.nodes,
        movetime=limit.movetime,
        all_moves=all_moves,
        line=line,
        review=review,
        workers=1 if args.workers is None else args.workers,
    )


def run(args: argparse.Namespace) -> int:
    from tabiya.data.label import LabelJob
    from tabiya.data.label_source import tasks_of
    from tabiya.data.teaching import Pupils

    teaching = teaching_of(args, depth=5, all_moves=args.all_moves, review=args.review)
    if args.max is not None and args.max < 1:
        raise UserError(f"--max must be at least 1, got {args.max}")
    tasks = [task for source in args.source for task in tasks_of(source, teaching.kind, args.out)]
    _refuse_doubles([str(task.target) for task in tasks])
    left, files = args.max, []
    with executor_of(args) as executor, executor.crew(Pupils(teaching), args.workers) as crew:
        for task in tasks:
            if left == 0:
                break
            with progress(f"reading {task.name}", None):
                job = LabelJob(task, teaching, left, crew)
            with progress(task.name, job.wanted, job.done, unit="positions") as meter:
                todo = job.wanted - job.done
                entries = job.run(meter.advance)
            left = None if left is None else left - job.wanted
            files.append({"file": str(task.target), "newly_labelled": todo, **entries})
            if not args.json:
                print(_line(files[-1]), flush=True)
    if args.json:
        total = {name: sum(file[name] for file in files) for name in ("positions", "labelled", "seconds")}
        print_json({**total, "files": files})
    return 0


def _line(entries: dict[str, Any]) -> str:
    rate = f", {entries['labelled'] / entries['seconds']:,.0f} a second" if entries["seconds"] >= 1 else ""
    return (
        f"{entries['file']}: {entries['labelled']:,} of {entries['positions']:,} positions "
        f"labelled by {entries['teacher']}{rate}"
    )


def engine_words(command: str) -> list[str]:
    """The engine's full path, also where Debian keeps it off the PATH, and its arguments."""
    from tabiya.protocols.engine_path import engine_command

    try:
        words = engine_command(command)
    except ValueError as error:
        raise UserError(f"--teacher {command!r} cannot be read: {error}") from None
    if words is None:
        raise UserError(f"no engine {command!r} found: install it, or name another with --teacher")
    return words


def _options(args: argparse.Namespace) -> dict[str, str]:
    options = {} if args.hash is None else {"Hash": str(args.hash)}
    for text in args.option:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise UserError(f"an engine option reads NAME=VALUE, got {text!r}")
        options[name.strip()] = value.strip()
    return options


def _refuse_doubles(targets: list[str]) -> None:
    for target in targets:
        if targets.count(target) > 1:
            raise UserError(f"two sources would be labelled into {target}: give each its own --out")
