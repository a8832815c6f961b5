"""`tabiya elo GAMES.pgn`: Elo, SPRT and ratings from games already played, by anyone."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tabiya.cli.arena_options import anchors_from
from tabiya.cli.common import print_json, progress
from tabiya.errors import UserError

if TYPE_CHECKING:
    from tabiya.arena.pgn_results import Findings


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("games", nargs="+", metavar="GAMES.pgn", help="PGN files, also .gz .bz2 .zst")
    parser.add_argument("--player", metavar="NAME", help="whose Elo; otherwise the first White's")
    parser.add_argument("--sprt", metavar="ELO0,ELO1[,ALPHA,BETA]", help="the state of a sequential test")
    parser.add_argument("--normalized", action="store_true", help="the test's bounds are normalized Elo")
    parser.add_argument(
        "--anchor",
        action="append",
        metavar="NAME=RATING",
        help="a known rating; may be given often",
    )
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")


def run(args: argparse.Namespace) -> int:
    from tabiya.arena.pgn_results import read_results

    size = sum(path.stat().st_size for path in map(Path, args.games))
    with progress("reading", size, unit="bytes") as meter:
        findings = read_results(args.games, meter.advance)
    if findings.skipped:
        print(
            f"tabiya: {findings.skipped} games left out, the first at {findings.first_skipped}",
            file=sys.stderr,
        )
    if not findings.games:
        raise UserError(f"no game in {', '.join(args.games)} has two players and a result")
    players = findings.players()
    anchors = anchors_from(args.anchor)
    if len(players) == 2 and not anchors:
        return _two(args, findings)
    if args.sprt or args.player:
        which = "--sprt" if args.sprt else "--player"
        raise UserError(f"{which} needs the games of 2 players and no anchors, these have {len(players)}")
    return _many(args, findings, anchors)


def _two(args: argparse.Namespace, findings: Findings) -> int:
    from tabiya.arena.match import verdict
    from tabiya.arena.sprt import Sprt
    from tabiya.arena.tally import score_of
    from tabiya.cli.match import score_lines

    first = args.player or findings.games[0].white
    if first not in findings.players():
        raise UserError(f"{first!r} is none of the players: {', '.join(findings.players())}")
    second = next(name for name in findings.players() if name != first)
    sprt = Sprt.parse(args.sprt, "normalized" if args.normalized else "logistic") if args.sprt else None
    score = score_of(first, findings.games)
    figures: dict[str, Any] = {"players": [first, second], **score.summary()}
    if sprt is not None:
        figures["sprt"] = sprt.summary(score)
    figures |= {
        "verdict": verdict(first, second, score, sprt),
        "skipped": findings.skipped,
        "pgn": args.games[0] if len(args.games) == 1 else args.games,
    }
    if args.json:
        print_json(figures)
    else:
        print(f"{first} against {second}: {score.games} games")
        print(score_lines(figures))
        print(f"  {figures['verdict']}")
    return 0


def _many(args: argparse.Namespace, findings: Findings, anchors: dict[str, float]) -> int:
    from tabiya.arena.tournament import find_anchors, rating_list
    from tabiya.cli.tournament import rating_lines

    ratings = rating_list(findings.games, find_anchors(anchors, findings.players())).summary()
    if args.json:
        print_json(
            {"games": len(findings.games), "skipped": findings.skipped, "ratings": ratings, "pgn": args.games}
        )
    else:
        print(f"{len(findings.games)} games")
        print(rating_lines(ratings))
    return 0
