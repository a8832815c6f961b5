"""`tabiya eval`: strength without games, of one player or of several side by side."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

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
    from tabiya.arena.evaluation import Advance, Examiner

DEFAULT_LIMIT = Limit(nodes=10_000)
ENDGAMES = 1000
THEMES_SHOWN = 15
FAMILIES_SHOWN = 25

Figures = dict[str, Any]
Row = tuple[str, str]
ExaminerOf: TypeAlias = "Callable[[str, Limit], Examiner]"
"""Opens one who puts positions to a player, where the command was told to."""


@dataclass(frozen=True)
class Question:
    """What every player named is asked: read from files once, so that all get the same."""

    positions: int
    files: list[Path]
    measure: Callable[[Examiner, Advance], Figures]
    settings: dict[str, Any] = field(default_factory=dict)
    """What defines the question beside the common options; goes into the record."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    kinds = parser.add_subparsers(dest="what", required=True, metavar="puzzles|agree|endgames|openings|suite")

    puzzles = kinds.add_parser("puzzles", help="tactical puzzles in Lichess's columns")
    puzzles.add_argument("--puzzles", metavar="FILE", type=Path, help="CSV file, plain or .gz, .bz2, .zst")

    agree = kinds.add_parser("agree", help="agreement with a teacher that scored every legal move")
    agree.add_argument("--labels", metavar="FILE", type=Path, nargs="+", help="move labels, binary or text")
    agree.add_argument(
        "--split",
        choices=("validation", "all"),
        default="validation",
        help="only positions that no mind trains on (validation, one in a hundred), or all",
    )

    endgames = kinds.add_parser("endgames", help="against Syzygy tables, or beyond them against a teacher")
    endgames.add_argument("--syzygy", metavar="DIR", type=Path, help="folder of Syzygy tables")
    endgames.add_argument("--men", metavar="N,N", help="numbers of men (default: all the tables have)")
    endgames.add_argument(
        "--positions", metavar="FILE", type=Path, help="FEN or EPD list instead of random positions"
    )
    endgames.add_argument("--teacher", metavar="PLAYER", help="judge of what the tables do not reach")
    endgames.add_argument(
        "--teacher-nodes", metavar="N", type=int, default=100_000, help="the teacher's limit (default 100000)"
    )

    openings = kinds.add_parser("openings", help="agreement with masters' moves by opening")
    openings.add_argument(
        "--pgn", metavar="FILE", type=Path, nargs="+", help="masters' games, plain or compressed"
    )
    openings.add_argument("--eco", metavar="DIR", type=Path, help="folder of .tsv tables: eco, name, pgn")
    openings.add_argument(
        "--plies", metavar="N", type=int, default=20, help="half-moves of each game (default 20)"
    )

    suite = kinds.add_parser("suite", help="test positions in EPD with bm or am")
    suite.add_argument("--suite", metavar="FILE", type=Path, help="EPD file")

    for kind in (puzzles, agree, endgames, openings, suite):
        kind.add_argument("minds", metavar="MIND", nargs="+", help="players to be asked, by name")
        kind.add_argument("--max", metavar="N", type=int, help="a random sample of so many, by the seed")
        kind.add_argument("--seed", metavar="N", type=int, default=0, help="of the sample (default 0)")
        kind.add_argument("--concurrency", metavar="N", type=int, help="positions asked at a time (1)")
        add_on_argument(kind)
        kind.add_argument("--out", metavar="DIR", type=Path, help="write a record of each result here")
        kind.add_argument("--json", action="store_true", help="print the figures as JSON")
        add_limit_arguments(kind)


def run(args: argparse.Namespace) -> int:
    from tabiya.arena.evaluation import Examiner, limit_figures, write_record
    from tabiya.files import checksum
    from tabiya.roster import open_player

    limit = limit_from(args, DEFAULT_LIMIT)
    results: list[Figures] = []
    with ExitStack() as stack:
        # Every player is opened before any is measured: a misspelt name must not cost an hour.
        executor = stack.enter_context(executor_of(args))

        def examiner_of(mind: str, limit: Limit) -> Examiner:
            return stack.enter_context(Examiner(mind, open_player, limit, args.concurrency, executor))

        examiners = [examiner_of(mind, limit) for mind in args.minds]
        with progress(f"reading for {args.what}", None):
            question = _QUESTIONS[args.what](args, stack, examiner_of)
        for examiner in examiners:
            with progress(examiner.name, question.positions, unit="positions") as meter:
                figures = question.measure(examiner, meter.advance)
            results.append(
                {"player": examiner.name, "limit": limit_figures(limit), "seed": args.seed, **figures}
            )
            if args.out:
                record = {
                    "limit": limit_figures(limit),
                    "seed": args.seed,
                    "max": args.max,
                    **question.settings,
                    "files": [{"name": file.name, "sha256": checksum(file)} for file in question.files],
                    "figures": figures,
                }
                path = write_record(args.out, args.what, examiner.name, record)
                print(f"wrote {path}", file=sys.stderr)
    for result in results:
        _warn(result)
    if args.json:
        print_json(results[0] if len(results) == 1 else results)
    else:
        _print_table(args.what, results)
    return 0


