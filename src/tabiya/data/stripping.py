"""Positions of games with one side robbed of its army: the won games that people never play to their end.

People resign. So a network that learned from their games hardly ever saw a king
almost alone against an army, and stalemates it: of 600 games of the transformer
against Stockfish's levels 59 ended so, each by its own move and with more men. Here
the army stands as it stood in a game, the other side keeps its king and now and
then a pawn, the king on any square.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from tabiya import _core
from tabiya.board.states import DRAWN

BARE = 0.6
"""Share of positions in which nothing but the king is left."""
KEPT = {"p": 0.4, "n": 0.1, "b": 0.1, "r": 0.1, "q": 0.05}
"""Where something is left: how likely a man of each kind stays."""
STRONG_TO_MOVE = 0.85
TRIES = 6
"""Positions made of one of a game; one in fifteen or so can be stalemated at once."""
RISKY = 1 / 3
"""Share, at the most, of positions with such a move among those that are kept."""


def stripped(packed: NDArray[np.uint8], chance: np.random.Generator) -> NDArray[np.uint8]:
    """As many positions as are given, made of them; a share has a move that throws the win away at once."""
    made = [fen for fen in _robbed(_core.unpack_fens(np.repeat(packed, TRIES, 0)), chance) if goes_on(fen)]
    if not made:
        return np.zeros((0, 32), np.uint8)
    found = _core.pack_fens(made)
    risky = _can_draw_at_once(found)
    dangers = chance.permutation(np.flatnonzero(risky))[: round(RISKY * len(packed))]
    others = chance.permutation(np.flatnonzero(~risky))[: len(packed) - len(dangers)]
    return np.ascontiguousarray(found[np.sort(np.concatenate([dangers, others]))])


def _can_draw_at_once(packed: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Where some move stalemates, or leaves too little to win with."""
    offsets, after, _ = _core.successors(packed)
    drawn = np.concatenate([[0], np.cumsum(_core.states(after) == DRAWN)])
    return np.asarray(drawn[offsets[1:]] > drawn[offsets[:-1]])


def _robbed(fens: Iterable[str], chance: np.random.Generator) -> Iterable[str]:
    for fen in fens:
        board = list(
            "".join("." * int(each) if each.isdigit() else each for each in fen.split()[0].replace("/", ""))
        )
        white_is_weak = bool(chance.integers(2))
        king = "K" if white_is_weak else "k"
        bare = chance.random() < BARE
        for square, man in enumerate(board):
            if man != "." and man.isupper() == white_is_weak:
                stays = not bare and chance.random() < KEPT.get(man.lower(), 0.0)
                board[square] = man if stays else "."
        empty = [square for square, man in enumerate(board) if man == "."]
        board[empty[chance.integers(len(empty))]] = king
        ranks = "/".join("".join(board[at : at + 8]).replace(".", "1") for at in range(0, 64, 8))
        strong_moves = chance.random() < STRONG_TO_MOVE
        yield f"{ranks} {'w' if strong_moves != white_is_weak else 'b'} - - 0 1"


def goes_on(fen: str) -> bool:
    """Whether the rules allow the position and the game is not over in it."""
    try:
        return _core.Board(fen).outcome() is None
    except ValueError:
        return False  # kings side by side, or the one that is not to move stands in check
