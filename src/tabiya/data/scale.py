"""Centipawns to win probability and back, and nothing else.

A teacher speaks centipawns; every network here learns a win probability in
[0, 1] (a draw counts one half). This is the one file that knows the exchange
rate, so two minds taught by one label can be compared.

Three curves are at hand by name, all of the form 1 / (1 + e^(−cp / k)):

- "natural": k = 400, that is 56 % at 100 centipawns and 73 % at 400;
- "base10": 1 / (1 + 10^(−cp / 400)), k = 400 / ln 10, 64 % and 91 %;
- "fitted", the default: the k under which the results of real games are
  likeliest. docs/labels.md names the games and how to make the number again.

    >>> round(win_probability(100, "natural"), 2), round(win_probability(100, "base10"), 2)
    (0.56, 0.64)
    >>> round(centipawns(win_probability(100)))
    100
"""

from __future__ import annotations

import math
from typing import Any, TypeAlias, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tabiya.errors import UserError

VALUE_MATE = 10_000
"""Value labels write a mate in n as ±(VALUE_MATE − n)."""
MOVE_MATE = 30_000
"""Move labels write a mate in n as ±(MOVE_MATE − n)."""
LONGEST_MATE = 1_000
"""Mates in fewer moves than this are told from centipawns: no engine announces longer ones."""
UNLABELLED = 32_767
"""A value label that is not there."""

FITTED_SCALE = 193.0
"""`fit_scale` of Stockfish 15.1 at depth 5 on 8,434,428 plies of games between players of 2600 and more."""
DRAWS_AT_EQUALITY = 0.55
DRAW_FALL = 1.6
"""The draws of the same games: `DRAWS_AT_EQUALITY` × (4 p (1 − p)) ^ `DRAW_FALL` where p is expected."""
SCALES = {"natural": 400.0, "base10": 400.0 / math.log(10.0), "fitted": FITTED_SCALE}

Scale: TypeAlias = str | float
"""One of `SCALES` by name, or the k itself in centipawns."""


@overload
def win_probability(cp: float, scale: Scale = ...) -> float: ...
@overload
def win_probability(cp: NDArray[Any], scale: Scale = ...) -> NDArray[np.float64]: ...
def win_probability(cp: float | NDArray[Any], scale: Scale = "fitted") -> float | NDArray[np.float64]:
    """The expected score, in [0, 1], of the side from whose view `cp` is given.

    Mate scores do not pass through here; see `mate_probability` and `label_probability`.
    """
    # tanh, unlike 1 / (1 + exp), cannot overflow.
    half = np.asarray(cp, np.float64) * (0.5 / scale_value(scale))
    p = 0.5 + 0.5 * np.tanh(half)
    return p if isinstance(cp, np.ndarray) else float(p)


@overload
def centipawns(p: float, scale: Scale = ..., limit: float = ...) -> float: ...
@overload
def centipawns(p: NDArray[Any], scale: Scale = ..., limit: float = ...) -> NDArray[np.float64]: ...
def centipawns(
    p: float | NDArray[Any], scale: Scale = "fitted", limit: float = float(VALUE_MATE - LONGEST_MATE)
) -> float | NDArray[np.float64]:
    """The inverse of `win_probability`; certainty ends at ±`limit` instead of infinity."""
    share = np.asarray(p, np.float64)
    if not np.all((share >= 0) & (share <= 1)):
        raise ValueError("a win probability lies in [0, 1]")
    with np.errstate(divide="ignore"):
        cp = scale_value(scale) * (np.log(share) - np.log1p(-share))
    cp = np.clip(cp, -limit, limit)
    return cp if isinstance(p, np.ndarray) else float(cp)


def win_draw_loss(cp: float) -> tuple[float, float, float]:
    """The chances of the side from whose view `cp` is given; win and half the draw are `win_probability`.

    Draws are likeliest where the sides are equal. Mate scores do not pass through here.
    """
    expected = 0.5 + 0.5 * math.tanh(0.5 * cp / FITTED_SCALE)
    # A draw cannot be likelier than what it leaves to the expected score.
    draw = min(
        DRAWS_AT_EQUALITY * (4 * expected * (1 - expected)) ** DRAW_FALL, 2 * min(expected, 1 - expected)
    )
    return expected - draw / 2, draw, 1 - expected - draw / 2


