"""One training run of the NNUE: from files of positions to the file that plays, resumable at any step.

A run is a folder: `config.json`, `log.jsonl`, the newest checkpoints, and
beside each the network in integers (`step-….nnue`), so that `nnue:FILE` plays
it.
"""

from __future__ import annotations

import json
import time
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
from tabiya.files import refuse_other_settings, replacing
from tabiya.learn.checkpoint import (
    checkpoint_path,
    checkpoints,
    keep_last,
    load_checkpoint,
    load_weights,
    newest_checkpoint,
    optimizer_groups,
    restore,
    save_checkpoint,
    state_tensors,
)
from tabiya.learn.config import config_to_dict, load_config
from tabiya.learn.distributed import assembled, by_the_first, mean, team
from tabiya.learn.log import RunLog
from tabiya.learn.schedule import Ema, Kind, learning_rate
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
class NnueTraining:
    """One run, read from configs/nnue-*.toml."""

    mind: Literal["nnue"] = "nnue"
    sources: tuple[NnueSource, ...]
    """What is learned from, and each source's part in every batch."""
    steps: int
    batch: int = 16_384
    """Positions a step, or triplets."""
    shape: NnueShape = field(default_factory=NnueShape)
    loss: NnueLoss = field(default_factory=NnueLoss)
    peak_rate: float = 1e-3
    final_fraction: float = 0.01
    """The learning rate at the last step, as a share of the peak."""
    warmup_steps: int = 500
    """Steps of linear warm-up, counted inside `steps`."""
    schedule: Kind = "cosine"
    weight_decay: float = 0.0
    ema_decay: float = 0.999
    seed: int = 0
    start_from: str | None = None
    """A checkpoint whose weights the run begins with: a fine-tune of it."""
    device: Literal["cuda", "cpu"] = "cuda"
    bf16: bool = True
    """On a GPU, the first layer's product in bfloat16; all behind it in TF32."""
    compile: bool = True
    """Compile the network and, on a GPU, capture the whole step."""
    keep_data: Keep = "auto"
    """Features of all positions on the device, or made ahead of each step; auto: whichever fits."""
    report_steps: int = 1000
    validate_steps: int = 10_000
    checkpoint_steps: int = 10_000
    keep: int = 2
    """Checkpoints kept."""
    puzzles: str | None = None
    """A puzzle file; the network's own first choice, without search, is tried on some at each validation."""
    probe_puzzles: int = 1000

    def __post_init__(self) -> None:
        if not self.sources:
            raise UserError("a training run needs at least one source")
        numbers = ("steps", "batch", "report_steps", "validate_steps", "checkpoint_steps", "keep")
        for name in (*numbers, "probe_puzzles"):
            if getattr(self, name) < 1:
                raise UserError(f"{name} must be at least 1, got {getattr(self, name)}")


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


