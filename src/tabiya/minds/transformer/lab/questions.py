"""What the networks of `implicit` are asked without games: puzzles, and the moves of people and of a teacher.

Every answer is kept, right or wrong, so that two networks can be compared
question by question: most of what makes a share uncertain is which questions
were drawn, and that is the same for both.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabiya._core import legal_indices, move_indices
from tabiya.arena.evaluation import Examiner, in_batches, wilson
from tabiya.arena.human import load_human_moves
from tabiya.arena.puzzles import PuzzleSet, attempt, puzzle_figures
from tabiya.data.labels import MoveLabels, held_out, join_move_labels, load_move_labels, select
from tabiya.errors import UserError
from tabiya.minds.transformer.onnx_network import OnnxTransformer
from tabiya.player import Limit, OpenPlayer
from tabiya.protocols.onnx_session import softmax

Advance = Callable[[], None]
BATCH = 256
_NORMAL_95 = 1.959963984540054


def ask_puzzles(puzzles: PuzzleSet, name: str, open_player: OpenPlayer, advance: Advance) -> dict[str, Any]:
    """The usual figures but for the themes, each puzzle's outcome, and how many moves each asks for."""
    with Examiner(name, open_player, Limit(nodes=1)) as examiner:
        tries = [one for batch in in_batches(puzzles.puzzles) for one in attempt(batch, examiner, advance)]
        figures = {**puzzle_figures(puzzles, tries), **examiner.figures()}
    del figures["by_theme"]
    lengths = [len(puzzle.moves) // 2 for puzzle in puzzles.puzzles]
    return figures | {"each": as_bits([one.solved for one in tries]), "lengths": lengths}


@dataclass(frozen=True)
class Questions:
    """Positions, and which moves are right in each: one that was played, or the teacher's best."""

    packed: NDArray[np.uint8]
    played: NDArray[np.uint16] | None = None
    """Codes of the moves that people chose."""
    labels: MoveLabels | None = None
    """The teacher's score of every move, of the same positions."""

    def __len__(self) -> int:
        return len(self.packed)

    def right(self, row: int, chosen: int, numbers: NDArray[np.int32], wanted: NDArray[np.int32]) -> bool:
        """Whether the choice, a place among the legal moves' `numbers`, is right."""
        if self.labels is None:
            return bool(numbers[chosen] == wanted[row])
        _, offsets, scores = self.labels
        own = scores[offsets[row] : offsets[row + 1]]
        return bool(own[chosen] == own.max())


def peoples_moves(folder: str, count: int, seed: int) -> Questions:
    """Moves of held-out games."""
    found = load_human_moves(Path(folder), count, seed)
    return Questions(found.packed, played=found.moves)


def teachers_moves(paths: str, count: int, seed: int) -> Questions:
    """Held-out positions in which a teacher scored every move."""
    every = join_move_labels(load_move_labels(Path(path)) for path in paths.split(":"))
    rows = np.flatnonzero(held_out(every[0]) & (np.diff(every[1]) > 0))
    if not len(rows):
        raise UserError(f"no held-out position in {paths} (one in a hundred is)")
    drawn = np.sort(np.random.default_rng(seed).permutation(rows)[:count])
    labels = select(every, drawn)
    return Questions(labels[0], labels=labels)


def ask_moves(questions: Questions, network: OnnxTransformer, advance: Advance) -> dict[str, Any]:
    """How often the likeliest legal move is right, and what illegal ones get when nothing is masked."""
    view = network.shape.view
    right: list[bool] = []
    outside: list[float] = []
    first_is_illegal: list[bool] = []
    wanted = np.zeros(len(questions), np.int32)
    if questions.played is not None:
        wanted = move_indices(questions.packed, questions.played, "uci", view)
    for start in range(0, len(questions), BATCH):
        packed = np.ascontiguousarray(questions.packed[start : start + BATCH])
        probability = softmax(network.evaluate(packed, ("policy",))["policy"])
        offsets, indices = legal_indices(packed, "uci", view)
        for row, p in enumerate(probability):
            numbers = indices[offsets[row] : offsets[row + 1]]
            right.append(questions.right(start + row, int(np.argmax(p[numbers])), numbers, wanted))
            outside.append(float(np.clip(1.0 - p[numbers].sum(), 0.0, 1.0)))
            first_is_illegal.append(int(np.argmax(p)) not in numbers)
            advance()
    count, hits, misses = len(right), sum(right), sum(first_is_illegal)
    mean = math.fsum(outside) / count
    reach = _NORMAL_95 * float(np.std(outside)) / math.sqrt(count)
    return {
        "positions": count,
        "top1": hits / count,
        "top1_95": wilson(hits, count),
        "illegal": mean,
        "illegal_95": [max(0.0, mean - reach), min(1.0, mean + reach)],
        "first_illegal": misses / count,
        "first_illegal_95": wilson(misses, count),
        "each": as_bits(right),
    }


def as_bits(outcomes: list[bool]) -> str:
    """Outcomes as a text of 0 and 1."""
    return "".join("1" if one else "0" for one in outcomes)


def from_bits(text: str) -> NDArray[np.float64]:
    return np.frombuffer(text.encode(), np.uint8).astype(np.float64) - ord("0")
