"""From numbers for the legal moves to one of them: what draws at once, temperature, top-p.

Everything is done on the logarithms of probabilities over the legal moves
alone; an illegal move never comes this far.
"""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabiya._core import Board

FIFTY_MOVES = 100
"""Half-moves without a capture or a pawn's move after which a draw may be claimed."""

WORTH_SCALE = 0.04
"""How sharply a move's worth (a win probability) is told from another's: p ∝ e^(worth / WORTH_SCALE).

Four hundredths of a point make a move e times as likely.
"""

_REFUSED_SHARE = math.log(10)


def log_softmax(logits: NDArray[Any]) -> NDArray[np.float64]:
    """Logarithms of the probabilities of a vector of logits."""
    wide = np.asarray(logits, np.float64)
    wide = wide - wide.max()
    return np.asarray(wide - math.log(np.exp(wide).sum()))


def from_worth(worth: NDArray[np.float64]) -> NDArray[np.float64]:
    """Log-probabilities of moves of which only the win probabilities in [0, 1] are known."""
    return log_softmax(worth / WORTH_SCALE)


def tempered(log_p: NDArray[Any], known: NDArray[np.bool_], prior: float) -> NDArray[Any]:
    """Log-probabilities, a vector or row by row, that count in part among known moves; others as they are.

    What counts in part is the distance from the likeliest of the known.
    """
    if prior == 1.0:
        return log_p
    top = np.where(known, log_p, -np.inf).max(-1, keepdims=True)
    with np.errstate(invalid="ignore"):  # rows of which nothing is known: -inf less -inf
        return np.asarray(np.where(known, top + prior * (log_p - top), log_p))


def repeats(board: Board, moves: list[str], times: int) -> NDArray[np.bool_]:
    """Which moves bring about a position that stood `times` times or more, or let fifty moves pass.

    Asked of the game's record and the clock alone.
    """
    # A position cannot return sooner than four half-moves after the last irreversible one.
    if board.halfmove_clock < 3:
        return np.zeros(len(moves), np.bool_)
    last = board.halfmove_clock + 1 >= FIFTY_MOVES
    return np.array(
        [board.repetitions_after(move) >= times or (last and not _resets(board, move)) for move in moves],
        np.bool_,
    )


def draws(board: Board, moves: list[str]) -> NDArray[np.bool_]:
    """Which moves end the game drawn on the board: by stalemate, or with too few men for a mate.

    The rules' word on the move itself. Which moves mate is not asked.
    """
    return np.array([board.draws_after(move) for move in moves], np.bool_)


def _resets(board: Board, move: str) -> bool:
    """Whether the move is a capture or a pawn's."""
    return board.is_capture(move) or board.piece_at(move[:2]) in ("P", "p")


def refuse(log_p: NDArray[np.float64], refused: NDArray[np.bool_]) -> NDArray[np.float64]:
    """The refused moves put behind all others, in their own order among themselves.

    The likeliest of them gets a tenth of the probability of the least likely
    other move, unless it stood lower already. Where every move is refused,
    nothing changes.
    """
    if refused.all() or not refused.any():
        return log_p
    ceiling = log_p[~refused].min() - _REFUSED_SHARE
    drop = max(0.0, float(log_p[refused].max() - ceiling))
    return log_softmax(np.where(refused, log_p - drop, log_p))


def choose(log_p: NDArray[np.float64], temperature: float, top_p: float, chance: random.Random) -> int:
    """The index of one move: the likeliest at temperature 0, else one that is drawn.

    The temperature comes first; then the likeliest moves are kept until
    their sum reaches `top_p`, one of them at least.
    """
    if temperature == 0:
        return int(np.argmax(log_p))
    p = np.exp(log_softmax(log_p / temperature))
    order = np.argsort(-p, kind="stable")
    reached = np.cumsum(p[order])
    # Rounding must not let a sum of 0.9999999 drop or add a move.
    kept = order[: int(np.searchsorted(reached, top_p - 1e-12)) + 1]
    return int(chance.choices(kept.tolist(), weights=p[kept].tolist())[0])
