"""A second, longer look at labelled positions: which move is best, and what it is worth.

Scoring every legal move costs a teacher thirty searches, so each is a short
one, and short ones miss things: the best of them loses as much against a long
look as the moves of a network that learned from them. One longer search of the
position itself costs a fifth of it and knows better what to play. A review
puts its verdict into the scores: the move it chose is worth what it found, and
the others keep their distances behind it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tabiya.data.labels import MoveLabels
from tabiya.data.scale import MOVE_MATE

OVERRULED = 30
"""Centipawns that the move which had looked best is put behind the one found better."""
LONGEST_MATE = 255
"""Scores within this of `MOVE_MATE` are mates, at a distance of so many moves."""


def reviewed(labels: MoveLabels, places: NDArray[np.int16], verdicts: NDArray[np.int16]) -> NDArray[np.int16]:
    """The labels' scores after a review.

    `places` says of each position which of its moves (in the order of the
    scores) was found best, −1 for none, `verdicts` what it is worth to the mover.
    """
    _, offsets, scores = labels
    counts = np.diff(offsets)
    row = np.repeat(np.arange(len(counts)), counts)
    wide = scores.astype(np.int32)
    some, seen = np.flatnonzero(counts), np.flatnonzero((places >= 0) & (counts > 0))
    top = np.zeros(len(counts), np.int32)
    if len(some):
        top[some] = np.maximum.reduceat(wide, offsets[some])
    chosen = offsets[:-1] + np.maximum(places, 0)
    verdict = verdicts.astype(np.int32)
    overruled = np.zeros(len(counts), np.bool_)
    overruled[seen] = wide[chosen[seen]] < top[seen]
    mate = (np.abs(verdict) >= MOVE_MATE - LONGEST_MATE) | (np.abs(top) >= MOVE_MATE - LONGEST_MATE)
    # Distances between mates and centipawns mean nothing: there a move is only kept below the best.
    behind = (verdict - np.where(overruled, OVERRULED, 0))[row] - (top[row] - wide)
    below = np.minimum(wide, verdict[row] - 1)
    new = np.where(mate[row], below, behind)
    largest = MOVE_MATE - LONGEST_MATE - 1
    new = np.where(mate[row], np.clip(new, -MOVE_MATE, MOVE_MATE), np.clip(new, -largest, largest))
    new[chosen[seen]] = verdict[seen]
    untouched = np.ones(len(counts), np.bool_)
    untouched[seen] = False
    return np.where(untouched[row], wide, new).astype(np.int16)
