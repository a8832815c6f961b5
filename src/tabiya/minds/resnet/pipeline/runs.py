"""The stages in which a network is trained, and those that make it one to play with."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tabiya.errors import UserError
from tabiya.files import checksum
from tabiya.learn.checkpoint import load_checkpoint, load_weights, newest_checkpoint
from tabiya.learn.config import config_to_dict
from tabiya.learn.export import export_onnx
from tabiya.learn.log import read_log
from tabiya.learn.sidecar import write_sidecar
from tabiya.minds.resnet.network import ResNet, parameter_count
from tabiya.minds.resnet.pipeline.sources import resolved
from tabiya.minds.resnet.pipeline.stages import Need, Paused, Record, Stage, Work, plain
from tabiya.minds.resnet.training import ResNetTraining, Run

_CLOCKED = {"step", "seconds", "positions_per_second"}
"""What a log says of its own time: no two runs agree in it."""


def train_stage(
    name: str,
    part: str,
    training: ResNetTraining,
    places: Callable[[Work], Mapping[str, str]],
    *,
    goes_on_from: str | None = None,
    iteration: int | None = None,
) -> Stage:
    """Train a run in the folder of the stage's name.

    `places` gives the paths behind the @names; `goes_on_from` is the stage whose weights it begins with.
    """
    if iteration is not None:
        training = replace(training, seed=training.seed + iteration)  # other batches every time
    settings = plain(training)
    if goes_on_from is not None:
        settings["start_from"] = goes_on_from

    def do(work: Work) -> dict[str, Any]:
        changes: dict[str, Any] = {}
        if goes_on_from is not None:
            changes["start_from"] = str(weights_of(work.folder, goes_on_from))
        config = resolved(training, places(work), **changes)
        run = Run(config, work.folder / name)
        run.train(work.clock.minutes_left())
        if run.step < config.steps:
            raise Paused
        figures: dict[str, float] = {}
        for line in read_log(run.folder):
            figures |= {key: value for key, value in line.items() if key not in _CLOCKED}
        return {"steps": run.step, "positions_seen": run.step * config.batch, "figures": figures}

    needs: tuple[Need, ...] = ("device",) if training.device == "cuda" else ()
    return Stage(name=name, part=part, settings=settings, do=do, needs=needs, iteration=iteration)


def weights_of(folder: Path, stage: str) -> Path:
    """The checkpoint that a training stage ended with."""
    newest = newest_checkpoint(folder / stage)
    if newest is None:
        raise UserError(f"no checkpoint in {folder / stage}: copy it there, or train it again")
    return newest


def export_stage(
    name: str,
    part: str,
    network: str,
    training: ResNetTraining,
    half: bool,
    *,
    before: Sequence[Stage],
    iteration: int | None = None,
) -> Stage:
    """Write what the last stage of `before` trained as NETWORK.onnx, with its manifest."""
    trained = before[-1].name

    def do(work: Work) -> dict[str, Any]:
        twin = ResNet(training.shape)
        load_weights(twin, load_checkpoint(weights_of(work.folder, trained))[0])
        path = work.folder / f"{network}.onnx"
        differences = export_onnx(twin, training.shape.planes, path, half=half)
        write_sidecar(
            path,
            kind="resnet",
            planes=training.shape.planes,
            parameters=parameter_count(twin),
            config=config_to_dict(training),
            trained_on=learned_from(work.folder, before),
        )
        return {
            "network": path.name,
            "sha256": checksum(path),
            "bytes": path.stat().st_size,
            "differs_from_torch": differences,
        }

    settings = {"network": network, "half": half}
    return Stage(name=name, part=part, settings=settings, do=do, iteration=iteration)


def learned_from(folder: Path, stages: Sequence[Stage]) -> dict[str, Any]:
    """What the network at the end of these stages has learned from: counts, and the hours each stage took."""
    records = [record for stage in stages if (record := Record.load(folder, stage.name))]
    total: dict[str, Any] = {}
    for record in records:
        kind = record.stage.rpartition("/")[2]
        if kind == "extract":
            total |= {name: record.did[name] for name in ("games", "positions", "evaluations")}
        elif kind == "join":
            # Each join holds all the labels before it.
            total |= {"all_move_labels": record.did["kept"], "scored_moves": record.did["scores"]}
        elif kind == "label":
            hours = record.did["teacher_seconds"] / 3600
            total["teacher_hours"] = round(total.get("teacher_hours", 0.0) + hours, 3)
        elif kind == "value":
            total["own_labels"] = record.did["positions"]
        elif kind == "selfplay":
            total["self_play_games"] = total.get("self_play_games", 0) + record.did["games"]
        elif kind in ("train", "distil"):
            total["positions_seen"] = total.get("positions_seen", 0) + record.did["positions_seen"]
    return total | {"hours": {record.stage: round(record.seconds / 3600, 3) for record in records}}
