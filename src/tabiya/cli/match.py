"""`tabiya match A B`: N games between two players, and what they prove."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tabiya.cli.arena_options import DEFAULT_OUT, add_arena_arguments, plan_from
from tabiya.cli.common import executor_of, print_json
from tabiya.cli.games_meter import games_meter

if TYPE_CHECKING:
    from tabiya.arena.match import MatchStatus


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("first", metavar="A", help="a player, such as turing or uci:/usr/games/stockfish")
    parser.add_argument("second", metavar="B", help="its opponent")
    add_arena_arguments(parser, "games, as pairs with both colours on each opening")
    parser.add_argument("--sprt", metavar="ELO0,ELO1[,ALPHA,BETA]", help="stop when this test decides")
    parser.add_argument("--normalized", action="store_true", help="the test's bounds are normalized Elo")


def run(args: argparse.Namespace) -> int:
    from tabiya.arena.match import match_settings, run_match
    from tabiya.arena.sprt import Sprt
    from tabiya.roster import open_player

    sprt = Sprt.parse(args.sprt, "normalized" if args.normalized else "logistic") if args.sprt else None
    plan = plan_from(args, [args.first, args.second])
    folder = Path(args.out) if args.out else plan.folder(match_settings(plan, sprt), Path(DEFAULT_OUT))
    with executor_of(args) as executor, games_meter("match", plan.games, folder) as show:

        def watch(status: MatchStatus) -> None:
            score = status.score
            llr = "" if status.llr is None else f"  LLR {status.llr:+.2f}"
            show(status.games, f"+{score.wins} ={score.draws} -{score.losses}  {score.sentence()}{llr}")

        result = run_match(
            plan,
            folder,
            open_player,
            sprt=sprt,
            pgn=Path(args.pgn) if args.pgn else None,
            executor=executor,
            watch=watch,
        )
    if args.json:
        print_json(result)
    else:
        _print(result, folder)
    return 0


def _print(result: dict[str, Any], folder: Path) -> None:
    first, second = result["players"]
    print(f"{first} against {second}: {result['games']} games")
    print(score_lines(result))
    for name, kinds in result["faults"].items():
        print(f"  {name} lost by " + ", ".join(f"{kind} {count}" for kind, count in kinds.items()))
    print(f"  {result['verdict']}")
    print(f"  games {result['pgn']}, result {folder / 'result.json'}")


def score_lines(result: dict[str, Any]) -> str:
    """Wins, draws, losses, share, superiority, pairs and the test, for people."""
    low, high = ("no bound" if end is None else f"{end:+.0f}" for end in result["elo_95"])
    elo = "beyond measure" if result["elo"] is None else f"{result['elo']:+.0f}"
    lines = [
        f"  wins {result['wins']}, draws {result['draws']}, losses {result['losses']}, "
        f"score {100 * result['score_share']:.1f} %",
        f"  Elo {elo} (95 %: {low} to {high}), likelihood of superiority {100 * result['los']:.1f} %",
    ]
    if "pentanomial" in result:
        points = ("0", "½", "1", "1½", "2")
        counts = ", ".join(f"{p}: {n}" for p, n in zip(points, result["pentanomial"], strict=True))
        lines.append(f"  pairs by points {counts}")
    if "sprt" in result:
        test = result["sprt"]
        lines.append(
            f"  SPRT [{test['elo0']:g}, {test['elo1']:g}] {test['model']}: LLR {test['llr']:.2f} "
            f"of ({test['bounds'][0]:.2f}, {test['bounds'][1]:.2f}), {test['verdict']}"
        )
    return "\n".join(lines)
