"""Which moves of a recorded game would bring an earlier position of it back.

A packed position does not know its history, but its game lies around it in the
shard. Without a capture or a pawn's move only one piece tells a position from
the one that a single move would make it, so two occupancies that differ on two
squares name the only move there can be; the few that do are then compared
square by square, and their moves looked up among the legal ones.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tabiya import _core

FARTHEST = 31
"""Half-moves that are looked back; what returns later than that is taken for new."""
_MOST_MOVES = 224
"""No position has as many."""


class Returning(NamedTuple):
    """One entry for each move that brings a position back."""

    rows: NDArray[np.int64]
    """Numbers of the records, ascending."""
    slots: NDArray[np.int64]
    """Which legal move it is, in the order of their UCI strings."""
    times: NDArray[np.int64]
    """How often the position stood before, at least 1."""


def returning(records: NDArray[np.void]) -> Returning:
    """The returning moves among records of one shard, in their order there.

    Only what the shard holds is seen: where positions of a game were left out,
    so are their returns.
    """
    packed = np.ascontiguousarray(records["packed"])
    count = len(packed)
    if count == 0:
        return Returning(*(np.zeros(0, np.int64) for _ in range(3)))
    occupied = packed[:, :8].copy().view("<u8")[:, 0]
    # Ascending within a shard: the games follow each other, and the plies in each.
    place = records["game"].astype(np.int64) << 16 | records["ply"]
    found: list[NDArray[np.int64]] = []
    for back in range(3, FARTHEST + 1, 2):
        now = np.flatnonzero(packed[:, 26] >= back)
        then = np.minimum(np.searchsorted(place, place[now] - back), count - 1)
        same = (place[then] == place[now] - back) & (then < now)
        now, then = now[same], then[same]
        differs = occupied[now] ^ occupied[then]
        two = _bits(differs) == 2
        two &= (_bits(differs & occupied[now]) == 1) & (_rights(packed[now]) == _rights(packed[then]))
        two &= packed[then, 25] == 255
        now, then = now[two], then[two]
        if len(now) == 0:
            continue
        before, wanted = _squares(packed[now]), _squares(packed[then])
        leaves = _lowest(occupied[now] & ~occupied[then])
        reaches = _lowest(occupied[then] & ~occupied[now])
        each = np.arange(len(now))
        after = before.copy()
        after[each, reaches] = before[each, leaves]
        after[each, leaves] = 0
        right = (after == wanted).all(1)
        found.append(np.stack([now, leaves | reaches << 6])[:, right])
    every = np.concatenate(found, 1) if found else np.zeros((2, 0), np.int64)
    pairs, times = np.unique(every, axis=1, return_counts=True)
    rows, codes = pairs
    legal = _core.legal_rows(np.ascontiguousarray(packed[rows]), "uci", "white", _MOST_MOVES)
    hit = (legal >= 0) & (_codes()[legal] == codes[:, None])
    possible = hit.any(1)
    return Returning(rows[possible], hit.argmax(1)[possible], times[possible])


def _codes() -> NDArray[np.int64]:
    """The code of each move of the UCI space."""
    return np.array([_core.uci_to_code(move) for move in _core.uci_moves()])


def _rights(packed: NDArray[np.uint8]) -> NDArray[np.uint8]:
    return np.asarray(packed[:, 24] >> 1)


def _squares(packed: NDArray[np.uint8]) -> NDArray[np.int16]:
    return _core.encode_tokens(packed, "white")[:, :64]


def _bits(numbers: NDArray[np.uint64]) -> NDArray[np.uint8]:
    bits = np.unpackbits(numbers.view(np.uint8).reshape(len(numbers), 8), axis=1)
    return np.asarray(bits.sum(1), np.uint8)


def _lowest(bits: NDArray[np.uint64]) -> NDArray[np.int64]:
    """The number of the one bit that is set in each."""
    return np.log2(bits.astype(np.float64)).astype(np.int64)
