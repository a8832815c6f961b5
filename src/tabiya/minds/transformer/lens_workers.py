"""The lens over many positions, cut into units: one network, loaded once by each worker, wherever it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from tabiya._core import Board, uci_to_code
from tabiya.arena.puzzles import Puzzle
from tabiya.lens.corruption import Judge
from tabiya.minds.transformer.export import load_network
from tabiya.minds.transformer.lens_lookahead import Lookahead
from tabiya.minds.transformer.lens_maps import Mapper
from tabiya.scale.executor import Crew, Worker


@dataclass(frozen=True)
class Position:
    """A position to make maps of."""

    number: int
    packed: NDArray[np.uint8]


@dataclass(frozen=True)
class Mapped:
    """What the network plays there, and what it looked at."""

    move: int
    """Its code."""
    squares: NDArray[np.float32]
    pairs: NDArray[np.float16]


class Cartographer(Worker[Position, Mapped]):
    """Makes maps."""

    def __init__(self, mapper: Mapper) -> None:
        self._mapper = mapper

    def answer(self, unit: Position) -> Mapped:
        found = self._mapper.measure(unit.packed)
        assert found.pairs is not None
        move = Board.from_packed(unit.packed.tobytes()).legal_moves()[found.chosen]
        return Mapped(uci_to_code(move), found.squares, found.pairs.astype(np.float16))


@dataclass(frozen=True)
class Cartographers:
    """Hires those who make maps with the network of a checkpoint."""

    checkpoint: Path
    device: str

    def __call__(self) -> Cartographer:
        network, _, _ = load_network(self.checkpoint)
        return Cartographer(Mapper(network, torch.device(self.device)))


@dataclass(frozen=True)
class Riddle:
    """A puzzle to be measured, with its place among the others."""

    number: int
    puzzle: Puzzle


class Patcher(Worker[Riddle, dict[str, Any]]):
    """Measures look-ahead."""

    def __init__(self, experiment: Lookahead) -> None:
        self._experiment = experiment

    def answer(self, unit: Riddle) -> dict[str, Any]:
        return self._experiment.measure(unit.puzzle)


@dataclass(frozen=True)
class Patchers:
    """Hires those who measure the look-ahead of a checkpoint's network."""

    checkpoint: Path
    device: str
    judge_nodes: int

    def __call__(self) -> Patcher:
        network, _, _ = load_network(self.checkpoint)
        judge = Judge(self.judge_nodes) if self.judge_nodes > 0 else None
        return Patcher(Lookahead(network, torch.device(self.device), judge))


def measured(
    crew: Crew[Riddle, dict[str, Any]],
    puzzles: Sequence[Puzzle],
    wanted: int,
    done: set[str],
    advance: Callable[[], None] = lambda: None,
) -> Iterator[dict[str, Any]]:
    """Records of puzzles not done yet, in their order, until `wanted` have been measured.

    Skipped ones are told too. Whoever has them all sends the crew home.
    """
    left = [puzzle for puzzle in puzzles if puzzle.name not in done]
    waiting: dict[int, dict[str, Any]] = {}
    due = count = 0
    if wanted < 1:
        return
    for riddle, record in crew.answers(Riddle(number, puzzle) for number, puzzle in enumerate(left)):
        waiting[riddle.number] = record
        while due in waiting:
            found = waiting.pop(due)
            due += 1
            if "skipped" not in found:
                count += 1
                advance()
            yield found
            if count >= wanted:
                return
