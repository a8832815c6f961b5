"""How faithfully one network answers as another does, in numbers of chess and not of tensors.

A network that was made smaller is compared with the one it was made from by
the moves it would play and by how far its probabilities have moved, over the
legal moves alone: logits of moves that cannot be played do not matter.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tabiya._core import legal_indices


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
    packed: NDArray[np.uint8], first: NDArray[np.float32], other: NDArray[np.float32]
) -> PolicyFidelity:
    """Compare policy logits [N, 4672] of packed positions [N, 32]."""
    offsets, indices = legal_indices(packed, "planes", "mover")
    positions, same, divergence = 0, 0, 0.0
    for row in range(len(packed)):
        legal = indices[offsets[row] : offsets[row + 1]]
        if not len(legal):
            continue
        ours, theirs = _log_softmax(first[row, legal]), _log_softmax(other[row, legal])
        positions += 1
        same += int(ours.argmax() == theirs.argmax())
        divergence += float((np.exp(ours) * (ours - theirs)).sum())
    return PolicyFidelity(positions, same, divergence / positions if positions else 0.0)


def _log_softmax(logits: NDArray[np.float32]) -> NDArray[np.float64]:
    wide = np.asarray(logits, np.float64)
    wide = wide - wide.max()
    return np.asarray(wide - np.log(np.exp(wide).sum()))
