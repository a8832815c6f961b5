"""`tabiya promote RUN_OR_FILE`: a new network replaces the shipped one if it wins, and only then.

A ResNet or a transformer answers at once, so hundreds of its games are played side by side; an
NNUE searches, so its games are those of `tabiya match`, at a fixed number of
nodes or on a clock.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tabiya.cli.common import print_json
from tabiya.cli.games_meter import games_meter
from tabiya.cli.network_kind import kind_of
from tabiya.errors import UserError

if TYPE_CHECKING:
    from tabiya.arena.books import Book
    from tabiya.arena.campaign import Plan
    from tabiya.arena.game import Pace
    from tabiya.arena.match import MatchStatus
    from tabiya.arena.sprt import Sprt
    from tabiya.learn.promotion import Shelf
    from tabiya.player import Player

MOST_GAMES = 4000
NODES = 5000
HASH = 16
"""Mebibytes: plenty for such searches, and quickly emptied before each game."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from tabiya.cli.export_files import add_match_arguments

    parser.add_argument(
        "candidate", type=Path, metavar="RUN_OR_FILE", help="a network (.onnx, .nnue), or a run's folder"
    )
    parser.add_argument(
        "--games",
        type=int,
        metavar="MAX",
        help=f"at most so many games (what the book allows, up to {MOST_GAMES})",
    )
    parser.add_argument("--elo0", type=float, default=0.0, metavar="ELO", help="H0: ahead by no more (0)")
    parser.add_argument("--elo1", type=float, default=10.0, metavar="ELO", help="H1: ahead by this much (10)")
    add_match_arguments(parser)
    searching = parser.add_argument_group("an NNUE, which searches")
    searching.add_argument("--nodes", type=int, metavar="N", help=f"for each move ({NODES})")
    searching.add_argument(
        "--tc", metavar="2+0.02", help="a clock instead, so that the speed of the network counts too"
    )
    searching.add_argument("--concurrency", type=int, default=1, metavar="N", help="games at once (1)")
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

    if args.force is not None and not args.force.strip():
        raise UserError("--force needs a reason, for the manifest")
    kind = kind_of(args.candidate)
    if kind not in (known := _minds()):
        raise UserError(
            f"{args.candidate} is a run of {kind}; networks of {', '.join(known)} can be promoted"
        )
    if kind != "nnue" and (args.nodes is not None or args.tc is not None):
        raise UserError(f"a {kind} does not search: --nodes and --tc are for an .nnue network")
    shelf, candidate_path = known[kind]
    if (told := shelf.recover()) is not None:
        print(f"tabiya: {told}", file=sys.stderr)
    sprt = Sprt(elo0=args.elo0, elo1=args.elo1)
    candidate = candidate_path(args.candidate)
    shelf.inputs(candidate)  # a file that is no network is refused here
    shipped = shelf.shipped()
    sums = {"candidate": checksum(candidate)}
    if shipped is not None:
        sums["shipped"] = checksum(shipped)
        if sums["shipped"] == sums["candidate"]:
            raise UserError(f"{candidate} is the shipped network already")
    # Whatever the manifest lacks is said before hundreds of games, not after.
    shelf.manifest(candidate, {}, candidate.stem)
    outcome: dict[str, Any] = {"candidate": str(candidate), "replaces": sums.get("shipped")}
    if args.force is not None:
        outcome |= {"promoted": True, "forced": args.force}
        promotion: dict[str, Any] = {"forced": args.force, "replaced": sums.get("shipped")}
    elif shipped is None:
        outcome |= {"promoted": True, "verdict": "there was no network to beat"}
        promotion = {"verdict": outcome["verdict"]}
    else:
        result, folder = _match(args, _Contest(kind, candidate, shipped, sums), sprt)
        outcome |= {
            "promoted": result["sprt"]["verdict"] == "H1",
            "verdict": result["verdict"],
            "match": {key: result[key] for key in _FIGURES if key in result},
            "record": str(folder / "result.json"),
        }
        if kind == "nnue":
            outcome["match"]["pace"] = result["settings"]["pace"]
        promotion = outcome["match"] | {"replaced": sums["shipped"], "record": outcome["record"]}
    if outcome["promoted"]:
        outcome["installed"] = str(shelf.install(candidate, promotion))
    if args.json:
        print_json(outcome)
    else:
        _print(outcome)
    return 0 if outcome["promoted"] else 1


_FIGURES = ("games", "wins", "draws", "losses", "score_share", "pentanomial", "sprt", "faults")
"""What is kept of the match; not its Elo, which is no measurement where a test decided the end."""


