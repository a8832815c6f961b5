"""Endings out of chance, from which self-play begins where games between people end before.

People resign; so a network taught by their games has hardly seen a lone king,
and stalemates it. Here one side has a little more than the other, and both
have little: what has to be learned is how such a position is won, or held.
"""

from __future__ import annotations

import numpy as np

from tabiya.data.stripping import goes_on

ARMIES = ("Q", "R", "P", "PP", "QP", "RP", "RR", "QR", "BB", "BN", "BP", "NP", "QPP", "RPP", "RBP", "PPP")
"""What the stronger side may have beside its king."""
RESTS = ("", "", "", "P", "N", "B", "R", "PP", "RP", "BP")
"""What the other side may have; mostly nothing."""


def random_endings(count: int, seed: int) -> list[str]:
    """FENs of legal positions that are not over; either colour may be the stronger, and to move."""
    chance = np.random.default_rng(seed)
    found: list[str] = []
    while len(found) < count:
        fen = _set_up(chance)
        if goes_on(fen):
            found.append(fen)
    return found


def _set_up(chance: np.random.Generator) -> str:
    """Men on random squares, pawns on no last rank; it may break the rules."""
    strong, weak = "K" + str(chance.choice(ARMIES)), "k" + str(chance.choice(RESTS)).lower()
    men = strong + weak if chance.integers(2) else (strong + weak).swapcase()
    inner = chance.permutation(np.arange(8, 56))
    pawns = [man for man in men if man in "Pp"]
    board = [""] * 64
    for man, square in zip(pawns, inner, strict=False):
        board[square] = man
    free = chance.permutation([square for square in range(64) if not board[square]])
    for man, square in zip([man for man in men if man not in "Pp"], free, strict=False):
        board[square] = man
    ranks = ["".join(board[at] or "1" for at in range(8 * rank, 8 * rank + 8)) for rank in range(8)]
    return f"{'/'.join(ranks)} {'wb'[chance.integers(2)]} - - 0 1"
