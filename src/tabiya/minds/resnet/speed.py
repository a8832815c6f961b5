"""How fast a run trains, beside what its network does with nothing to feed it.

Both rates come from one process, in turns, so that a busy machine slows them
alike. *Synthetic* is the same network and optimizer, its step captured like the
run's, on one fixed batch of random planes: no tables, no masks, no mirror, no
average of the weights.
"""

from __future__ import annotations

import statistics
import subprocess
import threading
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812 - torch's own custom
from torch import Tensor

from tabiya.learn.feed import Feed
from tabiya.learn.speed import operators, positions_per_second
from tabiya.learn.stepper import Body, Stepper
from tabiya.minds.resnet.compiled import compiled
from tabiya.minds.resnet.training import Run

WARM_STEPS = 8
STEPS = {"cuda": 60, "cpu": 10}
"""Steps of a round, by the device."""


def measure(run: Run, rounds: int = 3) -> dict[str, Any]:
    """Positions a second fed and synthetic; the run's network is changed and not saved."""
    batch, steps = run.config.batch, STEPS[run.device.type]
    feed = _feed(run)
    stepper = Stepper(lambda draws: run.one_step(feed.take(draws)), capture=run.captures)
    number = 0

    def fed() -> None:
        nonlocal number
        run.ema.advance()
        stepper(feed.draw(number))
        number += 1

    synthetic = _synthetic(run)
    for step in (fed, synthetic):
        positions_per_second(step, WARM_STEPS, batch, run.device)
    rates: dict[str, list[float]] = {"fed": [], "synthetic": []}
    with _Watch(run.device) as watch:
        for _ in range(rounds):
            watch.active = False
            rates["synthetic"].append(positions_per_second(synthetic, steps, batch, run.device))
            watch.active = True
            rates["fed"].append(positions_per_second(fed, steps, batch, run.device))
    middle = {name: statistics.median(found) for name, found in rates.items()}
    return {
        "batch": batch,
        "steps": steps,
        "fed_per_second": [round(rate) for rate in rates["fed"]],
        "synthetic_per_second": [round(rate) for rate in rates["synthetic"]],
        "share": middle["fed"] / middle["synthetic"],
        "gpu_use_percent": watch.mean(),
        "parts_ms": {**_parts(run, feed), "whole": round(1000 * batch / middle["fed"], 2)},
        "operators": operators(fed, run.device),
    }


def _parts(run: Run, feed: Feed) -> dict[str, float]:
    """Milliseconds of a step that only takes its rows, that goes on to the losses, and to the gradients."""
    draws = feed.draw(0)

    def rows(given: list[Tensor]) -> dict[str, Tensor]:
        return {str(number): part.packed for number, part in enumerate(feed.take(given))}

    def forward(given: list[Tensor]) -> dict[str, Tensor]:
        return run.looked(feed.take(given))[0]

    def backward(given: list[Tensor]) -> dict[str, Tensor]:
        run.optimizer.zero_grad(set_to_none=True)
        torch.autograd.backward(forward(given)["loss"])
        return {}

    def taken(body: Body) -> float:
        stepper = Stepper(body, capture=run.captures)

        def once() -> None:
            stepper(draws)

        positions_per_second(once, WARM_STEPS, 1, run.device)
        return round(1000 / positions_per_second(once, STEPS[run.device.type] // 2, 1, run.device), 2)

    return {"rows": taken(rows), "forward": taken(forward), "backward": taken(backward)}


def _feed(run: Run) -> Feed:
    """The run's batches; where moves would be reconsidered there are columns as large, made of nothing."""
    tables = [run.load(source, "train") for source in run.config.sources]
    settings = run.config.reconsider
    for source, table in zip(run.config.sources, tables, strict=True):
        if settings is not None and (source.name or source.kind) in settings.sources:
            assert table.legal is not None
            table.leaning = torch.zeros(table.legal.shape, dtype=torch.float16, device=run.device)
    return run.feed_of(tables)


def _synthetic(run: Run) -> Callable[[], None]:
    shape, batch = run.config.shape, run.config.batch
    network = run.learning_network()
    learning = compiled(network.learning, shape) if run.config.compile else network.learning
    optimizer = run.new_optimizer(network)
    planes = torch.rand(batch, shape.planes, 8, 8, device=run.device)
    planes = planes.contiguous(memory_format=torch.channels_last)
    move = torch.randint(4672, (batch,), device=run.device)
    result = torch.randint(3, (batch,), device=run.device)
    centre = torch.randint(shape.value_bins, (batch,), device=run.device)

    def body(_inputs: list[Tensor]) -> dict[str, Tensor]:
        with torch.autocast(run.device.type, torch.bfloat16, enabled=run.config.bf16):
            policy, q, wdl, bins = learning(planes)
        loss: Tensor = F.cross_entropy(policy.float(), move) + F.cross_entropy(wdl.float(), result)
        loss = loss + F.cross_entropy(bins.float(), centre) + q.float().square().mean()
        optimizer.zero_grad(set_to_none=True)
        torch.autograd.backward(loss)
        optimizer.step()
        return {}

    stepper = Stepper(body, capture=run.captures)
    return lambda: _nothing(stepper([]))


def _nothing(_figures: dict[str, Tensor]) -> None:
    return None


class _Watch:
    """Samples the device's use while `active`."""

    def __init__(self, device: torch.device) -> None:
        self.active = False
        self._samples: list[float] = []
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._sample) if device.type == "cuda" else None

    def __enter__(self) -> _Watch:
        if self._thread:
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        if self._thread:
            self._thread.join()

    def mean(self) -> float | None:
        return statistics.fmean(self._samples) if self._samples else None

    def _sample(self) -> None:
        query = ["nvidia-smi", "--query-gpu=utilization.gpu", "--format=csv,noheader,nounits"]
        while not self._over.wait(0.5):
            if self.active:
                answer = subprocess.run(query, capture_output=True, text=True, check=False).stdout.strip()
                if answer.isdigit():
                    self._samples.append(float(answer))
