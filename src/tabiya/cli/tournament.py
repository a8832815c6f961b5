"""`tabiya tournament A B C …`: everyone against everyone, and a rating list."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tabiya.cli.arena_options import DEFAULT_OUT, add_arena_arguments, anchors_from, plan_from
from tabiya.cli.common import executor_of, print_json
from tabiya.cli.games_meter import games_meter
from tabiya.errors import UserError

if TYPE_CHECKING:
    from tabiya.arena.ladder import LadderStatus
    from tabiya.arena.tournament import Form, TournamentStatus


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("players", nargs="*", metavar="PLAYER", help="two or more players")
    parser.add_argument(
        "--config", metavar="FILE", help="a list from a file, played until it is sharp enough"
    )
    add_arena_arguments(parser, "games of each pairing")
    parser.add_argument("--gauntlet", action="store_true", help="the first player against each of the others")
    parser.add_argument(
        "--anchor",
        action="append",
        metavar="NAME=RATING",
        help="a known rating; may be given often",
    )


def run(args: argparse.Namespace) -> int:
    if args.config is not None:
        return _run_list(args)
    from tabiya.arena.tournament import run_tournament, tournament_fixtures
    from tabiya.roster import open_player

    form: Form = "gauntlet" if args.gauntlet else "round-robin"
    anchors = anchors_from(args.anchor)
    plan = plan_from(args, args.players)
    settings = plan.settings("tournament", form=form)
    folder = Path(args.out) if args.out else plan.folder(settings, Path(DEFAULT_OUT))
    total = len(tournament_fixtures(len(args.players), args.games, form))
    with executor_of(args) as executor, games_meter("tournament", total, folder) as show:

        def watch(status: TournamentStatus) -> None:
            show(status.games, status.last)

        result = run_tournament(
            plan,
            folder,
            open_player,
            form=form,
            anchors=anchors,
            pgn=Path(args.pgn) if args.pgn else None,
            executor=executor,
            watch=watch,
        )
    return _show(result, folder, args.json)


def _run_list(args: argparse.Namespace) -> int:
    """`--config`: the players, the pace and the intervals come from a file."""
    from tabiya.arena.ladder import Contender, run_ladder
    from tabiya.cli.tournament_config import ListConfig
    from tabiya.learn.config import load_config
    from tabiya.roster import open_player

    if args.players or args.gauntlet or args.anchor or args.pgn:
        raise UserError("with --config the players and all about them stand in the file")
    config = load_config(args.config, ListConfig)
    options = config.options(args)
    plan = plan_from(options, [player.spec() for player in config.players])
    contenders = [
        Contender(
            name=one.name,
            within=one.within,
            anchor=one.anchor,
            guess=1500.0 if one.guess is None else one.guess,
            effort=one.effort,
        )
        for one in config.players
    ]
    aliases = {other: one.name for one in config.players for other in one.also}
    folder = Path(options.out)
    with executor_of(args) as executor, games_meter("rating list", None, folder, unit="games") as show:

        def watch(status: LadderStatus) -> None:
            show(status.games, f"{status.open} players to be known better, {status.last}")

        result = run_ladder(
            plan,
            contenders,
            folder,
            open_player,
            take=[Path(path) for path in config.take],
            aliases=aliases,
            executor=executor,
            watch=watch,
        )
    return _show(result, folder, args.json)


def _show(result: dict[str, Any], folder: Path, as_json: bool) -> int:
    if as_json:
        print_json(result)
        return 0
    print(f"{result['games']} games")
    print(rating_lines(result["ratings"]))
    print(_table(result["cross_table"]))
    if result["form"] == "ladder":
        print(f"  {result['verdict']}")
    print(f"  games {result['pgn']}, result {folder / 'result.json'}")
    return 0


def rating_lines(ratings: dict[str, Any]) -> str:
    """The rating list, for people."""
    width = max((len(player["name"]) for player in ratings["players"]), default=0)
    lines = []
    for place, player in enumerate(ratings["players"], 1):
        rating = "     ?" if player["rating"] is None else f"{player['rating']:6.0f}"
        low, high = ("no bound" if end is None else f"{end:.0f}" for end in player["rating_95"])
        interval = "anchor" if player["anchor"] else f"{low} to {high}"
        if player.get("as_if_free") is not None:
            interval = f"anchor, plays {player['as_if_free']:.0f}"
        spread = player["anchor_spread"]
        apart = f"  anchors say {spread[0]:.0f} to {spread[1]:.0f}" if spread and not player["anchor"] else ""
        lines.append(
            f"{place:3} {player['name']:<{width}} {rating}  {interval:<18} {player['games']:5} games "
            f"{100 * player['score_share']:5.1f} %{apart}"
        )
    low, high = ratings["white_advantage_95"]
    lines.append(f"  White's advantage {ratings['white_advantage']:.0f} Elo (95 %: {low:.0f} to {high:.0f})")
    lines += [f"  {note}" for note in ratings["notes"]]
    return "\n".join(lines)


def _table(table: dict[str, Any]) -> str:
    """Wins-losses-draws of each against each, by place."""
    lines = ["  wins-losses-draws against each place:"]
    for place, row in enumerate(table["rows"], 1):
        cells = " ".join(f"{cell or '·':>9}" for cell in row["against"])
        lines.append(f"{place:3} {row['points']:7.1f} {cells}")
    return "\n".join(lines)
