"""Two ways to do one thing, timed side by side: the ratio and how far it wanders.

A speed depends on the machine and on the hour; a ratio of two speeds measured
in turn, in one run, much less. So each repeat times both, the order changing
every time, and the spread of the repeats is reported with the median. Time is
the processor's, summed over all threads: what one core of one's own would
need, whoever else uses the machine. Before any clock starts the two answers
must be equal, or the ratio would compare different work.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable
from dataclasses import dataclass
from time import process_time
from typing import Any

SHORTEST = 0.05
"""Seconds of the processor that one timing lasts at least; quicker work is done several times over."""


@dataclass(frozen=True)
class HotPath:
    """One piece of work, done here and in python-chess, on the same input."""

    name: str
    unit: str
    """What is counted: positions, leaves, moves, plies."""
    items: int
    """How many of them one call works through."""
    here: Callable[[], Any]
    python_chess: Callable[[], Any]
    same: Callable[[Any, Any], bool]
    """Whether the two answers say the same."""


@dataclass(frozen=True)
class Measurement:
    """The speeds of one path, in units per second of one core, one pair for each repeat."""

    name: str
    unit: str
    here: tuple[float, ...]
    python_chess: tuple[float, ...]

    @property
    def ratios(self) -> tuple[float, ...]:
        return tuple(ours / theirs for ours, theirs in zip(self.here, self.python_chess, strict=True))

    def as_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "unit": self.unit,
            "per_second": round(statistics.median(self.here)),
            "python_chess_per_second": round(statistics.median(self.python_chess)),
            "ratio": round(statistics.median(self.ratios), 1),
            "ratio_low": round(min(self.ratios), 1),
            "ratio_high": round(max(self.ratios), 1),
            "ratios": [round(ratio, 1) for ratio in self.ratios],
        }


def measure(path: HotPath, repeat: int, done: Callable[[], None] = lambda: None) -> Measurement:
    """Time both ways `repeat` times in turn; `done` is called after each repeat."""
    ways = {"here": path.here, "python_chess": path.python_chess}
    answers, loops = {}, {}
    for name, way in ways.items():
        start = process_time()
        answers[name] = way()
        loops[name] = max(1, math.ceil(SHORTEST / max(process_time() - start, 1e-6)))
    if not path.same(answers["here"], answers["python_chess"]):
        raise RuntimeError(f"bench {path.name}: the answer here is not python-chess's, so there is no ratio")
    speeds: dict[str, list[float]] = {name: [] for name in ways}
    for turn in range(repeat):
        for name in list(ways)[:: 1 if turn % 2 == 0 else -1]:
            start = process_time()
            for _ in range(loops[name]):
                ways[name]()
            speeds[name].append(path.items * loops[name] / (process_time() - start))
        done()
    return Measurement(path.name, path.unit, tuple(speeds["here"]), tuple(speeds["python_chess"]))
