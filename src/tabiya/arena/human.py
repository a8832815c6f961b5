"""Agreement with the moves that people played, whole and by their rating.

The positions are those of an extracted folder's held-out games, which no mind
trains on; the question is how often a player would have chosen the same move.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabiya._core import Board, code_to_uci
from tabiya.arena.evaluation import Advance, Examiner, mean, wilson
from tabiya.data.shards import RECORD, ShardFolder
from tabiya.errors import UserError

BAND = 200
"""Width of a rating band."""


@dataclass(frozen=True)
class HumanMoves:
    """Positions, the moves that were played in them (as codes), and the movers' ratings."""

    packed: NDArray[np.uint8]
    moves: NDArray[np.uint16]
    ratings: NDArray[np.uint16]
    """0 where it is not known."""

    def __len__(self) -> int:
        return len(self.packed)


def load_human_moves(folder: Path, count: int, seed: int = 0, from_ply: int = 10) -> HumanMoves:
    """A seeded sample of held-out positions, the first moves of games left out."""
    shards = [np.asarray(shard) for _, shard in ShardFolder.open(folder).shards("validation")]
    records = np.concatenate(shards) if shards else np.zeros(0, RECORD)
    records = records[records["ply"] >= from_ply]
    if not len(records):
        raise UserError(f"{folder} holds no position of held-out games after {from_ply} half-moves")
    rows = np.random.default_rng(seed).permutation(len(records))[:count]
    records = records[np.sort(rows)]
    black = (records["packed"][:, 24] & 1).astype(bool)
    ratings = np.where(black, records["black_elo"], records["white_elo"])
    return HumanMoves(np.ascontiguousarray(records["packed"]), np.ascontiguousarray(records["move"]), ratings)


def measure_human_moves(
    played: HumanMoves, examiner: Examiner, advance: Advance = lambda: None
) -> dict[str, Any]:
    """How often the player's move is the person's."""
    boards = (Board.from_packed(row.tobytes()) for row in played.packed)
    right = [
        float(decision is not None and decision.move == code_to_uci(int(move)))
        for move, decision in zip(played.moves, examiner.answers(boards, advance), strict=True)
    ]
    return {**agreement(played, np.array(right)), **examiner.figures()}


def agreement(played: HumanMoves, right: NDArray[np.float64]) -> dict[str, Any]:
    """The share of right choices, whole and by the mover's rating where that is known.

    A choice may be right in part: one of several equals.
    """
    bands: dict[int, list[float]] = defaultdict(list)
    for rating, hit in zip(played.ratings, right, strict=True):
        if rating:
            bands[int(rating) // BAND * BAND].append(float(hit))
    return {
        "positions": len(right),
        "top1": mean(right.tolist()),
        "top1_95": wilson(round(float(right.sum())), len(right)),
        "by_rating": [
            {"from": band, "to": band + BAND, "positions": len(hits), "top1": mean(hits)}
            for band, hits in sorted(bands.items())
        ],
    }
