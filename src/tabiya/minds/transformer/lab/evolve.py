"""The evolution of feedback: which network is trained next, and its loss.

What comes next follows from the trials so far and the experiment's seed, so an
evolution that was killed goes on as if nothing had happened. First the network
without feedback with several seeds, which shows the noise; then wirings, at
random and bred from the best; then the best again with the other seeds, because
the best of many tries owes some of its place to luck.
"""

from __future__ import annotations

import gc
import math
import random
import shutil
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch

from tabiya.learn.config import config_to_dict
from tabiya.learn.lab.folder import LabFolder
from tabiya.learn.lab.training import Say, checksums, refuse_missing_device
from tabiya.learn.log import read_log
from tabiya.minds.transformer.lab.journal import JOURNAL, Journal, Order, Trial
from tabiya.minds.transformer.lab.run import LabRun, training_of
from tabiya.minds.transformer.lab.tables import SharedTables
from tabiya.minds.transformer.lab.train import files_of, logged_figures
from tabiya.minds.transformer.lab.wiring_plan import WiringLab
from tabiya.minds.transformer.lab.wirings import Wiring, at_random, crossed, mutated, spelt
from tabiya.minds.transformer.loss import SEEN
from tabiya.minds.transformer.network import parameter_count
from tabiya.minds.transformer.plan import TransformerTraining
from tabiya.minds.transformer.shape import route

PATIENCE = 1000
"""Children made in vain, all tried before, after which there is nothing left to try."""
BRED = ("founder", "mutation", "crossover")


def evolve(
    lab: WiringLab, folder: LabFolder, minutes: float | None = None, say: Say = lambda _text: None
) -> bool:
    """Train whatever is missing, in turn; False if the minutes were over before the end."""
    refuse_missing_device(lab.budget.device)
    sums = checksums(files_of(lab.data))
    folder.begin("lab.json", {**config_to_dict(lab), "sha256": sums})
    journal, tables, began = Journal(folder.path / JOURNAL), SharedTables(), time.monotonic()
    while (order := next_order(lab, journal.trials)) is not None:
        if minutes is not None and time.monotonic() - began >= 60 * minutes:
            return False
        loss, details = measure(lab, order, folder, tables)
        trial = journal.append(order, loss, details)
        say(f"{trial.number}: {order.born}, {spelt(order.wiring)}, seed {order.seed}: loss {loss:.4f}")
    return True


def next_order(lab: WiringLab, trials: Sequence[Trial]) -> Order | None:
    """What to train after these trials; None at the end."""
    plan = lab.evolution
    done = {(trial.order.wiring, trial.order.seed) for trial in trials}
    for seed in plan.base_seeds:
        if ((), seed) not in done:
            return Order(wiring=(), seed=seed, born="base")
    bred = [trial for trial in trials if trial.order.born in BRED]
    if len(bred) < plan.tries:
        child = _child(lab, bred)
        if child is not None:
            return child
    for best in ranked(bred)[: plan.confirmed]:
        for seed in plan.base_seeds[1:]:
            if (best.order.wiring, seed) not in done:
                return Order(wiring=best.order.wiring, seed=seed, born="confirmation", parents=(best.number,))
    return None


def ranked(trials: Sequence[Trial]) -> list[Trial]:
    """The best first."""
    return sorted(trials, key=lambda trial: (trial.loss, trial.number))


def _child(lab: WiringLab, bred: Sequence[Trial]) -> Order | None:
    """A wiring that was not tried yet; None if none is found."""
    plan, layers = lab.evolution, lab.shape.layers
    tried = {trial.order.wiring for trial in bred}
    chance = random.Random(f"{plan.seed} {len(bred)}")
    parents = ranked(bred)[: plan.parents]
    for _ in range(PATIENCE):
        wiring: Wiring
        chosen: tuple[int, ...]
        if len(bred) < plan.founders:
            born, chosen, wiring = "founder", (), at_random(chance, layers, plan)
        elif len(parents) > 1 and chance.random() < plan.crossover:
            one, other = chance.sample(parents, 2)
            born, chosen = "crossover", (one.number, other.number)
            wiring = crossed(one.order.wiring, other.order.wiring, chance, plan)
        else:
            # The better of two: the best parents have the most children.
            one = min(chance.choices(parents, k=2), key=lambda trial: (trial.loss, trial.number))
            born, chosen = "mutation", (one.number,)
            wiring = mutated(one.order.wiring, chance, layers, plan)
        if wiring not in tried and (plan.most_blocks is None or blocks_run(lab, wiring) <= plan.most_blocks):
            return Order(wiring=wiring, seed=plan.base_seeds[0], born=born, parents=chosen)
    return None


def blocks_run(lab: WiringLab, wiring: Wiring) -> int:
    """How many blocks a position passes through, those that are run again counted again."""
    return len(route(replace(lab.shape, feedback=wiring)))


def measure(
    lab: WiringLab, order: Order, folder: LabFolder, tables: SharedTables
) -> tuple[float, dict[str, Any]]:
    """The held-out loss of an order's network after its training, and what it is made of."""
    shape = replace(lab.shape, feedback=order.wiring)
    config = training_of(
        lab.data, lab.budget, shape, steps=lab.budget.steps, seed=order.seed, masked=lab.masked
    )
    place = folder.path / "trial"
    shutil.rmtree(place, ignore_errors=True)
    began = time.monotonic()
    run = LabRun(config, place, tables, lab.budget.capture)
    run.train()
    figures = logged_figures(read_log(place))
    details = {
        "blocks_run": blocks_run(lab, order.wiring),
        "parameters": parameter_count(run.network),
        "seconds": round(time.monotonic() - began, 2),
        **figures,
    }
    del run
    shutil.rmtree(place, ignore_errors=True)
    # What was compiled stays: the next network's blocks are the same.
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
    return held_out_loss(config, figures), details


def held_out_loss(config: TransformerTraining, figures: dict[str, Any]) -> float:
    """All parts that are learned from, each source by its share; infinite if one of them is no number."""
    shares: dict[str, float] = {source.kind: source.share for source in config.sources}
    known: dict[str, float] = {}
    for kind in shares:
        prefix = f"validation_{kind}_"
        parts = [
            math.inf if value is None else float(value)
            for key, value in figures.items()
            if key.startswith(prefix) and not key.endswith(SEEN)
        ]
        if parts:
            known[kind] = sum(parts)
    if not known:
        return float("nan")
    total = sum(shares[kind] for kind in known)
    return sum(shares[kind] * loss for kind, loss in known.items()) / total
