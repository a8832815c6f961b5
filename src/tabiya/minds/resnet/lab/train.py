"""The first stage: every network of an experiment trained with the same budget, and exported.

One after another on one device, from tables that are read once. A network
that lies in `networks/` with its manifest is done and is not trained again;
one that was interrupted goes on at its newest checkpoint. Nothing here needs
more than a training machine has: no engine, no chess library.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from tabiya.arena.provenance import provenance
from tabiya.errors import UserError
from tabiya.files import checksum
from tabiya.learn.config import config_to_dict
from tabiya.learn.export import export_onnx
from tabiya.learn.feed import Source
from tabiya.learn.log import read_log
from tabiya.learn.sidecar import write_sidecar
from tabiya.minds.resnet.lab.folder import LabFolder
from tabiya.minds.resnet.lab.plan import Lab
from tabiya.minds.resnet.lab.tables import SharedTables
from tabiya.minds.resnet.lab.variants import Variant, comparison, sources_of, training_of
from tabiya.minds.resnet.network import parameter_count
from tabiya.minds.resnet.training import Run

Say = Callable[[str], None]


def train(
    lab: Lab, folder: LabFolder, minutes: float | None = None, say: Say = lambda _text: None
) -> list[str]:
    """Train what is missing; the names of the networks still missing when the minutes are over."""
    compared = comparison(lab)
    # Before the first trace of the experiment, so that a mistake in its config can still be mended.
    if lab.budget.device == "cuda" and not torch.cuda.is_available():
        raise UserError('no CUDA device here: set device = "cpu", or train where there is a GPU')
    sums = _checksums(lab)
    folder.begin("lab.json", lab.training_settings())
    missing = [variant for variant in compared.variants if not folder.has_network(variant.name)]
    began = time.monotonic()
    tables = SharedTables()
    while missing:
        left = None if minutes is None else minutes - (time.monotonic() - began) / 60
        if left is not None and left <= 0:
            break
        variant = missing[0]
        tables.keep_only(source for other in missing for source in sources_of(other.recipe, lab).values())
        say(f"{variant.name}: {variant.title} ({len(missing)} of {len(compared.variants)} left)")
        if not _train_one(lab, variant, folder, tables, left, sums):
            break
        missing.pop(0)
    return [variant.name for variant in missing]


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
    try:
        if variant.recipe.trained:
            run.train(minutes)
            if run.step < config.steps:
                return False
        _export(run, variant, folder, sources_of(variant.recipe, lab), tables, sums)
    finally:
        del run
        _clear()
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
    figures: dict[str, Any] = {}
    for line in log:
        figures |= {key: value for key, value in line.items() if key.startswith("validation_")}
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
        trained_on={
            "positions": counts,
            "seen": run.step * config.batch,
            "steps": run.step,
            "seconds": log[-1]["seconds"] if log else 0.0,
            "device": torch.cuda.get_device_name() if run.device.type == "cuda" else "cpu",
            "sha256": sums,
            **provenance(),
        },
        measured={"torch_difference": differences, **figures},
    )


def _checksums(lab: Lab) -> dict[str, str]:
    """Of every file that is learned from, by its path; of a folder of games, its manifest's."""
    sums = {}
    for name, paths in config_to_dict(lab.data).items():
        for path in map(Path, paths.split(":") if paths else ()):
            file = path / "manifest.json" if name == "games" else path
            if not file.is_file():
                raise UserError(f"no file {file}, which data.{name} asks for")
            sums[str(path)] = checksum(file)
    return sums


def _clear() -> None:
    """Give back what a finished run held, compiled code included.

    The compiler gives up on a function after a few versions of it, and each
    network is one: without this the later ones would run uncompiled.
    """
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
    torch.compiler.reset()
