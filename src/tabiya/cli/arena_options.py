"""The options that `match` and `tournament` share, and the plan they make."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from tabiya.cli.common import add_limit_arguments, add_on_argument, limit_from
from tabiya.errors import UserError
from tabiya.player import Limit

if TYPE_CHECKING:
    from tabiya.arena.campaign import Plan
    from tabiya.arena.game import Pace

DEFAULT_OUT = "results"


def add_arena_arguments(parser: argparse.ArgumentParser, games: str) -> None:
    """Everything but the players; `games` says what --games counts."""
    parser.add_argument("--games", type=int, default=100, metavar="N", help=f"{games} (100)")
    parser.add_argument("--tc", metavar="10+0.1", help="a clock: seconds+increment, moves/seconds+increment")
    add_limit_arguments(parser)
    parser.add_argument("--margin", type=float, default=50, metavar="MS", help="grace for a clock (50)")
    parser.add_argument("--book", metavar="FILE", help="openings: .pgn, .epd or .fen, also .gz .bz2 .zst")
    parser.add_argument("--plies", type=int, default=16, metavar="N", help="half-moves from a PGN book (16)")
    parser.add_argument(
        "--concurrency", type=int, metavar="N", help="games at once (1, on a cluster one a core)"
    )
    add_on_argument(parser)
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="for openings and players (0)")
    parser.add_argument("--resign", metavar="CP,MOVES", help="end won games when both scores say so")
    parser.add_argument("--draw", metavar="CP,MOVES,FROM", help="end level games from that move on")
    parser.add_argument("--max-moves", type=int, metavar="N", help="longer games are draws")
    parser.add_argument("--syzygy", metavar="DIR", help="end games that these tables know")
    parser.add_argument(
        "--question", default="", metavar="TEXT", help="what they shall answer, for the record"
    )
    parser.add_argument("--expect", default="", metavar="TEXT", help="what you expect, for the record")
    parser.add_argument("--out", metavar="DIR", help=f"folder for games and result (one in {DEFAULT_OUT}/)")
    parser.add_argument("--pgn", metavar="FILE", help="where the games go (games.pgn in that folder)")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def plan_from(args: argparse.Namespace, players: list[str]) -> Plan:
    """The plan that the options spell out."""
    from tabiya.arena.adjudication import Adjudication, Tablebases
    from tabiya.arena.books import Book
    from tabiya.arena.campaign import Plan
    from tabiya.arena.game import GameRules

    resign = _numbers(args.resign, "--resign", ("CP", "MOVES"))
    draw = _numbers(args.draw, "--draw", ("CP", "MOVES", "FROM"))
    if args.margin < 0:
        raise UserError(f"--margin must not be negative, got {args.margin:g}")
    rules = GameRules(
        pace=_pace(args),
        margin=args.margin / 1000,
        adjudication=Adjudication(
            resign_score=resign[0] if resign else None,
            resign_moves=resign[1] if resign else 3,
            draw_score=draw[0] if draw else None,
            draw_moves=draw[1] if draw else 8,
            draw_from=draw[2] if draw else 40,
            max_moves=args.max_moves,
        ),
        tablebases=Tablebases(args.syzygy) if args.syzygy else None,
    )
    plan = Plan(
        players=tuple(players),
        games=args.games,
        rules=rules,
        book=Book.read(args.book, args.plies) if args.book else Book.built_in(),
        seed=args.seed,
        concurrency=args.concurrency,
        syzygy=args.syzygy,
        question=args.question,
        expected=args.expect,
    )
    if (args.games + 1) // 2 > len(plan.book):
        print(
            f"tabiya: the book has {len(plan.book)} openings for {(args.games + 1) // 2} pairs of games: "
            "some are played again, and players without chance in them will repeat their games",
            file=sys.stderr,
        )
    return plan


def _pace(args: argparse.Namespace) -> Pace:
    from tabiya.arena.game import Pace

    if args.tc is not None:
        if args.movetime is not None:
            raise UserError("--tc and --movetime exclude each other")
        return Pace.parse_clock(args.tc, nodes=args.nodes, depth=args.depth)
    limit = limit_from(args, Limit(movetime=0.1))
    return Pace(movetime=limit.movetime, nodes=limit.nodes, depth=limit.depth)


def _numbers(text: str | None, option: str, names: tuple[str, ...]) -> list[int]:
    if text is None:
        return []
    try:
        numbers = [int(part) for part in text.split(",")]
    except ValueError:
        numbers = []
    if len(numbers) != len(names):
        raise UserError(f"{option} reads {','.join(names)} in whole numbers, got {text!r}")
    return numbers


def anchors_from(texts: list[str] | None) -> dict[str, float]:
    """`NAME=RATING` from each --anchor; a name may hold further equal signs."""
    anchors: dict[str, float] = {}
    for text in texts or []:
        name, _, rating = text.rpartition("=")
        try:
            value = float(rating)
        except ValueError:
            value = float("nan")
        if not name or not abs(value) < 100_000:
            raise UserError(f"--anchor reads NAME=RATING, got {text!r}")
        if name in anchors:
            raise UserError(f"the anchor {name!r} is given twice")
        anchors[name] = value
    return anchors