class Run:
    """A run in its folder: made new, or picked up where its newest checkpoint stands."""

    def __init__(
        self,
        config: NnueTraining,
        folder: Path,
        probe: Probe | None = None,
        supply: Supply | None = None,
        capture: bool | None = None,
    ) -> None:
        """`supply` is where samples and features come from; several runs may share one.

        `capture`: on a GPU, replay the step as one CUDA graph; None: where it is compiled.
        """
        if config.device == "cuda" and not torch.cuda.is_available():
            raise UserError('no CUDA device here: set device = "cpu", or train where there is a GPU')
        self.config, self.folder, self._probe = config, folder, probe
        self._supply = supply or Supply()
        self._capture = config.compile if capture is None else capture
        self.device = torch.device(config.device)
        self.team = team()
        folder.mkdir(parents=True, exist_ok=True)
        self._remember_config()
        torch.manual_seed(config.seed)
        torch.set_float32_matmul_precision("high")
        self.network = self.new_network()
        self.ema = Ema(self.network, config.ema_decay)
        self.optimizer = self._new_optimizer()
        self.step = 0
        self._usual: NDArray[np.uint8] | None = None
        begun = self.team.load(newest_checkpoint(folder), config.device)
        start = self.team.load(config.start_from, config.device) if begun is None else None
        if begun is not None:
            tensors, metadata = begun
            restore(self.network, self.ema, self.optimizer, tensors, metadata["optimizer"])
            self.step = int(metadata["step"])
        elif start is not None:
            load_weights(self.network, start[0])
            self.network.clip()
            self.ema = Ema(self.network, config.ema_decay)
        self.reader: nn.Module = _Reader(self.network, config.loss)
        if config.compile:
            self.reader = torch.compile(self.reader)  # type: ignore[assignment]

    @property
    def captures(self) -> bool:
        """Whether a step is captured as a CUDA graph."""
        return self._capture and self.device.type == "cuda" and self.team.size == 1

    def _remember_config(self) -> None:
        if not self.team.leads:
            return
        path = self.folder / "config.json"
        mine = config_to_dict(self.config)
        if path.exists():
            refuse_other_settings(self.folder, json.loads(path.read_text()), mine)
            return
        with replacing(path) as part:
            part.write_text(json.dumps(mine, indent=1) + "\n")

    def new_network(self) -> NnueNetwork:
        """A network of the run's shape with fresh weights."""
        # Few processors gain by it, and some cannot do it at all.
        bf16 = self.config.bf16 and self.device.type == "cuda"
        return NnueNetwork(self.config.shape, bf16).to(self.device)

    def _new_optimizer(self) -> torch.optim.Optimizer:
        parameters = list(self.network.parameters())
        if self.device.type == "cpu":
            return torch.optim.AdamW(
                parameters, lr=self.config.peak_rate, weight_decay=self.config.weight_decay
            )
        # A captured step reads the rate from the device, where each step's is written before it.
        rate = torch.tensor(self.config.peak_rate, device=self.device)
        return torch.optim.AdamW(
            parameters, lr=rate, weight_decay=self.config.weight_decay, fused=True, capturable=True
        )

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
        log = self.team.log(self.folder, self.step, self.config.steps)
        try:
            log.note(
                f"{parameter_count(self.network):,} parameters; of {[len(some) for some in samples]} samples "
                f"{feed.counts} in a batch, {feed.kind}"
            )
            return self._train(feed, tables, log, minutes)
        finally:
            log.close()
            feed.close()

    def _train(
        self, feed: Feed, held_out: dict[str, Batch], log: RunLog, minutes: float | None
    ) -> dict[str, Any]:
        config, started = self.config, time.monotonic()
        stepper = Stepper(lambda drawn: self.one_step(feed, drawn), capture=self.captures)
        figures: dict[str, Any] = {}
        mark, mark_step = time.monotonic(), self.step
        while self.step < config.steps:
            rate = self.set_rate()
            self.ema.advance()
            parts = stepper(feed.draw(self.step))
            self.step += 1
            ends = self.step == config.steps
            if ends or self.step % config.report_steps == 0:
                figures = self.team.figures(parts)
                now = time.monotonic()
                speed = (self.step - mark_step) * config.batch * config.loss.positions / (now - mark)
                mark, mark_step = now, self.step
                log.report(self.step, **figures, rate=rate, positions_per_second=speed)
            over = minutes is not None and self.team.agreed(time.monotonic() - started > minutes * 60)
            saves = ends or over or self.step % config.checkpoint_steps == 0
            if ends or self.step % config.validate_steps == 0:
                checked = self.validate(held_out)
                figures |= checked
                log.report(self.step, **checked)
            if saves:
                self.save()
            if saves or self.step % config.validate_steps == 0:
                mark, mark_step = time.monotonic(), self.step
            if over:
                break
        return figures

    def set_rate(self) -> float:
        """Set the learning rate of the step to come."""
        config = self.config
        rate = learning_rate(
            self.step,
            steps=config.steps,
            peak=config.peak_rate,
            warmup_steps=min(config.warmup_steps, config.steps - 1),
            final_fraction=config.final_fraction,
            kind=config.schedule,
        )
        for group in self.optimizer.param_groups:
            if isinstance(group["lr"], Tensor):
                group["lr"].fill_(rate)
            else:
                group["lr"] = rate
        return rate

    def one_step(self, feed: Feed, drawn: list[Tensor]) -> dict[str, Tensor]:
        """Forward, backward, optimizer, clipping and average, for one batch; its losses."""
        each = self.reader(*feed.take(drawn))
        loss = mean(each, sum(feed.counts))
        self.optimizer.zero_grad(set_to_none=True)
        torch.autograd.backward(loss)
        self.team.average_gradients(self.network.parameters())
        self.optimizer.step()
        self.network.clip()
        self.ema.absorb(self.network)
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

    def averaged(self) -> NnueNetwork:
        """The network with its averaged weights, for use."""
        network = self.new_network()
        self.ema.copy_to(network)
        network.eval()
        return network

    def save(self) -> Path:
        """A checkpoint that training goes on from, and the network in integers beside it."""
        path = checkpoint_path(self.folder, self.step)
        if not self.team.leads:
            return path
        quantise(self.averaged(), path.with_suffix(".nnue"), self._usual)
        save_checkpoint(
            path,
            state_tensors(model=self.network, ema=self.ema, optimizer=self.optimizer),
            {
                "step": self.step,
                "config": config_to_dict(self.config),
                "optimizer": optimizer_groups(self.network, self.optimizer),
            },
        )
        keep_last(self.folder, self.config.keep)
        kept = {file.stem for file in checkpoints(self.folder)}
        for file in self.folder.glob("step-*.nnue"):
            if file.stem not in kept:
                file.unlink(missing_ok=True)
        return path


def network_of(checkpoint: str | Path) -> NnueNetwork:
    """The averaged network of a checkpoint, or of a run's newest one."""
    from tabiya.learn.config import config_from_dict

    where = Path(checkpoint)
    file = newest_checkpoint(where) if where.is_dir() else where
    if file is None:
        raise UserError(f"no checkpoint (step-….safetensors) in the folder {where}")
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
