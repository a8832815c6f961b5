"""Which pairs of pieces are worth a feature: by how frequent they are, or by what a network uses of them.

PIECE-PIECE has 589,824 features, far too many to play with. Frequency is
counted on positions that are learned from. Use is read off a network that was
trained on all pairs for a while (the *scout*): a feature's use is how often it
is active times how far its weights move what the layers behind them read.

A pair stands in the set twice, once from each piece, and each piece once with
itself; only one of the two is chosen from, and nothing of the last, because
ALL is always beside it.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from tabiya import _core
from tabiya.errors import UserError
from tabiya.files import write_json
from tabiya.learn.lab.folder import LabFolder, read_json
from tabiya.learn.lab.training import clear_device
from tabiya.minds.nnue.lab.plan import Lab
from tabiya.minds.nnue.lab.supply import SharedSupply
from tabiya.minds.nnue.lab.variants import Variant, training_of
from tabiya.minds.nnue.network import NnueNetwork
from tabiya.minds.nnue.training import Run

POOL, SINGLE = "PIECE-PIECE", "ALL"
PART = 4096
"""Positions whose pairs are counted at a time."""
SHOWN = 12
"""Chosen features that a report names."""


def choose(
    lab: Lab,
    variants: Sequence[Variant],
    folder: LabFolder,
    supply: SharedSupply,
    minutes: float | None = None,
) -> dict[str, str] | None:
    """The expressions of the variants that are choices, by name; None if the time was over before."""
    wanted = [variant for variant in variants if variant.choice is not None]
    if not wanted:
        return {}
    path = folder.path / "networks" / "choices.json"
    if not path.exists():
        found = _made(lab, wanted, folder, supply, minutes)
        if found is None:
            return None
        write_json(path, found)
    kept = read_json(path)["sets"]
    return {variant.name: str(kept[variant.name]["expression"]) for variant in wanted}


def shown_choices(folder: LabFolder) -> dict[str, Any] | None:
    """What was chosen, for the report."""
    path = folder.path / "networks" / "choices.json"
    if not path.exists():
        return None
    found = read_json(path)
    for chosen in found["sets"].values():
        del chosen["expression"]
    return found


def _made(
    lab: Lab, wanted: list[Variant], folder: LabFolder, supply: SharedSupply, minutes: float | None
) -> dict[str, Any] | None:
    pool = _core.FeatureSet(POOL)
    samples = [supply.read(source, "train", lab.budget.loss) for source in lab.data.sources]
    packed = np.concatenate([some.packed[:, 0] for some in samples])
    chance = np.random.default_rng(lab.budget.seed)
    if len(packed) > lab.statistics.positions:
        packed = packed[chance.choice(len(packed), lab.statistics.positions, replace=False)]
    frequency = feature_frequency(pool, packed)
    worths = {"frequency": frequency}
    if any(variant.choice is not None and variant.choice.by == "use" for variant in wanted):
        scout = _scout(lab, wanted[0], folder, supply, minutes)
        if scout is None:
            return None
        worths["use"] = frequency * reach(scout)
    once = one_of_each_pair(pool.size)
    sets: dict[str, Any] = {}
    taken: dict[str, NDArray[np.int64]] = {}
    for variant in wanted:
        assert variant.choice is not None
        worth = np.where(once, worths[variant.choice.by], 0.0)
        some = int((worth > 0).sum())
        if not some:
            raise UserError("no pair of pieces was ever seen: statistical needs more positions")
        count = min(variant.choice.count, some)
        order = np.argsort(-worth, kind="stable")[:count]
        taken[variant.name] = order
        sets[variant.name] = {
            "expression": f"{SINGLE}+{pool.top(worth, count).expression}",
            "by": variant.choice.by,
            "count": count,
            "share_of_pairs_seen": float(frequency[order].sum() / frequency[once].sum()),
            "first": [pool.name(int(index)) for index in order[:SHOWN]],
        }
    return {"positions": len(packed), "sets": sets, "in_both": _in_both(wanted, taken)}


def _in_both(wanted: list[Variant], taken: dict[str, NDArray[np.int64]]) -> list[dict[str, Any]]:
    """For each number of features, how many both ways have chosen."""
    by_count: dict[int, list[str]] = {}
    for variant in wanted:
        assert variant.choice is not None
        by_count.setdefault(variant.choice.count, []).append(variant.name)
    return [
        {"count": count, "in_both": len(np.intersect1d(taken[names[0]], taken[names[1]]))}
        for count, names in by_count.items()
        if len(names) == 2
    ]


def feature_frequency(features: _core.FeatureSet, packed: NDArray[np.uint8]) -> NDArray[np.float64]:
    """How often each feature is active, as a share of the views."""
    counts = np.zeros(features.size, np.int64)
    for start in range(0, len(packed), PART):
        part = np.ascontiguousarray(packed[start : start + PART])
        for _, numbers in features.batch(part, os.cpu_count() or 1):
            counts += np.bincount(numbers, minlength=features.size)
    return counts / max(1, 2 * len(packed))


@torch.no_grad()
def reach(network: NnueNetwork) -> NDArray[np.float64]:
    """How far each feature's weights move what the second layer reads, summed over its neurons."""
    l1 = network.shape.l1
    read = network.l2.weight.abs().sum(0)
    heard = read[:l1] + read[l1:]
    found: NDArray[np.float64] = (network.weight[: network.size].abs() @ heard).double().cpu().numpy()
    return found


def one_of_each_pair(size: int) -> NDArray[np.bool_]:
    """Of (this piece, that piece) and (that, this), the first; of a piece with itself, neither."""
    singles = _core.FeatureSet(SINGLE).size
    numbers = np.arange(size)
    return np.asarray(numbers // singles < numbers % singles)


def _scout(
    lab: Lab, like: Variant, folder: LabFolder, supply: SharedSupply, minutes: float | None
) -> NnueNetwork | None:
    """A network of all pairs; None if the time was over before its end."""
    shape = replace(like.shape, features=POOL, l1=lab.statistics.scout_l1)
    config = replace(training_of(like, lab, shape), steps=lab.statistics.scout_steps)
    run = Run(config, folder.run("scout"), supply=supply, capture=lab.budget.capture)
    if run.step < config.steps:
        run.train(minutes)
    done = run.averaged().cpu() if run.step == config.steps else None
    supply.forget_rows()
    del run
    clear_device()
    return done
