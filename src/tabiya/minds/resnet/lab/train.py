"""The first stage: every network of an experiment trained with the same budget, and exported.

One after another on one device, from tables that are read once. A network
that lies in `networks/` with its manifest is done and is not trained again;
one that was interrupted goes on at its newest checkpoint. Nothing here needs
more than a training machine has: no engine, no chess library.
"""

from __future__ import annotations

from tabiya.learn.config import config_to_dict
from tabiya.learn.export import export_onnx
from tabiya.learn.feed import Source
from tabiya.learn.lab.folder import LabFolder
from tabiya.learn.lab.training import Say, run_facts
from tabiya.learn.lab.turns import begin_training, device_turn, train_missing
from tabiya.learn.log import read_log
from tabiya.learn.run_record import last_figures
from tabiya.learn.sidecar import write_sidecar
from tabiya.minds.resnet.lab.plan import Lab
from tabiya.minds.resnet.lab.tables import SharedTables
from tabiya.minds.resnet.lab.variants import Variant, comparison, sources_of, training_of
from tabiya.minds.resnet.network import parameter_count
from tabiya.minds.resnet.training import Run


def train(
    lab: Lab, folder: LabFolder, minutes: float | None = None, say: Say = lambda _text: None
) -> list[str]:
    """Train what is missing; the names of the networks still missing when the minutes are over."""
    variants = comparison(lab).variants
    named = config_to_dict(lab.data).items()
    files = ((f"data.{name}", paths, name == "games") for name, paths in named if paths)
    sums = begin_training(lab, folder, files)
    tables = SharedTables()

    def train_one(variant: Variant, left: float | None) -> bool:
        waiting = [sources_of(other.recipe, lab) for other in folder.lacking(variants)]
        tables.keep_only(source for sources in waiting for source in sources.values())
        return _train_one(lab, variant, folder, tables, left, sums)

    return train_missing(folder, variants, train_one, minutes, say)


def _train_one(
    lab: Lab,
    variant: Variant,
    folder: LabFolder,
    tables: SharedTables,
    minutes: float | None,
    sums: dict[str, str],
) -> bool:
    """Train and export one network; False if the time was over before its end."""
    config = training_of(variant.recipe, lab)
    run = Run(config, folder.run(variant.name), tables.loader(variant.recipe.values))
    run.device_turn = device_turn
    if variant.recipe.trained:
        run.train(minutes)
        if run.step < config.steps:
            return False
    _export(run, variant, folder, sources_of(variant.recipe, lab), tables, sums)
    return True


def _export(
    run: Run,
    variant: Variant,
    folder: LabFolder,
    sources: dict[str, Source],
    tables: SharedTables,
    sums: dict[str, str],
) -> None:
    config, network, trained = run.config, folder.network(variant.name), variant.recipe.trained
    differences = export_onnx(run.averaged(), config.shape.planes, network)
    log = read_log(run.folder) if trained else []
    figures = last_figures(log, "validation_")
    counts: dict[str, int] = {}
    for role, source in sources.items() if trained else ():
        counts[role] = len(tables.table(source, "train", run.device))
    write_sidecar(
        network,
        kind="resnet",
        planes=config.shape.planes,
        parameters=parameter_count(run.network),
        name=variant.name,
        config=config_to_dict(config),
        trained_on=run_facts(counts, run.step, run.step * config.batch, log, run.device, sums),
        measured={"torch_difference": differences, **figures},
    )
