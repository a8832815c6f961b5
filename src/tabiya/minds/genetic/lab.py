"""`tabiya lab pool FILE`: what a gene pool's run shows, in numbers and pictures."""

from __future__ import annotations

import argparse
import importlib.util
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tabiya.errors import UserError
from tabiya.files import write_json
from tabiya.minds.genetic import pool_files
from tabiya.minds.genetic.chronicle import PIECES, read_games, read_genes
from tabiya.minds.genetic.excerpt import write_excerpt
from tabiya.minds.genetic.family import GENERATIONS, draw, family_tree
from tabiya.minds.genetic.findings import findings
from tabiya.minds.genetic.lengths import fits
from tabiya.minds.genetic.world import World

_VERDICTS = {True: "shown", False: "not shown", None: "cannot tell"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("pool", metavar="FILE", help="a gene pool file, as `tabiya evolve` writes it")
    parser.add_argument("--out", metavar="DIR", help="folder of the report and its pictures (FILE_report)")
    parser.add_argument(
        "--family", type=int, metavar="ID", help="whose family tree to draw (the oldest survivor's)"
    )
    parser.add_argument(
        "--generations", type=int, default=GENERATIONS, metavar="N", help="rows of the family tree"
    )
    parser.add_argument(
        "--excerpt", metavar="FILE", help="write a small pool file for the page instead of a report"
    )
    parser.add_argument("--no-plots", action="store_true", help="numbers alone")
    parser.add_argument("--json", action="store_true", help="print the report as JSON")


def run(args: argparse.Namespace) -> int:
    pool = Path(args.pool)
    if args.generations < 1:
        raise UserError(f"--generations must be at least 1, got {args.generations}")
    if args.excerpt is not None:
        return _excerpt(pool, Path(args.excerpt), args)
    if not args.no_plots and importlib.util.find_spec("matplotlib") is None:
        raise UserError("the pictures need matplotlib: `pip install 'tabiya[plot]'`, or say --no-plots")
    out = Path(args.out) if args.out else pool.with_name(f"{pool.name}_report")
    found = report(pool, out, args.family, args.generations, pictures=not args.no_plots)
    if args.json:
        print(json.dumps(found, ensure_ascii=False, indent=1))
    else:
        _print(found, out)
    return 0


def _excerpt(pool: Path, out: Path, args: argparse.Namespace) -> int:
    made = write_excerpt(pool, out, args.generations)
    if args.json:
        print(json.dumps(made))
    else:
        print(f"{out}: {made['kept']:,} of {made['births']:,} genomes, {made['bytes'] / 1e6:.2f} MB")
    return 0


def report(
    pool: Path, out: Path, family: int | None = None, generations: int = GENERATIONS, *, pictures: bool = True
) -> dict[str, Any]:
    """Read the pool's files, write report.json and the pictures into `out`, and return the report."""
    games = read_games(pool)
    genes, living, born = read_genes(pool)
    tree = family_tree(pool, family, generations)
    lengths = fits(games.moves)
    found: dict[str, Any] = {
        "pool": str(pool),
        "games": len(games),
        "born": born,
        "sampled": len(genes.ids),
        "lengths": {"mean_moves": round(float(games.moves.mean()), 2), "fits": lengths},
        "endings": {name: int(games.ended_by(name).sum()) for name in games.names},
        "promotions": games.promotions,
        "strengths_of_the_living": {
            piece: round(float(living.values["Piece Strength Gene"][piece].mean()), 4) for piece in PIECES
        },
        "pools": _pools(pool),
        "findings": [asdict(finding) for finding in findings(games, genes, living)],
        "family": tree.to_json(),
    }
    out.mkdir(parents=True, exist_ok=True)
    if pictures:
        from tabiya.minds.genetic.figures import draw_all

        found["pictures"] = [*draw_all(out, games, genes, lengths), "family.png"]
        draw(tree, out / "family.png")
    write_json(out / "report.json", found)
    return found


def _pools(pool: Path) -> list[dict[str, Any]]:
    """Each pool's counts, and its strength by the lives of its best in the next pool."""
    state = pool_files.read_state(pool)
    if state is None:
        return []
    world = World.from_json(state["world"])
    return [
        {
            "games": each.games,
            "white_wins": each.white_wins,
            "black_wins": each.black_wins,
            "draws": each.draws,
            "new_blood": each.new_blood,
            "transfers": sum(transfer.origin == number for transfer in world.transfers),
            "strength": world.strength(number),
        }
        for number, each in enumerate(world.pools)
    ]


def _print(found: dict[str, Any], out: Path) -> None:
    print(f"{found['pool']}: {found['games']:,} games, {found['born']:,} genomes")
    lengths = found["lengths"]["fits"]
    if lengths["best"]:
        parts = ", ".join(
            f"{name} {lengths[name]['distance']:.3f}" for name in ("log-normal", "normal", "poisson")
        )
        print(f"game lengths fit {lengths['best']} best (distance: {parts})")
    for number, pool in enumerate(found["pools"]):
        if pool["strength"] is not None:
            print(
                f"pool {number}: its best survived {pool['strength']:.1f} games in the next pool on average"
            )
    for finding in found["findings"]:
        print(f"\n{finding['section']:<6} {_VERDICTS[finding['shown']]:<11} {finding['claim']}")
        for name, value in finding["numbers"].items():
            print(f"{'':18} {name.replace('_', ' ')}: {_told(value)}")
    print(f"\nreport and pictures in {out}")


def _told(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {each:g}" for name, each in value.items())
    if isinstance(value, list | tuple):
        return " ".join(str(each) for each in value)
    return str(value)
