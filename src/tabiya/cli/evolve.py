"""`tabiya evolve POOL.conf`: gene pools, begun or gone on with."""

from __future__ import annotations

import argparse
from typing import Any

from tabiya.cli.common import add_on_argument, executor_of, print_json


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "config", metavar="POOL.conf", help="the pools' settings, such as configs/pool-small.conf"
    )
    parser.add_argument(
        "--out", metavar="DIR", help="folder of the gene pool file (where the command is given)"
    )
    parser.add_argument("--games", type=int, metavar="N", help="stop when N games have been played in all")
    parser.add_argument("--minutes", type=float, metavar="N", help="stop after N minutes of evolution in all")
    parser.add_argument("--concurrency", type=int, metavar="N", help="games at the same time")
    add_on_argument(parser)
    parser.add_argument("--every-round", action="store_true", help="print every round (not on a terminal)")
    parser.add_argument(
        "--json", action="store_true", help="print the last figures as JSON, and nothing else"
    )


def run(args: argparse.Namespace) -> int:
    import secrets
    import sys
    from dataclasses import asdict, replace
    from pathlib import Path

    from tabiya.errors import UserError
    from tabiya.minds.genetic.config import read_config
    from tabiya.minds.genetic.controls import KEYS, Controls
    from tabiya.minds.genetic.evolution import Evolution
    from tabiya.minds.genetic.view import PLAIN_INTERVAL, LiveView, PlainView

    config = read_config(Path(args.config))
    changes: dict[str, Any] = {}
    for option, key in (
        ("games", "maximum_games"),
        ("minutes", "maximum_minutes"),
        ("concurrency", "maximum_simultaneous_games"),
    ):
        value = getattr(args, option)
        if value is not None:
            if value <= 0:
                raise UserError(f"--{option} must be more than 0, got {value:g}")
            changes[key] = value
    config = replace(config, **changes)
    pool = Path(args.out or ".") / config.gene_pool_file
    with (
        executor_of(args) as executor,
        Evolution(pool, config, new_seed=secrets.randbelow(2**31), executor=executor) as evolution,
    ):
        try:
            with Controls() as controls:
                if args.json:
                    figures = evolution.run(control=controls)
                elif sys.stdout.isatty():
                    with LiveView(config, config.gene_pool_file, KEYS) as view:
                        figures = evolution.run(view, controls)
                else:
                    interval = 0.0 if args.every_round else PLAIN_INTERVAL
                    plain = PlainView(config, config.gene_pool_file, interval)
                    figures = evolution.run(plain, controls)
        except KeyboardInterrupt:
            print(f"tabiya: stopped; `tabiya evolve {args.config}` goes on with {pool}", file=sys.stderr)
            return 130
    if args.json:
        print_json(asdict(figures))
        return 0
    rate = figures.games_this_run / figures.seconds_this_run if figures.seconds_this_run else 0.0
    print(
        f"{figures.games:,} games in {figures.turns:,} turns; in this run {figures.games_this_run:,} games, "
        f"{rate:.1f} a second"
    )
    print(f"the oldest survivor is {figures.oldest}: tabiya play human genetic:{pool}")
    return 0
