"""What a move is worth to a learner: a win probability that still tells one win from another.

By the fitted curve of `tabiya.data.scale` a rook up is 93 %, two queens up
99.9 % and a mate 100 %: whoever learns from that has no reason to take the
second queen, nor to mate. Worth is the mean of that curve and a much flatter
one, and a mate stands above every mere advantage, the nearer the higher. It is
½ where the probability is ½ and rises with it, so whoever asks only which of
two moves is better gets the same answer.

    >>> [round(float(worth(cp)), 3) for cp in (0, 100, 500, 1000)]
    [0.5, 0.576, 0.776, 0.863]
    >>> round(float(centipawns_of(worth(320))))
    320
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tabiya.data.scale import UNLABELLED, VALUE_MATE, is_mate, win_probability

FLAT_SCALE = 1000.0
"""The k of the flatter curve, in centipawns."""
LARGEST = 2500.0
"""Advantages beyond this many centipawns are worth the same."""
MATE_STEP = 0.002
"""What each further move to a mate costs, up to ten of them."""


def worth(cp: ArrayLike) -> NDArray[np.float64]:
    """The worth, in [0, 1], of an advantage in centipawns."""
    inside = np.clip(np.asarray(cp, np.float64), -LARGEST, LARGEST)
    return np.asarray((win_probability(inside) + win_probability(inside, FLAT_SCALE)) / 2)


def label_worth(labels: NDArray[Any], mate: int = VALUE_MATE) -> NDArray[np.float64]:
    """The worth of raw labels, mates included; not-a-number where there is no label."""
    numbers = np.asarray(labels, np.int32)
    moves = np.clip(mate - np.abs(numbers), 0, 10)
    win = 1.0 - MATE_STEP * moves
    known = np.where(is_mate(numbers, mate), np.where(numbers > 0, win, 1.0 - win), worth(numbers))
    return np.where(numbers == UNLABELLED, np.nan, known)


_CP = np.linspace(-LARGEST, LARGEST, 5001)
_WORTH = worth(_CP)


def centipawns_of(value: ArrayLike) -> NDArray[np.float64]:
    """The inverse of `worth`; certainty ends at ±`LARGEST`."""
    return np.asarray(np.interp(np.asarray(value, np.float64), _WORTH, _CP))
