"""`tabiya data extract`: games to shards of positions."""

from __future__ import annotations

import argparse

from tabiya.cli.common import add_on_argument, executor_of, print_json, progress
from tabiya.errors import UserError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("games", nargs="+", help="PGN files, plain, .gz, .bz2 or .zst")
    parser.add_argument(
        "--out", required=True, metavar="DIR", help="folder for the shards and their manifest"
    )
    parser.add_argument(
        "--tiers",
        nargs="*",
        metavar="TIER",
        help="quality tiers NAME:LOW-HIGH[:SAMPLE[:WEIGHT[:MAX]]] by the lower rating; alone: elite, master, "
        "expert, strong",
    )
    parser.add_argument(
        "--buckets",
        action="store_true",
        help="rating buckets 1000-1500-2000-2500 by the average rating, games of 15 minutes or more",
    )
    parser.add_argument("--min-elo", type=int, metavar="N", help="both players rated at least N")
    parser.add_argument("--max-elo", type=int, metavar="N", help="both players rated at most N")
    parser.add_argument("--min-minutes", type=float, metavar="N", help="base time, where the game gives one")
    parser.add_argument("--from-ply", type=int, default=0, metavar="N", help="skip the first N half-moves")
    parser.add_argument("--one-per-game", action="store_true", help="one random position of each game")
    parser.add_argument("--sample", type=float, default=1.0, metavar="P", help="share of positions kept")
    parser.add_argument(
        "--wander",
        type=float,
        default=0.0,
        metavar="P",
        help="the share of them in which a move of chance is made first; nothing else is known of those (0)",
    )
    parser.add_argument(
        "--copies", type=int, default=0, metavar="N", help="keep at most N copies of a position"
    )
    parser.add_argument("--dedup", action="store_true", help="keep each position once (--copies 1)")
    parser.add_argument("--max", type=int, metavar="N", help="stop keeping after N positions")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="seed of all sampling (0)")
    parser.add_argument(
        "--puzzles", metavar="FILE", help="leave out this puzzle file's positions and those one ply from them"
    )
    parser.add_argument("--evals", metavar="DIR", help="value labels STEM.i16[.xz], one per ply of each file")
    parser.add_argument("--threads", type=int, metavar="N", help="threads that read one file (all cores)")
    add_on_argument(parser)
    parser.add_argument("--json", action="store_true", help="print the manifest as JSON")


def run(args: argparse.Namespace) -> int:
    from pathlib import Path

    from tabiya.data.extract import BUCKETS, TIERS, Extraction, Tier, extract

    if args.tiers is not None and args.buckets:
        raise UserError("--tiers and --buckets exclude each other")
    if args.dedup and args.copies not in (0, 1):
        raise UserError(f"--dedup keeps one copy, --copies {args.copies} more: choose one")
    if args.threads is not None and args.threads < 1:
        raise UserError(f"--threads must be at least 1, got {args.threads}")
    tiers: tuple[Tier, ...] = ()
    if args.buckets:
        tiers = BUCKETS
    elif args.tiers is not None:
        tiers = tuple(Tier.parse(text) for text in args.tiers) or TIERS
    min_minutes = 15.0 if args.buckets and args.min_minutes is None else args.min_minutes
    extraction = Extraction(
        tiers=tiers,
        rated_by="average" if args.buckets else "lower",
        min_elo=args.min_elo,
        max_elo=args.max_elo,
        min_minutes=min_minutes,
        from_ply=args.from_ply,
        one_per_game=args.one_per_game,
        sample=args.sample,
        wander=args.wander,
        copies=1 if args.dedup else args.copies,
        max_positions=args.max,
        seed=args.seed,
    )
    total = sum(Path(path).stat().st_size for path in args.games if Path(path).is_file())
    with executor_of(args) as executor, progress("extracting", total, unit="bytes") as meter:
        done: dict[Path, int] = {}

        def on_progress(path: Path, bytes_read: int, counts: dict[str, int]) -> None:
            meter.advance(bytes_read - done.get(path, 0))
            meter.describe(f"{path.name}, {counts.get('positions_kept', 0):,} positions")
            done[path] = bytes_read

        manifest = extract(
            args.games,
            args.out,
            extraction,
            puzzles=args.puzzles,
            evals=args.evals,
            threads=args.threads,
            executor=executor,
            on_progress=on_progress,
        )
    if args.json:
        print_json(manifest)
        return 0
    counts = manifest["counts"]
    train = sum(shard["train"] for shard in manifest["shards"])
    validation = sum(shard["validation"] for shard in manifest["shards"])
    print(
        f"{counts.get('games', 0):,} games, {counts.get('plies', 0):,} plies: "
        f"{train:,} positions to train on, {validation:,} for validation, in {manifest['seconds']:.1f} s"
    )
    for name, amount in sorted(counts.items()):
        if name not in ("games", "plies", "positions_kept") and amount:
            print(f"  {amount:>12,} {name.replace('_', ' ')}")
    for game in manifest["broken"][:10]:
        print(f"  broken: {game['file']}, line {game['line']}: {game['why']}")
    return 0
