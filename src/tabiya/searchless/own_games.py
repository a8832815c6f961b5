"""Positions from a network's own games: what it will meet, when no other positions are at hand.

Each game begins with a few random moves and goes on with moves drawn from
the network's policy, so that games differ and blunders happen.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabiya._core import Board
from tabiya.player import Limit
from tabiya.searchless.player import SearchlessPlayer

RANDOM_PLIES = (2, 10)
LONGEST = 160
"""Half-moves after which a game is left."""
_FROM_A_GAME = 80  # so that endgames come too, however few positions are asked for


def own_positions(
    player: SearchlessPlayer[Any, Any],
    count: int,
    seed: int = 0,
    advance: Callable[[int], None] = lambda _positions: None,
) -> NDArray[np.uint8]:
    """`count` packed positions [count, 32], each before a move of the player's network.

    They follow from the network and the seed, whatever the player's own settings are.
    """
    player = type(player)(player.network, replace(player.usual, temperature=1.0, seed=seed % 2**31))
    chance = random.Random(seed)
    boards = [_opening(chance) for _ in range(max(1, count // _FROM_A_GAME))]
    rows: list[bytes] = []
    while len(rows) < count:
        boards = [board if _goes_on(board) else _opening(chance) for board in boards]
        for board, decision in zip(boards, player.play_batch(boards, Limit()), strict=True):
            rows.append(board.packed())
            board.push(decision.move)
        advance(len(boards))
    return np.frombuffer(b"".join(rows[:count]), np.uint8).reshape(-1, 32)


def _goes_on(board: Board) -> bool:
    return len(board.moves) < LONGEST and board.outcome() is None


def _opening(chance: random.Random) -> Board:
    while True:
        board = Board()
        for _ in range(chance.randint(*RANDOM_PLIES)):
            if board.outcome() is None:
                board.push(chance.choice(board.legal_moves()))
        if board.outcome() is None:
            return board
