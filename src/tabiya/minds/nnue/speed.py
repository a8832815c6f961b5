"""How fast a run trains: from rows on the device, from rows made ahead of it, and with nothing to feed.

All three come from one process, in turns, so that a busy machine slows them
alike. *Resident* and *streamed* are the two ways of `tabiya.minds.nnue.data`,
from samples in memory to the optimizer's step; *synthetic* is the same step on
one fixed batch. Reading the files and making the resident rows is timed apart.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from tabiya.learn.speed import positions_per_second
from tabiya.learn.stepper import Stepper
from tabiya.minds.nnue.data import Batch, Features, Feed
from tabiya.minds.nnue.training import NnueTraining, Run

WARM_STEPS = 20
"""Steps before the clock: compilers settle, and the step is captured."""


def measure(config: NnueTraining, steps: int | None = None, rounds: int = 3) -> dict[str, Any]:
    """Positions a second; nothing is kept of what was trained."""
    steps = steps or (300 if config.device == "cuda" else 10)
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        runs = {
            kind: Run(replace(config, keep_data=kind), Path(folder) / kind)
            for kind in ("resident", "streamed")
        }
        samples = runs["resident"].samples()
        read = time.perf_counter() - began
        features = Features(runs["resident"].network.features, samples)
        began = time.perf_counter()
        feeds: dict[str, Feed] = {kind: run.feed(samples, features) for kind, run in runs.items()}
        made = time.perf_counter() - began
        try:
            ways = {kind: _fed(run, feeds[kind]) for kind, run in runs.items()}
            fixed = _Fixed(feeds["resident"])
            ways["synthetic"] = _fed(Run(config, Path(folder) / "synthetic"), fixed)
            rates: dict[str, list[int]] = {kind: [] for kind in ways}
            positions, device = config.batch * config.loss.positions, torch.device(config.device)
            for step in ways.values():
                positions_per_second(step, WARM_STEPS, positions, device)
            for _ in range(rounds):
                for kind, step in ways.items():
                    rates[kind].append(round(positions_per_second(step, steps, positions, device)))
        finally:
            for feed in feeds.values():
                feed.close()
    count = sum(len(some) * some.packed.shape[1] for some in samples)
    return {
        "features": config.shape.features,
        "shape": [config.shape.l1, config.shape.l2, config.shape.extra, config.shape.buckets],
        "batch": config.batch,
        "steps": steps,
        "positions": count,
        "read_per_second": round(count / read),
        "rows_made_per_second": round(count / made),
        **{f"{kind}_per_second": found for kind, found in rates.items()},
    }


class _Fixed:
    """Hands out one batch for ever."""

    kind = "synthetic"

    def __init__(self, feed: Feed) -> None:
        self.counts = feed.counts
        self._batch = list(feed.take(feed.draw(0)))

    def draw(self, step: int) -> list[Tensor]:
        return []

    def take(self, drawn: list[Tensor]) -> Batch:
        return Batch(*self._batch)

    def close(self) -> None:
        self._batch = []


def _fed(run: Run, feed: Feed) -> Callable[[], None]:
    stepper = Stepper(lambda drawn: run.one_step(feed, drawn), capture=run.captures)

    def step() -> None:
        run.set_rate()
        run.ema.advance()
        stepper(feed.draw(run.step))
        run.step += 1

    return step
