"""One training run of the NNUE: from files of positions to the file that plays, resumable at any step.

A run is a folder: `config.json`, `log.jsonl`, the newest checkpoints, and
beside each the network in integers (`step-….nnue`), so that `nnue:FILE` plays
it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from tabiya._core import FeatureSet
from tabiya.data.shards import Split
from tabiya.errors import UserError
from tabiya.learn.checkpoint import (
    checkpoint_path,
    checkpoints,
    chosen_checkpoint,
    load_checkpoint,
    load_weights,
)
from tabiya.learn.config import load_config, refuse_below_one
from tabiya.learn.distributed import assembled, by_the_first, mean
from tabiya.learn.run import RunSettings, TrainingRun, deadline_after, optimizer_for
from tabiya.learn.stepper import Stepper
from tabiya.minds.nnue.data import Batch, Features, Feed, Keep, feed_of, parts_of
from tabiya.minds.nnue.loss import NnueLoss, losses
from tabiya.minds.nnue.network import NnueNetwork, NnueShape, parameter_count
from tabiya.minds.nnue.quantised import quantise
from tabiya.minds.nnue.sources import NnueSource, NothingThereError, Samples, read

VALIDATION_ROWS = 1 << 17
"""Held-out samples of each source that a validation looks at."""

USUAL_ROWS = 1 << 13
"""Positions of each source by which rounding balances itself."""

Probe: TypeAlias = Callable[[Path], Mapping[str, float]]
"""Is handed the file of a network in training, and says how well it plays."""


@dataclass(frozen=True, kw_only=True)
class NnueTraining(RunSettings):
    """One run, read from configs/nnue-*.toml."""

    mind: Literal["nnue"] = "nnue"
    sources: tuple[NnueSource, ...]
    """What is learned from, and each source's part in every batch."""
    batch: int = 16_384
    """Positions a step, or triplets."""
    shape: NnueShape = field(default_factory=NnueShape)
    loss: NnueLoss = field(default_factory=NnueLoss)
    final_fraction: float = 0.01
    """The learning rate at the last step, as a share of the peak."""
    bf16: bool = True
    """On a GPU, the first layer's product in bfloat16; all behind it in TF32."""
    keep_data: Keep = "auto"
    """Features of all positions on the device, or made ahead of each step; auto: whichever fits."""
    report_steps: int = 1000
    validate_steps: int = 10_000
    checkpoint_steps: int = 10_000
    puzzles: str | None = None
    """A puzzle file; the network's own first choice, without search, is tried on some at each validation."""
    probe_puzzles: int = 1000

    def __post_init__(self) -> None:
        if not self.sources:
            raise UserError("a training run needs at least one source")
        super().__post_init__()
        refuse_below_one(self, "probe_puzzles")


class Supply:
    """Where a run's samples and features come from: the files, each time."""

    def read(self, source: NnueSource, split: Split, loss: NnueLoss) -> Samples:
        return read(source, split, loss)

    def held_out(self, source: NnueSource, loss: NnueLoss) -> Samples:
        """What a validation looks at: a fixed part of what nothing is learned from."""
        samples = self.read(source, "validation", loss)
        generator = torch.Generator().manual_seed(0)
        return samples.chosen(torch.randperm(len(samples), generator=generator)[:VALIDATION_ROWS].numpy())

    def features(self, features: FeatureSet, samples: Sequence[Samples]) -> Features:
        return Features(features, samples)


class _Reader(nn.Module):
    """A batch in, the loss of each sample out: what is compiled as one."""

    def __init__(self, network: NnueNetwork, loss: NnueLoss) -> None:
        super().__init__()
        self.network, self.loss = network, loss

    def forward(self, rows: Tensor, pieces: Tensor, value: Tensor, result: Tensor) -> Tensor:
        outputs: Tensor = self.network(rows.flatten(0, 1), pieces.flatten())
        return losses(outputs.reshape(pieces.shape).squeeze(1), value, result, self.loss)