# The questions --------------------------------------------------------------------------------------------


def _puzzles(args: argparse.Namespace, _stack: ExitStack, _examiner_of: ExaminerOf) -> Question:
    from tabiya.arena.puzzles import load_puzzles, measure_puzzles

    path = _given(args.puzzles, "--puzzles FILE, a puzzle file such as Lichess's lichess_db_puzzle.csv.zst")
    puzzles = load_puzzles(path, args.max, args.seed)
    return Question(
        puzzles.positions, [path], lambda examiner, advance: measure_puzzles(puzzles, examiner, advance)
    )


def _agree(args: argparse.Namespace, _stack: ExitStack, _examiner_of: ExaminerOf) -> Question:
    from tabiya.arena.agree import load_labels, measure_agreement

    paths = _given(args.labels, "--labels FILE, as written by `tabiya data label`")
    labels = load_labels(paths, args.max, args.seed, unseen=args.split == "validation")
    return Question(
        len(labels),
        paths,
        lambda examiner, advance: {**measure_agreement(labels, examiner, advance), "split": args.split},
    )


def _endgames(args: argparse.Namespace, stack: ExitStack, examiner_of: ExaminerOf) -> Question:
    from tabiya.arena.endgames import Tables, load_endgames, measure_endgames

    if args.syzygy and not args.syzygy.is_dir():
        raise UserError(f"--syzygy must name a folder of tables, {args.syzygy} is none")
    if args.teacher_nodes < 1:
        raise UserError(f"--teacher-nodes must be at least 1, got {args.teacher_nodes}")
    tables = Tables(args.syzygy) if args.syzygy else None
    if tables:
        stack.callback(tables.close)
    teacher = None
    if args.teacher:
        teacher = examiner_of(args.teacher, Limit(nodes=args.teacher_nodes))
    endgames = load_endgames(
        tables=tables,
        teacher=teacher,
        men=_numbers(args.men) if args.men else None,
        count=ENDGAMES if args.max is None else args.max,
        seed=args.seed,
        positions=args.positions,
    )
    return Question(
        len(endgames.positions),
        [args.positions] if args.positions else [],
        lambda examiner, advance: measure_endgames(endgames, examiner, teacher, advance),
        {
            "men": args.men,
            "teacher": args.teacher,
            "teacher_nodes": args.teacher_nodes if args.teacher else None,
        },
    )


def _openings(args: argparse.Namespace, _stack: ExitStack, _examiner_of: ExaminerOf) -> Question:
    from tabiya.arena.openings import load_eco, load_games, measure_openings

    paths = _given(args.pgn, "--pgn FILE, masters' games")
    folder = _given(args.eco, "--eco DIR, a folder of .tsv tables with the columns eco, name and pgn")
    openings = load_games(paths, load_eco(folder), args.plies, args.max, args.seed)
    return Question(
        openings.positions,
        [*paths, *sorted(folder.glob("*.tsv"))],
        lambda examiner, advance: measure_openings(openings, examiner, advance),
        {"plies": args.plies},
    )


def _suite(args: argparse.Namespace, _stack: ExitStack, _examiner_of: ExaminerOf) -> Question:
    from tabiya.arena.suite import load_suite, measure_suite

    path = _given(args.suite, "--suite FILE, test positions in EPD")
    suite = load_suite(path, args.max, args.seed)
    return Question(
        len(suite.positions), [path], lambda examiner, advance: measure_suite(suite, examiner, advance)
    )


_QUESTIONS: dict[str, Callable[[argparse.Namespace, ExitStack, ExaminerOf], Question]] = {
    "puzzles": _puzzles,
    "agree": _agree,
    "endgames": _endgames,
    "openings": _openings,
    "suite": _suite,
}


def _given(value: Any, what: str) -> Any:
    if not value:
        raise UserError(f"this evaluation needs {what}")
    return value


def _numbers(text: str) -> list[int]:
    try:
        return [int(word) for word in text.split(",")]
    except ValueError:
        raise UserError(f"--men takes numbers with commas between, such as 5,6,7, got {text!r}") from None


# What is shown --------------------------------------------------------------------------------------------


