"""The first stage of `implicit`: every network trained, one after another in one process, and exported.

A network that lies in `networks/` with its manifest is done; one that was
interrupted goes on at its newest checkpoint. Nothing here needs more than a
training machine has: no engine, no chess library.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tabiya.learn.config import config_to_dict
from tabiya.learn.lab.folder import LabFolder
from tabiya.learn.lab.training import Say, run_facts
from tabiya.learn.lab.turns import Files, begin_training, device_turn, train_missing
from tabiya.learn.log import read_log
from tabiya.learn.run_record import last_figures
from tabiya.learn.sidecar import write_sidecar
from tabiya.minds.transformer.export import export_onnx
from tabiya.minds.transformer.lab.plan import Data, ImplicitLab
from tabiya.minds.transformer.lab.run import LabRun, training_of
from tabiya.minds.transformer.lab.tables import SharedTables
from tabiya.minds.transformer.lab.variants import Variant, variants_of
from tabiya.minds.transformer.network import parameter_count


def train(
    lab: ImplicitLab,
    folder: LabFolder,
    minutes: float | None = None,
    say: Say = lambda _text: None,
    sizes: Sequence[str] = (),
) -> list[str]:
    """Train what is missing, of all sizes or of these; the names still missing when the minutes are over."""
    sums, tables = begin_training(lab, folder, files_of(lab.data)), SharedTables()

    def train_one(variant: Variant, left: float | None) -> bool:
        return _train_one(lab, variant, folder, tables, left, sums)

    return train_missing(folder, variants_of(lab.of_sizes(sizes)), train_one, minutes, say)


def files_of(data: Data) -> Files:
    """Every file that is learned from."""
    named = [("data.games", data.games, True), ("data.labels", data.labels, False)]
    return [(setting, paths, is_folder) for setting, paths, is_folder in named if paths]


def _train_one(
    lab: ImplicitLab,
    variant: Variant,
    folder: LabFolder,
    tables: SharedTables,
    minutes: float | None,
    sums: dict[str, str],
) -> bool:
    """Train and export one network; False if the time was over before its end."""
    budget = lab.budget
    config = training_of(
        lab.data,
        budget,
        variant.shape,
        steps=variant.size.steps or budget.steps,
        seed=variant.seed,
        masked=variant.masked,
    )
    run = LabRun(config, folder.run(variant.name), tables, budget.capture)
    run.device_turn = device_turn
    run.train(minutes)
    if run.step < config.steps:
        return False
    network, log = folder.network(variant.name), read_log(run.folder)
    averaged = run.averaged()
    # Half as many bytes: the networks have to travel from the machine that trains to the one that plays.
    differences = export_onnx(averaged, network, half=True)
    counts: dict[str, int] = {source.kind: len(run.load(source, "train")) for source in config.sources}
    write_sidecar(
        network,
        kind="transformer",
        planes=0,  # it reads tokens
        parameters=parameter_count(averaged),
        name=variant.name,
        config=config_to_dict(config),
        trained_on=run_facts(counts, run.step, run.step * config.batch, log, run.device, sums),
        measured={"torch_difference": differences, **logged_figures(log)},
    )
    return True


def logged_figures(log: list[dict[str, Any]]) -> dict[str, Any]:
    """The last validation's figures of a run's log, and the middle one of its rates."""
    figures = last_figures(log, "validation_")
    rates = sorted(line["positions_per_second"] for line in log if "positions_per_second" in line)
    return figures | {"positions_per_second": rates[len(rates) // 2] if rates else None}
