"""The first stage: every network of an experiment trained with the same budget, and kept in integers.

One after another on one device, from samples that are read once. A network
that lies in `networks/` with its manifest is done and is not trained again;
one that was interrupted goes on at its newest checkpoint. Nothing here needs
more than a training machine has: no engine, no chess library.

    networks/NAME.nnue          what plays
    networks/NAME.json          its manifest
    networks/NAME.inside.json   its loss curve, neurons and weights
    networks/choices.json       of statistical: the features that were chosen
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tabiya.errors import UserError
from tabiya.files import replacing, write_json
from tabiya.learn.checkpoint import newest_checkpoint
from tabiya.learn.config import config_to_dict
from tabiya.learn.lab.folder import LabFolder
from tabiya.learn.lab.training import Say, run_facts
from tabiya.learn.lab.turns import Files, begin_training, train_missing
from tabiya.learn.log import read_log
from tabiya.learn.run_record import last_figures
from tabiya.learn.sidecar import write_sidecar
from tabiya.minds.nnue.lab.choices import choose
from tabiya.minds.nnue.lab.inside import evaluation_loss, look_inside, prefers_played
from tabiya.minds.nnue.lab.plan import Lab
from tabiya.minds.nnue.lab.supply import SharedSupply
from tabiya.minds.nnue.lab.variants import Variant, comparison, training_of
from tabiya.minds.nnue.loss import NnueLoss
from tabiya.minds.nnue.network import parameter_count
from tabiya.minds.nnue.promotion import network_inputs
from tabiya.minds.nnue.sources import NnueSource, NothingThereError, Samples
from tabiya.minds.nnue.training import Run


def train(
    lab: Lab, folder: LabFolder, minutes: float | None = None, say: Say = lambda _text: None
) -> list[str]:
    """Train what is missing; the names of the networks still missing when the minutes are over."""
    variants = comparison(lab).variants
    sums = begin_training(lab, folder, _files(lab))
    missing = [variant.name for variant in folder.lacking(variants)]
    if not missing or (minutes is not None and minutes <= 0):
        return missing
    supply, began = SharedSupply(), time.monotonic()
    chosen = choose(lab, variants, folder, supply, minutes)
    if chosen is None:
        return missing
    if minutes is not None:
        minutes -= (time.monotonic() - began) / 60
    training = _Training(lab, folder, supply, sums)

    def train_one(variant: Variant, left: float | None) -> bool:
        return training.of(variant, chosen.get(variant.name), left)

    return train_missing(folder, variants, train_one, minutes, say)


class _Training:
    """One network from its first step to its files."""

    def __init__(self, lab: Lab, folder: LabFolder, supply: SharedSupply, sums: dict[str, str]) -> None:
        self._lab, self._folder, self._supply, self._sums = lab, folder, supply, sums

    def of(self, variant: Variant, features: str | None, minutes: float | None) -> bool:
        """False if the time was over before its end."""
        shape = replace(variant.shape, features=features) if features else variant.shape
        config = training_of(variant, self._lab, shape, self._beginning(variant))
        run = Run(
            config, self._folder.run(variant.name), supply=self._supply, capture=self._lab.budget.capture
        )
        if run.step < config.steps:
            run.train(minutes)
        if run.step < config.steps:
            return False
        self._keep(run, variant)
        return True

    def _beginning(self, variant: Variant) -> str | None:
        """The checkpoint that a tuned network begins with."""
        if variant.after is None:
            return None
        checkpoint = newest_checkpoint(self._folder.run(variant.after))
        if checkpoint is None:
            raise UserError(
                f"{variant.name} begins with the last checkpoint of {variant.after}, and "
                f"{self._folder.run(variant.after)} has none: train where that network was trained"
            )
        return str(checkpoint)

    def _keep(self, run: Run, variant: Variant) -> None:
        folder, config, network = self._folder, run.config, run.averaged()
        log = read_log(run.folder)
        taught = self._held_out(self._lab.data.sources, self._lab.budget.loss)
        measured: dict[str, Any] = {
            **last_figures(log, "loss"),
            **last_figures(log, "validation_"),
            "evaluation_loss": evaluation_loss(network, taught, self._lab.budget.loss),
        }
        if self._lab.data.played:
            moves = replace(self._lab.budget.loss, method="pqr")
            triplets = self._held_out(self._lab.data.played, moves)
            measured["prefers_played"] = prefers_played(network, triplets, moves)
        # The same positions for every network, however it was taught.
        sources, loss = self._lab.data.sources, self._lab.budget.loss
        looked_at = taught or {"all": self._supply.read(sources[0], "train", loss)}
        inside = look_inside(network, looked_at) | {"curve": _curve(log)}
        target = folder.network(variant.name)
        write_json(target.with_name(f"{variant.name}.inside.json"), inside)
        checkpoint = newest_checkpoint(run.folder)
        assert checkpoint is not None
        # The integers beside the last checkpoint were balanced on what is learned from.
        with replacing(target) as part:
            part.write_bytes(checkpoint.with_suffix(".nnue").read_bytes())
        write_sidecar(
            target,
            kind="nnue",
            inputs=network_inputs(target),
            parameters=parameter_count(network),
            name=variant.name,
            config=config_to_dict(config),
            trained_on={
                **run_facts(
                    self._counts(config.sources, config.loss),
                    run.step,
                    run.step * config.batch * config.loss.positions,
                    log,
                    run.device,
                    self._sums,
                ),
                "positions_per_second": last_figures(log, "positions_per_second").get("positions_per_second"),
            },
            measured=measured,
        )

    def _held_out(self, sources: Sequence[NnueSource], loss: NnueLoss) -> dict[str, Samples]:
        found = {}
        for number, source in enumerate(sources):
            try:
                found[f"{number}"] = self._supply.held_out(source, loss)
            except NothingThereError:
                continue
        return found

    def _counts(self, sources: Sequence[NnueSource], loss: NnueLoss) -> dict[str, int]:
        return {
            source.name or source.kind: len(self._supply.read(source, "train", loss)) for source in sources
        }


def _curve(log: list[dict[str, Any]]) -> list[dict[str, float]]:
    """The validation loss, averaged over the sources, at each step that has one."""
    points = []
    for line in log:
        values = [
            value for key, value in line.items() if key.startswith("validation_") and key.endswith("_loss")
        ]
        known = [value for value in values if value is not None]
        if known:
            points.append({"step": line["step"], "loss": sum(known) / len(known)})
    return points


def _files(lab: Lab) -> Files:
    named = [("data.sources", source) for source in lab.data.sources]
    named += [("data.played", source) for source in lab.data.played]
    return [(setting, source.path, source.kind == "games") for setting, source in named]