def _minds() -> dict[str, tuple[Shelf, Callable[[Path], Path]]]:
    """The minds whose networks are promoted: where the shipped one lies, and which file a path means."""
    from tabiya.minds.nnue import promotion as nnue
    from tabiya.minds.resnet import promotion as resnet
    from tabiya.minds.transformer import promotion as transformer

    return {
        "transformer": (transformer.shipped_shelf(), transformer.candidate_path),
        "resnet": (resnet.shipped_shelf(), resnet.candidate_path),
        "nnue": (nnue.shipped_shelf(), nnue.candidate_path),
    }


@dataclass(frozen=True)
class _Contest:
    """Two networks of one kind."""

    kind: str
    candidate: Path
    shipped: Path
    sums: dict[str, str]


def _match(args: argparse.Namespace, contest: _Contest, sprt: Sprt) -> tuple[dict[str, Any], Path]:
    from tabiya.arena.adjudication import Adjudication
    from tabiya.arena.campaign import Plan
    from tabiya.arena.game import GameRules
    from tabiya.arena.mass import distinct_openings
    from tabiya.cli.arena_options import DEFAULT_OUT
    from tabiya.cli.export_files import book_from

    book = book_from(args)
    games = args.games
    if games is None:
        games = 2 * len(distinct_openings(book, MOST_GAMES // 2, args.seed))
    plan = Plan(
        players=("candidate", "shipped"),
        games=games,
        rules=GameRules(pace=_pace(args, contest.kind), adjudication=Adjudication(max_moves=args.max_moves)),
        book=book,
        seed=args.seed,
        concurrency=args.concurrency,
        question=f"Is {_short(contest.candidate)} stronger than the shipped network?",
    )
    sums = contest.sums
    folder = args.out or Path(DEFAULT_OUT) / f"promote-{sums['candidate'][:8]}-{sums['shipped'][:8]}"
    with games_meter("promotion", games, folder) as show:

        def watch(status: MatchStatus) -> None:
            llr = "" if status.llr is None else f"  LLR {status.llr:+.2f}"
            show(status.games, f"promotion  {status.score.sentence()}{llr}")

        play = _searched if contest.kind == "nnue" else _side_by_side
        result = play(args, contest, plan, folder, sprt, watch)
    return result, folder


Watch = Callable[["MatchStatus"], None]


def _side_by_side(
    args: argparse.Namespace, contest: _Contest, plan: Plan, folder: Path, sprt: Sprt, watch: Watch
) -> dict[str, Any]:
    from tabiya.arena.mass import run_mass_match
    from tabiya.roster import open_player

    files = {"candidate": contest.candidate, "shipped": contest.shipped}
    return run_mass_match(
        plan,
        folder,
        lambda player: open_player(f"{contest.kind}:{files[player]}"),
        sprt=sprt,
        identity=contest.sums,
        at_once=args.at_once,
        watch=watch,
    )


def _searched(
    args: argparse.Namespace, contest: _Contest, plan: Plan, folder: Path, sprt: Sprt, watch: Watch
) -> dict[str, Any]:
    from tabiya.arena.match import run_match
    from tabiya.minds.nnue.player import NnuePlayer
    from tabiya.minds.nnue.settings import Settings

    # The checksums are in the names, so that games of other networks are not taken for theirs.
    files = {
        f"{role}-{contest.sums[role][:12]}": file
        for role, file in (("candidate", contest.candidate), ("shipped", contest.shipped))
    }

    def opened(player: str) -> Player:
        return NnuePlayer(files[player], Settings(hash=HASH), named=True)

    book = _without_repeats(plan.book)
    if plan.games > 2 * len(book):
        raise UserError(
            f"{plan.games} games need {(plan.games + 1) // 2} different openings, one for each pair, and "
            f"{book.path} has {len(book)}: give a larger book, or play at most {2 * len(book)} games"
        )
    plan = replace(plan, players=tuple(files), book=book)
    return run_match(plan, folder, opened, sprt=sprt, watch=watch)


def _without_repeats(book: Book) -> Book:
    """The book with one opening for each position: at fixed nodes a second game on it would be the same."""
    kept = {book.replay(entry).board().key(): entry for entry in reversed(book.entries)}
    return replace(book, entries=tuple(reversed(kept.values())))


def _pace(args: argparse.Namespace, kind: str) -> Pace:
    from tabiya.arena.game import Pace

    if kind != "nnue":
        return Pace()
    if args.tc is not None:
        return Pace.parse_clock(args.tc, nodes=args.nodes)
    if args.nodes is not None and args.nodes < 1:
        raise UserError(f"--nodes must be at least 1, got {args.nodes}")
    return Pace(nodes=args.nodes or NODES)


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