def _puzzle_rows(figures: Figures) -> Iterable[Row]:
    yield f"solved, of {figures['puzzles']}", _percent(figures["solved_share"], figures["solved_95"])
    yield (
        f"moves right, of {figures['moves']}",
        _percent(figures["moves_right_share"], figures["moves_right_95"]),
    )
    for band in figures["by_rating"]:
        name = f"rated {band['from']} to {band['to'] - 1} ({band['puzzles']})"
        yield name, _percent(band["solved_share"], band["solved_95"])
    for length in figures["by_length"]:
        name = f"{length['moves']} move{'s' if length['moves'] > 1 else ''} long ({length['puzzles']})"
        yield name, _percent(length["solved_share"], length["solved_95"])
    for theme in figures["by_theme"][:THEMES_SHOWN]:
        yield f"{theme['theme']} ({theme['puzzles']})", _percent(theme["solved_share"], theme["solved_95"])


def _agree_rows(figures: Figures) -> Iterable[Row]:
    yield (
        f"teacher's best move is first, of {figures['positions']}",
        _percent(figures["top1"], figures["top1_95"]),
    )
    yield "… among the first 3", _percent(figures["top3"])
    yield "… among the first 5", _percent(figures["top5"])
    yield "Kendall's tau-b", _number(figures["kendall_tau"])
    yield "expected score lost a move", _number(figures["score_loss"], 4)
    yield "moves that lose more than 0.2", _percent(figures["blunders"], figures["blunders_95"])


def _endgame_rows(figures: Figures) -> Iterable[Row]:
    for row in figures["by_men"]:
        taught = " (teacher)" if row["judge"] == "teacher" else ""
        men = f"{row['men']} men{taught}"
        yield f"{men}: value kept, of {row['positions']}", _percent(row["optimal_share"], row["optimal_95"])
        if row["dtz_optimal_share"] is not None:
            yield f"{men}: and best by DTZ", _percent(row["dtz_optimal_share"])
        yield f"{men}: value error", _number(row["value_error"])


def _opening_rows(figures: Figures) -> Iterable[Row]:
    yield f"masters' move, of {figures['positions']}", _opening(figures)
    for ply in figures["by_ply"]:
        if ply["ply"] in (1, 5, 10, 15) or ply["ply"] % 10 == 0:
            yield f"… at half-move {ply['ply']} ({ply['positions']})", _percent(ply["top1"])
    for family in figures["by_family"][:FAMILIES_SHOWN]:
        yield f"{family['eco']} {family['name']} ({family['games']} games)", _opening(family)


def _opening(figures: Figures) -> str:
    return f"{_percent(figures['top1'])}, depth {_number(figures['depth'], 1)}"


def _suite_rows(figures: Figures) -> Iterable[Row]:
    yield f"right, of {figures['positions']}", _percent(figures["share"], figures["share_95"])
    if figures["points"] is not None:
        yield (
            f"points, of {figures['points_possible']}",
            f"{figures['points']} ({figures['points_share']:.1%})",
        )
    for group in figures["by_group"]:
        yield f"{group['group']} ({group['positions']})", _percent(group["share"], group["share_95"])


_ROWS: dict[str, Callable[[Figures], Iterable[Row]]] = {
    "puzzles": _puzzle_rows,
    "agree": _agree_rows,
    "endgames": _endgame_rows,
    "openings": _opening_rows,
    "suite": _suite_rows,
}


def _percent(share: float | None, interval: list[float] | None = None) -> str:
    if share is None:
        return "–"
    around = f" ({100 * interval[0]:.0f}–{100 * interval[1]:.0f})" if interval else ""
    return f"{share:.1%}{around}"


def _number(value: float | None, digits: int = 3) -> str:
    return "–" if value is None else f"{value:.{digits}f}"


def _warn(figures: Figures) -> None:
    """Say on standard error what was left out, so that no figure looks rounder than it is."""
    samples: list[dict[str, str]] = next(
        (value for key, value in figures.items() if key.startswith("skipped_")), []
    )
    if figures.get("skipped"):
        first = f"{samples[0]['why']} ({samples[0]['where']})"
        print(f"tabiya: left out {figures['skipped']} of the input, the first: {first}", file=sys.stderr)
    if figures["failures"]:
        first = f"{figures['failed_on'][0]['why']} in {figures['failed_on'][0]['where']}"
        print(
            f"tabiya: {figures['player']} had no answer {figures['failures']} times, the first: {first}",
            file=sys.stderr,
        )


def _print_table(what: str, results: list[Figures]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(title=what, title_justify="left", header_style="bold")
    table.add_column("")
    columns = []
    for result in results:
        table.add_column(result["player"], justify="right")
        columns.append(dict(_ROWS[what](result)))
    for name in columns[0]:
        table.add_row(name, *(column.get(name, "–") for column in columns))
    if any(result.get("teacher") for result in results):
        teacher = results[0]["teacher"]
        limit = ", ".join(f"{name} {value}" for name, value in teacher["limit"].items())
        table.caption = f"teacher: {teacher['player']} at {limit}"
    Console().print(table)
