"""What several commands share: verbs, limits from options, JSON, progress, how a program ends."""

from __future__ import annotations

import argparse
import importlib
import json
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

from tabiya.errors import UserError
from tabiya.player import Limit

if TYPE_CHECKING:
    from tabiya.scale.executor import Executor


def add_verbs(parser: argparse.ArgumentParser, command: str, verbs: Mapping[str, str]) -> None:
    """A command made of verbs: each is a module COMMAND_VERB of its own, here with what it does."""
    choices = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
    for verb, summary in verbs.items():
        module = importlib.import_module(f"tabiya.cli.{command}_{verb}")
        own = choices.add_parser(verb, help=summary, description=summary[0].upper() + summary[1:] + ".")
        module.add_arguments(own)
        own.set_defaults(run=module.run)


def run_verb(args: argparse.Namespace) -> int:
    """Do what the verb says."""
    return int(args.run(args))


def exit_code(work: Callable[[], object]) -> int:
    """Of a program of its own: 0 when the work is done, 2 when the user's mistake was told in a sentence."""
    try:
        work()
    except UserError as error:
        print(f"tabiya: {error}", file=sys.stderr)
        return 2
    return 0


def print_json(value: Any) -> None:
    """One JSON document on standard output."""
    print(json.dumps(value, ensure_ascii=False, indent=1))


def add_limit_arguments(parser: argparse.ArgumentParser) -> None:
    """--movetime, --nodes, --depth: the thought for one move."""
    parser.add_argument("--movetime", type=float, metavar="MS", help="milliseconds for a move")
    parser.add_argument("--nodes", type=int, metavar="N", help="positions to look at for a move")
    parser.add_argument("--depth", type=int, metavar="N", help="plies to look ahead")


def limit_from(args: argparse.Namespace, default: Limit | None = None) -> Limit:
    """The limit that --movetime, --nodes and --depth spell out; `default` if none is given."""
    if args.movetime is None and args.nodes is None and args.depth is None:
        return default or Limit(movetime=1.0)
    if args.movetime is not None and 0 <= args.movetime < 1:
        raise UserError(f"--movetime counts milliseconds, at least 1; {args.movetime:g} is less")
    try:
        return Limit(
            movetime=None if args.movetime is None else args.movetime / 1000,
            nodes=args.nodes,
            depth=args.depth,
        )
    except ValueError as error:
        raise UserError(str(error)) from error


def add_on_argument(parser: argparse.ArgumentParser) -> None:
    """--on: where work that fans out is carried out."""
    parser.add_argument(
        "--on",
        default="local",
        metavar="WHERE",
        help="local (this machine), ray, or ray:ADDRESS of a cluster, see docs/scaling.md (local)",
    )


def executor_of(args: argparse.Namespace) -> Executor:
    """The executor that --on names."""
    from tabiya.scale.choice import executor_from

    return executor_from(args.on)


class Meter(Protocol):
    """What a long job tells about itself."""

    def advance(self, amount: float = 1) -> None: ...
    def describe(self, text: str) -> None: ...


class _Silent:
    def advance(self, amount: float = 1) -> None:
        pass

    def describe(self, text: str) -> None:
        pass


class _Bar:
    def __init__(self, bar: Any, task: Any) -> None:
        self._bar, self._task = bar, task

    def advance(self, amount: float = 1) -> None:
        self._bar.advance(self._task, amount)

    def describe(self, text: str) -> None:
        self._bar.update(self._task, description=text)


@contextmanager
def progress(description: str, total: float | None, done: float = 0, unit: str = "") -> Iterator[Meter]:
    """A bar with rate and time left on standard error; nothing where that is no terminal."""
    if not sys.stderr.isatty():
        yield _Silent()
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
    from rich.text import Text

    class Rate(TextColumn):
        def render(self, task: Any) -> Text:
            return Text(f"{task.speed:,.0f} {unit}/s" if task.speed else "", style="cyan")

    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        Rate(""),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    ) as bar:
        yield _Bar(bar, bar.add_task(description, total=total, completed=int(done)))