class Run(TrainingRun[NnueTraining, NnueNetwork, dict[str, Batch]]):
    """The NNUE's run."""

    def __init__(
        self,
        config: NnueTraining,
        folder: Path,
        probe: Probe | None = None,
        supply: Supply | None = None,
        capture: bool | None = None,
    ) -> None:
        """`supply` is where samples and features come from; several runs may share one."""
        self._probe = probe
        self._supply = supply or Supply()
        self._usual: NDArray[np.uint8] | None = None
        super().__init__(config, folder, capture)
        self.reader: nn.Module = _Reader(self.network, config.loss)
        if config.compile:
            self.reader = torch.compile(self.reader)  # type: ignore[assignment]

    def new_network(self) -> NnueNetwork:
        """A network of the run's shape with fresh weights."""
        # Few processors gain by it, and some cannot do it at all.
        bf16 = self.config.bf16 and self.device.type == "cuda"
        return NnueNetwork(self.config.shape, bf16).to(self.device)

    def new_optimizer(self, network: NnueNetwork) -> torch.optim.Optimizer:
        groups = [{"params": list(network.parameters()), "weight_decay": self.config.weight_decay}]
        return optimizer_for(groups, self.config.peak_rate, self.device)

    def begin_with(self, tensors: dict[str, Tensor]) -> None:
        super().begin_with(tensors)
        self.network.clip()

    def after_step(self) -> None:
        self.network.clip()

    @property
    def positions_per_step(self) -> int:
        return self.config.batch * self.config.loss.positions

    def samples(self) -> list[Samples]:
        """What is learned from, source by source, in memory."""
        return [self._supply.read(source, "train", self.config.loss) for source in self.config.sources]

    def held_out(self) -> dict[str, Samples]:
        """A fixed sample of each source's held-out positions, where it has some."""
        found = {}
        for source in self.config.sources:
            try:
                found[source.name or source.kind] = self._supply.held_out(source, self.config.loss)
            except NothingThereError:
                continue  # too few to hold any out: it is learned from all the same
        return found

    def feed(self, samples: list[Samples], features: Features) -> Feed:
        """Batches of these samples."""
        config = self.config
        counts = parts_of(config.batch, [source.share for source in config.sources])
        return feed_of(samples, features, counts, config.seed, self.device, config.keep_data)

    def train(self, minutes: float | None = None) -> dict[str, Any]:
        """Train to the last step, or until the minutes are over; the last report's figures."""
        samples, held_out = self.samples(), self.held_out()
        features = self._supply.features(self.network.features, [*samples, *held_out.values()])
        feed = self.feed(samples, features)
        chance = np.random.default_rng(0)
        self._usual = np.concatenate(
            [some.packed[chance.integers(0, len(some), USUAL_ROWS), -1] for some in samples]
        )
        tables = {name: features.resident(some, self.device) for name, some in held_out.items()}
        try:
            with self.logged() as log:
                log.note(
                    f"{parameter_count(self.network):,} parameters; "
                    f"of {[len(some) for some in samples]} samples {feed.counts} in a batch, {feed.kind}"
                )
                stepper = Stepper(lambda drawn: self.one_step(feed, drawn), capture=self.captures)
                return self.loop(
                    self.config.steps,
                    lambda: stepper(feed.draw(self.step)),
                    tables,
                    log,
                    deadline_after(minutes),
                )
        finally:
            feed.close()

    def one_step(self, feed: Feed, drawn: list[Tensor]) -> dict[str, Tensor]:
        """Forward, backward, optimizer, clipping and average, for one batch; its losses."""
        each = self.reader(*feed.take(drawn))
        loss = mean(each, sum(feed.counts))
        self.descend(loss)
        figures = {"loss": loss.detach()}
        if len(feed.counts) > 1:
            parts = each.detach().split(self.team.divide(feed.counts))
            for source, part, count in zip(self.config.sources, parts, feed.counts, strict=True):
                figures[f"{source.name or source.kind}_loss"] = mean(part, count)
        return figures

    @by_the_first
    @torch.no_grad()
    def validate(self, held_out: dict[str, Batch]) -> dict[str, float]:
        """The average network's losses on held-out positions, and what the probe finds."""
        network = self.averaged()
        network.bf16 = False
        reader = _Reader(network, self.config.loss)
        figures: dict[str, float] = {}
        for name, table in held_out.items():
            starts = range(0, len(table.value), self.config.batch)
            total = sum(float(reader(*table.part(start, self.config.batch)).sum()) for start in starts)
            figures[f"validation_{name}_loss"] = total / len(table.value)
        if self._probe is not None:
            path = self.folder / "probe.nnue"
            quantise(network, path, self._usual)
            figures |= {name: float(value) for name, value in self._probe(path).items()}
        return figures

    def save(self) -> Path:
        """A checkpoint that training goes on from, and the network in integers beside it."""
        path = checkpoint_path(self.folder, self.step)
        if self.team.leads:
            quantise(self.averaged(), path.with_suffix(".nnue"), self._usual)
        super().save()
        if self.team.leads:
            kept = {file.stem for file in checkpoints(self.folder)}
            for file in self.folder.glob("step-*.nnue"):
                if file.stem not in kept:
                    file.unlink(missing_ok=True)
        return path


def network_of(checkpoint: str | Path) -> NnueNetwork:
    """The averaged network of a checkpoint, or of a run's newest one."""
    from tabiya.learn.config import config_from_dict

    file = chosen_checkpoint(Path(checkpoint))
    tensors, metadata = load_checkpoint(file)
    config = metadata.get("config")
    if not isinstance(config, dict) or config.get("mind") != "nnue":
        raise UserError(f"{file} is of no nnue run")
    network = NnueNetwork(config_from_dict(config["shape"], NnueShape, f"the config of {file}"))
    load_weights(network, tensors)
    return network


def train(path: Path, out: Path, minutes: float | None = None) -> dict[str, Any]:
    """`tabiya train` of this mind: the run of a config in its folder, from where it stands; its figures."""
    config = load_config(path, NnueTraining)
    probe: Probe | None = None
    if config.puzzles is not None:
        from tabiya.minds.nnue.probe import puzzle_probe

        probe = puzzle_probe(Path(config.puzzles), config.probe_puzzles)
    with assembled(config.device):
        run = Run(config, out, probe)
        figures = run.train(minutes)
    return {"step": run.step, "steps": config.steps, **figures}


def speed(path: Path) -> dict[str, Any]:
    """`tabiya train --speed` of this mind."""
    from tabiya.minds.nnue.speed import measure

    return measure(load_config(path, NnueTraining))
