"""`tabiya move MIND FEN`: one decision of one player."""

from __future__ import annotations

import argparse
from typing import Any

from tabiya.cli.common import add_limit_arguments, limit_from, print_json
from tabiya.errors import UserError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "mind", metavar="MIND", help="the player, as in `turing` or `uci:/usr/games/stockfish`"
    )
    parser.add_argument("fen", nargs="+", metavar="FEN", help="the position, or `startpos`")
    parser.add_argument("--json", action="store_true", help="for programs")
    add_limit_arguments(parser)


def run(args: argparse.Namespace) -> int:
    from tabiya._core import Board
    from tabiya.roster import open_player

    # Quotes around a FEN are easily forgotten, and its six words mean nothing else here.
    text = " ".join(args.fen)
    try:
        board = Board(None if text == "startpos" else text)
    except ValueError as error:
        raise UserError(str(error)) from error
    if not board.legal_moves():
        raise UserError(f"there is no move in {text}: {(board.outcome() or ('', 'the game is over'))[1]}")
    limit = limit_from(args)
    with open_player(args.mind) as player:
        player.new_game()
        decision = player.play(board, limit)
    answer: dict[str, Any] = {
        "mind": args.mind,
        "fen": board.fen(),
        "move": decision.move,
        "san": board.san(decision.move),
        "wdl": None if decision.wdl is None else list(decision.wdl),
        "score": decision.score,
        "nodes": decision.nodes,
        "depth": decision.depth,
        "ms": round(1000 * decision.seconds, 1),
        "pv": list(decision.pv),
        "moves": [_candidate(each.move, each.p, each.score) for each in decision.moves],
        "wants": decision.wants,
    }
    if args.json:
        print_json(answer)
    else:
        _print(answer, board)
    return 0


def _candidate(move: str, p: float | None, score: float | None) -> dict[str, Any]:
    return {"move": move} | ({} if p is None else {"p": p}) | ({} if score is None else {"score": score})


def _print(answer: dict[str, Any], board: Any) -> None:
    print(f"{answer['san']}  ({answer['move']})")
    if answer["wdl"] is not None:
        win, draw, loss = (f"{100 * each:.1f} %" for each in answer["wdl"])
        print(f"  win {win}, draw {draw}, loss {loss}")
    if answer["score"] is not None:
        print(f"  {_shown(answer['score'])}")
    print(f"  {answer['nodes']:,} nodes, {answer['ms']:g} ms")
    for each in answer["moves"][:5]:
        worth = (
            f"{100 * each['p']:.1f} %" if "p" in each else _shown(each["score"]) if "score" in each else ""
        )
        print(f"  {board.san(each['move']):<8}{worth}")


def _shown(score: float) -> str:
    from tabiya.protocols.scores import mate_in

    mate = mate_in(score)
    return f"score {score / 100:+.2f}" if mate is None else f"mate in {mate}"
