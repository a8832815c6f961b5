"""`tabiya export check NETWORK --against OTHER`: is the smaller network still the same player?"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tabiya.cli.common import print_json, progress
from tabiya.errors import UserError

if TYPE_CHECKING:
    from tabiya.arena.match import MatchStatus
    from tabiya.searchless.player import SearchlessPlayer


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from tabiya.cli.export_files import NETWORK, add_match_arguments

    parser.add_argument("network", metavar="NETWORK", help=NETWORK)
    parser.add_argument("--against", metavar="OTHER", help="the network it is compared with")
    parser.add_argument(
        "--games", type=int, default=200, metavar="N", help="games between the two, 0 for none (200)"
    )
    parser.add_argument("--positions", type=int, default=1000, metavar="N", help="positions compared (1000)")
    parser.add_argument(
        "--positions-from",
        metavar="SOURCE",
        help="an extracted folder, .fen, .epd, .pgn or .moves (OTHER's own games)",
    )
    parser.add_argument("--threads", type=int, default=2, metavar="N", help="cores for a pass (2)")
    parser.add_argument("--runs", type=int, default=5, metavar="N", help="runs of the latency (5)")
    parser.add_argument("--passes", type=int, default=100, metavar="N", help="passes in each run (100)")
    add_match_arguments(parser)
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="for positions and openings (0)")
    parser.add_argument(
        "--out", type=Path, metavar="DIR", help="folder for check.json and the games, which go on if stopped"
    )
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")


def run(args: argparse.Namespace) -> int:
    from tabiya.arena.provenance import provenance
    from tabiya.cli.export_files import open_network, positions_for
    from tabiya.files import write_json
    from tabiya.searchless.comparison import agreement, latency

    for name, low in (("games", 0), ("positions", 1), ("runs", 1), ("passes", 1)):
        if getattr(args, name) < low:
            raise UserError(f"--{name} must be at least {low}, got {getattr(args, name)}")
    texts = [args.network] + ([args.against] if args.against else [])
    players = [open_network(text, args.threads) for text in texts]
    files = [described(text, player) for text, player in zip(texts, players, strict=True)]
    count = args.positions if args.against else min(args.positions, args.passes)
    packed = positions_for(players[-1], args.positions_from, count, args.seed, "positions")
    networks = [player.network for player in players]
    with progress("latency", args.runs) as meter:
        times = latency(
            networks, packed, threads=args.threads, runs=args.runs, passes=args.passes, done=meter.advance
        )
    figures: dict[str, Any] = {
        "kind": "export-check",
        "question": f"How does {texts[0]} compare with {texts[-1]}?" if args.against else "How fast is it?",
        "network": files[0] | times["networks"][0],
        "against": files[1] | times["networks"][1] if args.against else None,
        "latency": {key: value for key, value in times.items() if key != "networks"},
        "seed": args.seed,
        "positions_from": args.positions_from or f"own games of {files[-1]['name']}",
    }
    if args.against:
        with progress("agreement", len(packed), unit="positions") as meter:
            figures["agreement"] = agreement(players[0], players[1], packed, meter.advance)
        figures["match"] = play_match(args, players, files) if args.games else None
    figures |= provenance()
    if args.out is not None:
        write_json(args.out / "check.json", figures)
    if args.json:
        print_json(figures)
    else:
        _print(figures)
    return 0


def described(text: str, player: SearchlessPlayer[Any, Any]) -> dict[str, Any]:
    """The file that a name stands for: its own name without the folder, size, checksum."""
    from tabiya.files import checksum

    path = player.network.path
    return {"name": text, "file": path.name, "bytes": path.stat().st_size, "sha256": checksum(path)}


def play_match(
    args: argparse.Namespace, players: list[SearchlessPlayer[Any, Any]], files: list[dict[str, Any]]
) -> dict[str, Any]:
    """The games that `args` ask for between two players, and their figures."""
    from tabiya.arena.adjudication import Adjudication
    from tabiya.arena.campaign import Plan
    from tabiya.arena.game import GameRules, Pace
    from tabiya.arena.mass import run_mass_match
    from tabiya.cli.export_files import book_from

    names = ("network", "against")
    plan = Plan(
        players=names,
        games=args.games,
        rules=GameRules(pace=Pace(), adjudication=Adjudication(max_moves=args.max_moves)),
        book=book_from(args),
        seed=args.seed,
        question=f"What did {files[0]['name']} lose to {files[1]['name']}?",
    )
    seen = 0
    with _folder(args.out) as folder, progress("match", args.games) as meter:

        def watch(status: MatchStatus) -> None:
            nonlocal seen
            meter.describe(f"match  {status.score.sentence()}")
            meter.advance(status.games - seen)
            seen = status.games

        result = run_mass_match(
            plan,
            folder,
            dict(zip(names, players, strict=True)).__getitem__,
            identity={name: file["sha256"] for name, file in zip(names, files, strict=True)}
            | {"options": [file["name"].partition("?")[2] for file in files]},
            at_once=args.at_once,
            watch=watch,
        )
    if result["faults"]:
        raise UserError(f"games ended by a fault, so they say nothing of strength: {result['faults']}")
    kept = ("games", "wins", "draws", "losses", "score_share", "elo", "elo_95", "los", "pentanomial")
    return {key: result[key] for key in kept if key in result} | {
        "book": result["settings"]["book"],
        "max_moves": args.max_moves,
        "pgn": result["pgn"] if args.out is not None else None,
    }


@contextmanager
def _folder(out: Path | None) -> Iterator[Path]:
    """Where the games go: under --out, to stay, or nowhere that lasts."""
    if out is not None:
        yield out / "match"
        return
    with tempfile.TemporaryDirectory() as scratch:
        yield Path(scratch) / "match"


def _print(figures: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table

    rows = [figures["network"]] + ([figures["against"]] if figures["against"] else [])
    table = Table(box=None, header_style="bold")
    for column in ("network", "MB", "ms (median)", "ms (95 %)"):
        table.add_column(column, overflow="fold", justify="left" if column == "network" else "right")
    for row in rows:
        sizes = (f"{row['bytes'] / 1e6:.2f}", f"{row['median_ms']:.2f}", f"{row['p95_ms']:.2f}")
        table.add_row(row["name"], *sizes)
    Console(highlight=False).print(table)
    times = figures["latency"]
    print(f"  batch 1, {times['threads']} threads, {times['passes']} passes in {times['runs']} runs", end="")
    if "ratio" in times:
        low, high = times["ratio_range"]
        print(f", taking turns: {times['ratio']:.2f} of the other's time ({low:.2f} to {high:.2f})", end="")
    print()
    if found := figures.get("agreement"):
        low, high = found["same_choice_95"]
        print(
            f"  {found['positions']} positions: same move {100 * found['same_choice']:.1f} % "
            f"({100 * low:.1f} to {100 * high:.1f}), policy divergence {found['policy_divergence']:.5f}, "
            f"value apart by {found['value_difference']:.4f}"
        )
    if match := figures.get("match"):
        from tabiya.cli.match import score_lines

        print(f"  {match['games']} games")
        print(score_lines(match))
