"""What one mind makes of a position, for the page that shows them side by side.

It is the mind's own `Decision`, as in any game, at its full strength: the page
has no second way to ask.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from starlette.requests import Request

from tabiya._core import Board
from tabiya.player import Decision
from tabiya.web import limits, wishes
from tabiya.web.catalogue import Choice, read_choice
from tabiya.web.game import expected_points, shown_decision
from tabiya.web.positions import asked_board
from tabiya.web.refusal import Refusal
from tabiya.web.seats import Seats

OPINION_SECONDS = 3.0
MOST_MOVES = 8
_ASK_AGAIN_SECONDS = 0.2

KNOWN = ("mind", "fen", "moves", "blank")


async def opinion(request: Request, seats: Seats, pools: dict[str, Path]) -> dict[str, Any]:
    """The answer to one request; if whoever asked goes away, the mind stops."""
    wish = await wishes.read_json(request)
    choice, board = read_question(wish, pools)
    thinking = asyncio.create_task(seats.think(choice, board, choice.limit(OPINION_SECONDS)))
    try:
        while not thinking.done():
            await asyncio.wait({thinking}, timeout=_ASK_AGAIN_SECONDS)
            if not thinking.done() and await request.is_disconnected():
                raise Refusal("nobody waits for this opinion any more")
        return shown_opinion(choice, board, thinking.result())
    finally:
        thinking.cancel()


def read_question(wish: dict[str, Any], pools: dict[str, Path]) -> tuple[Choice, Board]:
    """The mind and the position of a request, in which there must be something to play."""
    wishes.refuse_others(wish, KNOWN)
    choice = read_choice(wishes.table(wish, "mind") or {}, pools)
    board = asked_board(wish)
    outcome = board.outcome()
    if not board.legal_moves():
        raise Refusal(f"there is no move in this position: {outcome[1] if outcome else 'the game is over'}")
    if len(board.moves) >= limits.LONGEST_GAME:
        raise Refusal("this game is too long to be judged")
    return choice, board


def shown_opinion(choice: Choice, board: Board, decision: Decision) -> dict[str, Any]:
    """A decision with names for its moves; the best of them alone where there are many."""
    moves = [
        {"move": each.move, "san": board.san(each.move), "p": each.p, "score": each.score}
        for each in decision.moves[:MOST_MOVES]
    ]
    line, walk = [], board.copy()
    for move in decision.pv[:8]:
        if not walk.is_legal(move):
            break
        line.append(walk.san(move))
        walk.push(move)
    points = expected_points(decision)
    return shown_decision(decision) | {
        "mind": choice.mind.name,
        "title": choice.title,
        "fen": board.fen(),
        "san": board.san(decision.move),
        "moves": moves,
        "line": line,
        "points": None if points is None else round(points, 4),
    }
