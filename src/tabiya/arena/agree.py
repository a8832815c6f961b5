"""Agreement with a teacher that scored every legal move.

The labels hold a score for each move of a position. A player is measured by
how often it would play the teacher's best move, how alike the two rank all
moves, and how much expected score its choices give away in the teacher's eyes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tabiya._core import Board
from tabiya.arena.evaluation import Advance, Examiner, mean, sample, share, wilson
from tabiya.data.labels import MoveLabel, held_out, read_move_labels
from tabiya.data.scale import MOVE_MATE, label_probability
from tabiya.errors import UserError
from tabiya.player import Decision

TOPS = (1, 3, 5)
BLUNDER = 0.2
"""Expected score; a move that gives away more is a blunder."""


@dataclass(frozen=True)
class LabelledPosition:
    """A position with the teacher's score for each legal move."""

    packed: bytes
    scores: dict[str, int]


def load_labels(
    paths: Sequence[Path], count: int | None = None, seed: int = 0, unseen: bool = False
) -> list[LabelledPosition]:
    """A seeded sample of `count` positions over all the files; all of them for None.

    With `unseen`, only positions that no mind trains on (see `data.labels.held_out`).
    """
    positions = []
    for label in sample(_labels(paths, unseen), count, seed):
        moves = Board.from_packed(label.packed).legal_moves()
        if len(moves) != len(label.scores):
            fen = Board.from_packed(label.packed).fen()
            raise UserError(
                f"the labels hold {len(label.scores)} scores for the {len(moves)} legal moves of {fen}"
            )
        positions.append(LabelledPosition(label.packed, dict(zip(moves, label.scores, strict=True))))
    if not positions:
        files = ", ".join(map(str, paths))
        if unseen:
            raise UserError(
                f"no held-out position in {files} (one in a hundred is): --split all takes every one"
            )
        raise UserError(f"no labelled position in {files}")
    return positions


def _labels(paths: Sequence[Path], unseen: bool) -> Iterator[MoveLabel]:
    for path in paths:
        for label in read_move_labels(path):
            row = np.frombuffer(label.packed, np.uint8).reshape(1, -1)
            # A position without moves asks nothing.
            if label.scores and (not unseen or held_out(row)[0]):
                yield label


def measure_agreement(
    positions: Sequence[LabelledPosition], examiner: Examiner, advance: Advance = lambda: None
) -> dict[str, Any]:
    """Top-1, top-3, top-5, mean Kendall tau-b and mean loss of expected score against the teacher.

    A top-k is None if the player, anywhere, named fewer than k moves where
    there were more to name; tau is None if it anywhere ranked fewer than all
    moves. Else a player would be measured on its easy positions only.
    """
    hits = dict.fromkeys(TOPS, 0)
    named_enough = dict.fromkeys(TOPS, True)
    taus: list[float] = []
    ranked_all = True
    losses: list[float] = []
    boards = (Board.from_packed(position.packed) for position in positions)
    for position, decision in zip(positions, examiner.answers(boards, advance), strict=True):
        scores = position.scores
        if decision is None:
            losses.append(_loss(scores, None))
            continue
        ranking = ranked_moves(decision, scores)
        best = {move for move, score in scores.items() if score == max(scores.values())}
        for k in TOPS:
            hits[k] += not best.isdisjoint(ranking[:k])
            named_enough[k] &= len(ranking) >= min(k, len(scores))
        losses.append(_loss(scores, decision.move))
        opinion = opinions(decision, scores)
        if opinion is None:
            ranked_all = ranked_all and len(scores) < 2
        elif (tau := kendall_tau_b(list(opinion.values()), list(scores.values()))) is not None:
            taus.append(tau)
    count = len(positions)
    blunders = sum(loss > BLUNDER for loss in losses)
    return {
        "positions": count,
        **{f"top{k}": share(hits[k], count) if named_enough[k] else None for k in TOPS},
        "top1_95": wilson(hits[1], count),
        "kendall_tau": mean(taus) if ranked_all else None,
        "kendall_positions": len(taus) if ranked_all else 0,
        "score_loss": mean(losses),
        "blunders": share(blunders, count),
        "blunders_95": wilson(blunders, count),
        **examiner.figures(),
    }


def ranked_moves(decision: Decision, legal: dict[str, int]) -> list[str]:
    """The player's moves, best first: the one it chose, then its other candidates in their order."""
    named = [decision.move, *(candidate.move for candidate in decision.moves)]
    return [move for move in dict.fromkeys(named) if move in legal]


def opinions(decision: Decision, legal: dict[str, int]) -> dict[str, float] | None:
    """A number for each legal move, in the order of `legal`: probability, else score, else rank.

    None unless the player's candidates are all the legal moves.
    """
    candidates = {candidate.move: candidate for candidate in decision.moves}
    if any(move not in candidates for move in legal):
        return None
    for numbers in (
        {move: candidates[move].p for move in legal},
        {move: candidates[move].score for move in legal},
    ):
        known = {move: number for move, number in numbers.items() if number is not None}
        if len(known) == len(legal):
            return known
    order = list(candidates)
    return {move: -float(order.index(move)) for move in legal}


def kendall_tau_b(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Rank correlation in [-1, 1] that makes allowance for ties; None if either side ties everything."""
    x, y = np.asarray(first, np.float64), np.asarray(second, np.float64)
    pairs = np.triu_indices(len(x), 1)
    x_order = np.sign(x[pairs[0]] - x[pairs[1]])
    y_order = np.sign(y[pairs[0]] - y[pairs[1]])
    untied = np.count_nonzero(x_order) * np.count_nonzero(y_order)
    return float(np.sum(x_order * y_order) / np.sqrt(untied)) if untied else None


def _loss(scores: dict[str, int], move: str | None) -> float:
    """Expected score given away by a move; a player without an answer gives away all it could."""
    chances = label_probability(np.array(list(scores.values())), MOVE_MATE)
    chosen = chances.min() if move is None else chances[list(scores).index(move)]
    return float(chances.max() - chosen)
