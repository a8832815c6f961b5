"""`tabiya promote RUN_OR_FILE`: a new network replaces the shipped one if it wins, and only then."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tabiya.cli.common import print_json, progress
from tabiya.errors import UserError

if TYPE_CHECKING:
    from tabiya.arena.match import MatchStatus
    from tabiya.arena.sprt import Sprt

MOST_GAMES = 4000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from tabiya.cli.export_files import add_match_arguments

    parser.add_argument("candidate", type=Path, metavar="RUN_OR_FILE", help="a network, or a run's folder")
    parser.add_argument(
        "--games",
        type=int,
        metavar="MAX",
        help=f"at most so many games (what the book allows, up to {MOST_GAMES})",
    )
    parser.add_argument("--elo0", type=float, default=0.0, metavar="ELO", help="H0: ahead by no more (0)")
    parser.add_argument("--elo1", type=float, default=10.0, metavar="ELO", help="H1: ahead by this much (10)")
    add_match_arguments(parser)
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="for the openings (0)")
    parser.add_argument(
        "--force", metavar="REASON", help="replace it without a match; the reason goes into the manifest"
    )
    parser.add_argument(
        "--out", type=Path, metavar="DIR", help="folder for games and result (results/promote-…)"
    )
    parser.add_argument("--json", action="store_true", help="print the outcome as JSON")


def run(args: argparse.Namespace) -> int:
    """Exit code 0: promoted; 1: not, because the games did not show it to be stronger."""
    from tabiya.arena.sprt import Sprt
    from tabiya.files import checksum
    from tabiya.minds.resnet.onnx_network import OnnxNetwork
    from tabiya.minds.resnet.promotion import candidate_path, install, new_manifest, recover, shipped_path
    from tabiya.minds.resnet.shelf import SHIPPED

    if args.force is not None and not args.force.strip():
        raise UserError("--force needs a reason, for the manifest")
    if (told := recover(SHIPPED)) is not None:
        print(f"tabiya: {told}", file=sys.stderr)
    sprt = Sprt(elo0=args.elo0, elo1=args.elo1)
    candidate = candidate_path(args.candidate)
    OnnxNetwork(candidate)
    shipped = shipped_path(SHIPPED)
    sums = {"candidate": checksum(candidate)}
    if shipped is not None:
        sums["shipped"] = checksum(shipped)
        if sums["shipped"] == sums["candidate"]:
            raise UserError(f"{candidate} is the shipped network already")
    # Whatever the manifest lacks is said before hundreds of games, not after.
    new_manifest(candidate, {}, candidate.stem)
    outcome: dict[str, Any] = {"candidate": str(candidate), "replaces": sums.get("shipped")}
    if args.force is not None:
        outcome |= {"promoted": True, "forced": args.force}
        promotion: dict[str, Any] = {"forced": args.force, "replaced": sums.get("shipped")}
    elif shipped is None:
        outcome |= {"promoted": True, "verdict": "there was no network to beat"}
        promotion = {"verdict": outcome["verdict"]}
    else:
        result, folder = _match(args, candidate, shipped, sums, sprt)
        outcome |= {
            "promoted": result["sprt"]["verdict"] == "H1",
            "verdict": result["verdict"],
            "match": {key: result[key] for key in _FIGURES if key in result},
            "record": str(folder / "result.json"),
        }
        promotion = outcome["match"] | {"replaced": sums["shipped"], "record": outcome["record"]}
    if outcome["promoted"]:
        outcome["installed"] = str(install(candidate, promotion, SHIPPED))
    if args.json:
        print_json(outcome)
    else:
        _print(outcome)
    return 0 if outcome["promoted"] else 1


_FIGURES = ("games", "wins", "draws", "losses", "score_share", "pentanomial", "sprt", "faults")
"""What is kept of the match; not its Elo, which is no measurement where a test decided the end."""


def _match(
    args: argparse.Namespace, candidate: Path, shipped: Path, sums: dict[str, str], sprt: Sprt
) -> tuple[dict[str, Any], Path]:
    from tabiya.arena.adjudication import Adjudication
    from tabiya.arena.campaign import Plan
    from tabiya.arena.game import GameRules, Pace
    from tabiya.arena.mass import distinct_openings, run_mass_match
    from tabiya.cli.arena_options import DEFAULT_OUT
    from tabiya.cli.export_files import book_from, open_network

    book = book_from(args)
    games = args.games
    if games is None:
        games = 2 * len(distinct_openings(book, MOST_GAMES // 2, args.seed))
    plan = Plan(
        players=("candidate", "shipped"),
        games=games,
        rules=GameRules(pace=Pace(), adjudication=Adjudication(max_moves=args.max_moves)),
        book=book,
        seed=args.seed,
        question=f"Is {_short(candidate)} stronger than the shipped network?",
    )
    files = {"candidate": candidate, "shipped": shipped}
    name = f"promote-{sums['candidate'][:8]}-{sums['shipped'][:8]}"
    folder = args.out or Path(DEFAULT_OUT) / name
    seen = 0
    with progress("promotion", games) as meter:

        def watch(status: MatchStatus) -> None:
            nonlocal seen
            llr = "" if status.llr is None else f"  LLR {status.llr:+.2f}"
            meter.describe(f"promotion  {status.score.sentence()}{llr}")
            meter.advance(status.games - seen)
            seen = status.games

        try:
            result = run_mass_match(
                plan,
                folder,
                lambda player: open_network(str(files[player])),
                sprt=sprt,
                identity=sums,
                at_once=args.at_once,
                watch=watch,
            )
        except KeyboardInterrupt:
            if seen:
                print(f"tabiya: {seen} games are kept in {folder}; the same command goes on", file=sys.stderr)
            raise
    return result, folder


def _print(outcome: dict[str, Any]) -> None:
    if match := outcome.get("match"):
        low, high = match["sprt"]["bounds"]
        print(
            f"candidate against shipped: {match['games']} games, +{match['wins']} ={match['draws']} "
            f"-{match['losses']}, LLR {match['sprt']['llr']:.2f} of ({low:.2f}, {high:.2f})"
        )
        print(f"  {outcome['verdict']}")
        print(f"  result {outcome['record']}")
    if outcome["promoted"]:
        print(f"{outcome['candidate']} is now the shipped network {outcome['installed']}")
    else:
        print("the shipped network stays" + _next_step(outcome["match"]))


def _next_step(match: dict[str, Any]) -> str:
    if match["sprt"]["verdict"] == "continue":
        return ": the games did not decide, more of them might (a larger --book, more --games)"
    return ""


def _short(network: Path) -> str:
    """A network's file with its folder: enough to know it by, and the same on every machine."""
    return "/".join(network.parts[-2:])
