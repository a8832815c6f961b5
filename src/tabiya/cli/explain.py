"""`tabiya explain MIND FEN`: why a mind plays what it plays, tested by interfering."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tabiya.cli.common import add_limit_arguments, limit_from, print_json, progress
from tabiya.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Callable

    from tabiya._core import Board
    from tabiya.lens.explain import Explanation

OUT = "explained"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "mind", metavar="MIND", help="the player, as in `resnet` or `uci:/usr/games/stockfish`"
    )
    parser.add_argument("fen", nargs="+", metavar="FEN", help="the position, or `startpos`")
    parser.add_argument(
        "--moves",
        nargs="+",
        default=[],
        metavar="MOVE",
        help="moves played from there, so that it has a past",
    )
    parser.add_argument(
        "--out",
        metavar="DIR",
        help=f"folder for the page, the picture and the JSON ({OUT}; none with --json)",
    )
    parser.add_argument(
        "--pairs",
        choices=("likely", "all", "none"),
        default="likely",
        help="pairs of squares to cut apart: among the heaviest, all 4,096 (a minute), or none",
    )
    parser.add_argument(
        "--layer", type=int, metavar="N", help="cut attention in this layer only, from 1 (all)"
    )
    parser.add_argument("--head", type=int, metavar="N", help="cut attention in this head only, from 1 (all)")
    parser.add_argument(
        "--not-renormalised",
        action="store_true",
        help="after a cut the weights that are left keep their size, instead of summing to one again",
    )
    parser.add_argument(
        "--patterns",
        metavar="DIR",
        help="a gallery of `tabiya lab patterns`: adds the position's cluster and its nearest examples",
    )
    parser.add_argument(
        "--speed", action="store_true", help="only measure how long the occlusion and all pairs take"
    )
    parser.add_argument("--json", action="store_true", help="print the JSON")
    add_limit_arguments(parser)


def run(args: argparse.Namespace) -> int:
    from tabiya.lens.explain import explain
    from tabiya.lens.interface import THOUGHT
    from tabiya.lens.page import write
    from tabiya.player import PlayerName
    from tabiya.roster import open_player

    if PlayerName.parse(args.mind).kind == "human":
        raise UserError("a person cannot be looked into; ask them")
    board = _board(" ".join(args.fen), args.moves)
    limit = limit_from(args, THOUGHT)
    with open_player(args.mind) as player:
        if args.speed:
            return _speed(player, board, limit, args.json)
        player.new_game()
        with progress("looking", None) as meter:
            found = explain(
                player,
                board,
                limit,
                pairs="all" if args.patterns else args.pairs,
                renormalise=not args.not_renormalised,
                layer=args.layer,
                head=args.head,
                tell=meter.describe,
            )
    if args.patterns:
        from tabiya.lens.gallery import maps_of, nearest_examples

        if found.pair_map is None:
            raise UserError(f"{player.name} has no attention to tell its patterns by")
        found.nearest = nearest_examples(Path(args.patterns), maps_of(board, found.occlusion, found.pair_map))
    out = args.out or (None if args.json else OUT)
    files = {} if out is None else write(found, Path(out))
    if args.json:
        print_json(
            found.shown() | ({"files": {kind: str(path) for kind, path in files.items()}} if files else {})
        )
    else:
        _print(found)
        print(f"\npage {files['html']}, picture {files['png']}, figures {files['json']}")
    return 0


def _board(fen: str, moves: list[str]) -> Board:
    from tabiya._core import Board

    try:
        board = Board(None if fen == "startpos" else fen)
        for move in moves:
            board.push(board.parse(move))
    except ValueError as error:
        raise UserError(str(error)) from error
    return board


def _print(found: Explanation) -> None:
    from tabiya.lens.words import dropped_named, line_named

    print(f"{found.mind}: {found.board.san(found.move)}  ({found.move})")
    line = line_named(found.board, found.line)
    if len(line) > 1:
        print(f"  it seems to consider {' '.join(line)}")
    for number, sentence in enumerate(found.sentences, 1):
        print(f"  {number}. {sentence.text}\n     [{sentence.intervention}]")
    print(f"  {dropped_named(found.dropped)}")
    for note in found.notes:
        print(f"  note: {note}")


def _speed(player: Any, board: Board, limit: Any, as_json: bool) -> int:
    """Seconds on the clock and of processors, after one look that is not counted."""
    import time
    from functools import partial

    from tabiya.lens.attention import ALL_PAIRS, pair_map
    from tabiya.lens.interface import AttentiveSubject, look_into
    from tabiya.lens.occlusion import occlude

    subject = look_into(player, board, limit)
    occlude(subject)
    jobs: dict[str, tuple[int, Callable[[], Any]]] = {
        "occlusion": (len(subject.parts), partial(occlude, subject))
    }
    if isinstance(subject, AttentiveSubject):
        jobs["pairs"] = (len(ALL_PAIRS), partial(pair_map, subject))
    figures: dict[str, Any] = {"mind": player.name}
    for name, (count, job) in jobs.items():
        began, worked = time.perf_counter(), time.process_time()
        job()
        figures[name] = {
            "interventions": count,
            "seconds": round(time.perf_counter() - began, 2),
            "processor_seconds": round(time.process_time() - worked, 2),
        }
    if as_json:
        print_json(figures)
    else:
        for name in jobs:
            each = figures[name]
            print(
                f"{name}: {each['interventions']:,} interventions in {each['seconds']:g} s "
                f"({each['processor_seconds']:g} s of processors)"
            )
    return 0
