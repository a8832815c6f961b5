"""How faithfully one network answers as another does, in numbers of chess and not of tensors.

A network that was made smaller is compared with the one it was made from by
the moves it would play and by how far its probabilities have moved, over the
legal moves alone: logits of moves that cannot be played do not matter.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tabiya._core import legal_indices
from tabiya.board.choice import log_softmax

if TYPE_CHECKING:
    from tabiya._core import Space, View


@dataclass(frozen=True)
class PolicyFidelity:
    """What became of a policy, over positions that have a move."""

    positions: int
    same_move: int
    """Positions whose likeliest move is the same."""
    divergence: float
    """Kullback-Leibler, in nats, of the other policy from the first, averaged; 0 where both are equal."""

    @property
    def same_share(self) -> float:
        return self.same_move / self.positions if self.positions else 1.0


def policy_fidelity(
    packed: NDArray[np.uint8],
    first: NDArray[np.float32],
    other: NDArray[np.float32],
    space: Space = "planes",
    view: View = "mover",
) -> PolicyFidelity:
    """Compare policy logits [N, size of the space] of packed positions [N, 32]."""
    offsets, indices = legal_indices(packed, space, view)
    rows = np.repeat(np.arange(len(packed)), np.diff(offsets))
    return legal_fidelity(offsets, first[rows, indices], other[rows, indices])


def legal_fidelity(
    offsets: NDArray[np.int64], first: NDArray[np.float32], other: NDArray[np.float32]
) -> PolicyFidelity:
    """The same for the logits of legal moves alone, those of row n from `offsets[n]` to `offsets[n + 1]`."""
    positions, same, divergence = 0, 0, 0.0
    for start, end in pairwise(offsets.tolist()):
        if start == end:
            continue
        ours, theirs = log_softmax(first[start:end]), log_softmax(other[start:end])
        positions += 1
        same += int(ours.argmax() == theirs.argmax())
        divergence += float((np.exp(ours) * (ours - theirs)).sum())
    return PolicyFidelity(positions, same, divergence / positions if positions else 0.0)