def mate_probability(moves: int) -> float:
    """1 for the side that mates in `moves`; 0 for the side that is mated in −`moves`, or is mate (0)."""
    return 1.0 if moves > 0 else 0.0


def is_mate(labels: ArrayLike, mate: int = VALUE_MATE) -> NDArray[np.bool_]:
    """Which labels are mate scores; `mate` is VALUE_MATE or MOVE_MATE by the kind of label."""
    size = np.abs(np.asarray(labels, np.int32))
    return (size > mate - LONGEST_MATE) & (size <= mate)


def mate_in(label: int, mate: int = VALUE_MATE) -> int | None:
    """Moves to mate, negative for the side that is mated; None if the label is centipawns.

    A side that stands mated already (−`mate`) is mated in 0 moves.
    """
    if not mate - LONGEST_MATE < abs(label) <= mate:
        return None
    return mate - label if label > 0 else -(mate + label)


def label_probability(
    labels: NDArray[Any], mate: int = VALUE_MATE, scale: Scale = "fitted"
) -> NDArray[np.float64]:
    """Expected scores of raw labels, mates included; not-a-number where there is no label.

    The view stays the label's own: White's for value labels, the side to
    move's for move labels.
    """
    numbers = np.asarray(labels, np.int32)
    p = np.asarray(win_probability(numbers, scale))
    p = np.where(is_mate(numbers, mate), (numbers > 0).astype(np.float64), p)
    return np.where(numbers == UNLABELLED, np.nan, p)


def scale_value(scale: Scale) -> float:
    """The k of a named scale, or the number given."""
    if isinstance(scale, str):
        if scale not in SCALES:
            raise UserError(
                f"unknown scale {scale!r}; there are {', '.join(SCALES)}, or a number of centipawns"
            )
        return SCALES[scale]
    if not (scale > 0 and math.isfinite(scale)):
        raise UserError(f"a scale is a positive number of centipawns, got {scale}")
    return float(scale)


def fit_scale(cp: ArrayLike, results: ArrayLike) -> float:
    """The k under which `results` (1, ½ or 0 for the side of `cp`) are likeliest.

    Leave mates and missing labels out first. Maximises
    Σ r log p + (1 − r) log(1 − p) over 1/k by Newton's method; the sum is
    concave in 1/k, so the maximum is the only one. Scores that say nothing of
    the result, or that separate wins from losses perfectly, have no finite k
    and are refused.
    """
    score = np.asarray(cp, np.float64)
    result = np.asarray(results, np.float64)
    if score.shape != result.shape or score.size == 0:
        raise UserError(f"a scale is fitted to as many scores as results, got {score.size} and {result.size}")
    if not np.all((result >= 0) & (result <= 1)):
        raise UserError("results are 1, 0.5 or 0 for the side whose scores are given")
    # Equal scores are merged first: millions of plies hold a few thousand different ones.
    points, where = np.unique(score, return_inverse=True)
    games = np.bincount(where.ravel(), minlength=points.size).astype(np.float64)
    won = np.bincount(where.ravel(), weights=result.ravel(), minlength=points.size)
    inverse = 0.0
    for _ in range(200):
        p = np.asarray(win_probability(points, 1.0 / inverse)) if inverse > 0 else np.full(points.size, 0.5)
        slope = float(np.sum(points * (won - games * p)))
        curve = float(np.sum(points * points * games * p * (1 - p)))
        if (inverse == 0.0 and slope <= 0) or curve <= 0:
            break
        # A step never more than doubles 1/k: Newton overshoots where p is nearly 0 or 1.
        step = slope / curve
        step = max(step, -0.5 * inverse) if inverse > 0 else step
        step = min(step, inverse) if inverse > 0 else step
        inverse += step
        if abs(step) < 1e-12 * inverse:
            return 1.0 / inverse
    raise UserError("no scale fits: better scores must win more often, but not always")
