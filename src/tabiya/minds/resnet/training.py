"""One training run of the ResNet: from tables on the device to checkpoints, resumable at any step.

A run is a folder: `config.json`, `log.jsonl`, the newest checkpoints, and the
network as ONNX beside each, so that `resnet:FOLDER` plays it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeAlias

import torch
from torch import Tensor, nn

from tabiya.data.shards import Split
from tabiya.errors import UserError
from tabiya.learn.checkpoint import (
    load_checkpoint,
    load_fitting,
    load_weights,
    save_checkpoint,
    state_tensors,
)
from tabiya.learn.common_norm import use_common_norms
from tabiya.learn.config import config_to_dict, load_config
from tabiya.learn.distributed import by_the_first
from tabiya.learn.feed import Feed, Source, Table, load
from tabiya.learn.growing import GrowingTables, begun
from tabiya.learn.held_out import average_losses, held_out_sample
from tabiya.learn.log import RunLog
from tabiya.learn.planes import planes_of
from tabiya.learn.run import RunSettings, TrainingRun, carried_out, deadline_after, optimizer_for
from tabiya.learn.stepper import Stepper
from tabiya.minds.resnet.compiled import compiled
from tabiya.minds.resnet.growth import grown
from tabiya.minds.resnet.judge import Judge
from tabiya.minds.resnet.loss import LossWeights, Outputs, losses
from tabiya.minds.resnet.network import ResNet, ResNetShape, parameter_count
from tabiya.minds.resnet.opinions import opinion_losses, teacher_from
from tabiya.minds.resnet.reconsidering import Reconsidering, leanings, staying
from tabiya.minds.resnet.saved import saved_network


@dataclass(frozen=True, kw_only=True)
class ResNetTraining(RunSettings):
    """One run, read from configs/resnet-*.toml."""

    mind: Literal["resnet"] = "resnet"
    sources: tuple[Source, ...]
    """What is learned from, and each source's part in every batch."""
    shape: ResNetShape = field(default_factory=ResNetShape)
    loss: LossWeights = field(default_factory=LossWeights)
    peak_rate: float = 2e-3
    optimizer: Literal["muon", "adamw"] = "adamw"
    weight_decay: float = 1e-4
    clip: float = 5.0
    """Largest norm of the gradient."""
    mirror: bool = True
    """Show half of the positions without castling rights in the mirror."""
    look_again_steps: int = 0
    """After so many steps each, folders of games are read on: what they have gained joins. 0: never."""
    reconsider: Reconsidering | None = None
    """Sources of games whose moves are learned as the network itself reconsiders them."""
    taught_by: str | None = None
    """A ResNet's checkpoint whose opinions are taught beside the labels."""
    taught_steps: int = 0
    """For so many steps."""
    start_partly: bool = False
    """Take from `start_from` what fits: other parts begin afresh, and a wider network as the narrow one."""

    def __post_init__(self) -> None:
        if not self.sources:
            raise UserError("a training run needs at least one source")
        if self.look_again_steps < 0:
            raise UserError(f"look_again_steps must not be negative, got {self.look_again_steps}")
        if (self.taught_by is None) != (self.taught_steps < 1):
            raise UserError("taught_by and taught_steps go together: who teaches, and for how many steps")
        if self.reconsider is not None:
            for name in self.reconsider.sources:
                if not any(each.kind == "games" and _name(each) == name for each in self.sources):
                    raise UserError(f"reconsider names '{name}', which is no source of games here")
        super().__post_init__()


def _name(source: Source) -> str:
    return source.name or source.kind


LoadTable: TypeAlias = Callable[[Source, Split, torch.device], Table]


class _Reader(nn.Module):
    """Packed positions in, the network's outputs out: what is compiled as one."""

    def __init__(self, network: ResNet) -> None:
        super().__init__()
        self.network = network

    def forward(self, packed: Tensor, mirror: Tensor | None) -> Outputs:
        planes = planes_of(packed, self.network.shape.planes, mirror)
        return self.network.learning(planes.contiguous(memory_format=torch.channels_last))


class Run(TrainingRun[ResNetTraining, ResNet, list[Table]]):
    """The ResNet's run."""

    def __init__(self, config: ResNetTraining, folder: Path, tables: LoadTable = load) -> None:
        self._load_table = tables
        torch.backends.cudnn.benchmark = True
        super().__init__(config, folder)
        self.reader = self._compiled(_Reader(self.network))
        self.teacher: nn.Module | None = None
        if config.taught_by is not None and self.step < config.taught_steps:
            teacher = teacher_from(config.taught_by, config.shape, self.device)
            self.teacher = self._compiled(_Reader(teacher))
        self.judge: Judge | None = None
        self._second_looks: list[str] = []
        """What was reconsidered and is not in the log yet, which is opened after the first of it."""

    def _compiled(self, reader: _Reader) -> nn.Module:
        return compiled(reader, reader.network.shape) if self.config.compile else reader

    def new_network(self) -> ResNet:
        """A network of the run's shape with fresh weights."""
        return ResNet(self.config.shape).to(self.device).to(memory_format=torch.channels_last)

    def learning_network(self) -> ResNet:
        network = self.new_network()
        use_common_norms(network)
        if self.device.type == "cuda":
            network.fuse()
        return network

    def begin_with(self, tensors: dict[str, Tensor]) -> None:
        if self.config.start_partly:
            load_fitting(self.network, grown(tensors, self.network))
        else:
            super().begin_with(tensors)

    def new_optimizer(self, network: ResNet) -> torch.optim.Optimizer:
        config = self.config
        # What reads the features out is no matrix to be made orthogonal: its rows mean different things.
        heads = {
            p
            for part in (network.policy, network.q, network.wdl, network.bins)
            if part
            for p in part.parameters()
        }
        if network.tower is not None:
            heads |= {network.tower.places, *network.tower.pairs.parameters()}
        parameters = list(network.parameters())
        tower = [p for p in parameters if p.ndim > 1 and p not in heads]
        last = [p for p in parameters if p.ndim > 1 and p in heads]
        groups: list[dict[str, Any]] = [
            {"params": tower, "weight_decay": config.weight_decay},
            {"params": last, "weight_decay": config.weight_decay},
            {"params": [p for p in parameters if p.ndim <= 1], "weight_decay": 0.0},
        ]
        return optimizer_for(groups, config.peak_rate, self.device, muon=config.optimizer == "muon")

    def train(self, minutes: float | None = None) -> dict[str, Any]:
        """Train to the last step, or until the minutes are over; the last report's figures."""
        config = self.config
        self._call_judge()
        growing = None
        if config.look_again_steps:
            growing = GrowingTables(config.sources, self.device, self._reconsidered)
            tables = growing.tables
        else:
            tables = [self._reconsidered(each, self.load(each, "train")) for each in config.sources]
        feed, held_out = self.feed_of(tables), self.held_out()
        deadline, figures = deadline_after(minutes), dict[str, Any]()
        with self.logged() as log:
            log.note(
                f"{parameter_count(self.network):,} parameters, "
                f"{feed.counts} positions of each source in a batch"
            )
            while True:
                self._tell_second_looks(log)
                target = self._next_stop()
                figures |= self.train_to(target, feed, held_out, log, deadline)
                if self.step < target or self.step == config.steps:
                    return figures
                if config.reconsider and config.reconsider.steps and self.step % config.reconsider.steps == 0:
                    self._call_judge()
                    for source, table in zip(config.sources, tables, strict=True):
                        self._reconsidered(source, table)
                if growing is not None and self.step % config.look_again_steps == 0:
                    log.note(f"{growing.look_again():,} positions more")
                feed = self.feed_of(tables)

    def _next_stop(self) -> int:
        """Up to where steps are alike: folders are read on, moves reconsidered, or a teacher leaves."""
        config = self.config
        stops = [config.steps]
        for every in (config.look_again_steps, config.reconsider.steps if config.reconsider else 0):
            if every:
                stops.append((self.step // every + 1) * every)
        if self.step < config.taught_steps:
            stops.append(config.taught_steps)
        return min(stops)

    def _call_judge(self) -> None:
        """Have moves reconsidered from now on by the network whose turn it is.

        That is the average of the last step at which it was due, or the one that is named to begin with. An
        average is kept as a file, so that a run which was stopped goes on with the same judge.
        """
        settings = self.config.reconsider
        if settings is None:
            return
        due = self.step - self.step % settings.steps if settings.steps else 0
        if due == 0 and settings.by is not None:
            self.judge = Judge(saved_network(settings.by).network, self.device, self.config.compile)
            return
        path = self.folder / f"judge-{due:08}.safetensors"
        if self.step == due and not path.exists():
            save_checkpoint(path, state_tensors(model=self.averaged(), rng=False), {"step": due})
        if self.judge is None or self.judge.network.shape != self.config.shape:
            self.judge = Judge(self.new_network(), self.device, self.config.compile)
        # Into the judge that there is: what was compiled for it serves again.
        load_weights(self.judge.network, load_checkpoint(path, self.device)[0])

    def _reconsidered(self, source: Source, table: Table) -> Table:
        """The table, with what is to be learned of its moves if it is one of those that are reconsidered.

        Where positions with little news are to be thinned out, those that stay.
        """
        settings = self.config.reconsider
        if settings is not None and _name(source) in settings.sources:
            assert self.judge is not None
            began, count = time.monotonic(), len(table)
            table.leaning, told = leanings(self.judge, table, settings, os.cpu_count() or 1)
            if settings.news:
                table = table.take(staying(told, settings, self.config.seed))
            took = time.monotonic() - began
            self._second_looks.append(
                f"{count:,} positions of {table.kind} reconsidered in {took:.0f} s, {len(table):,} stay"
            )
        return table

    def _tell_second_looks(self, log: RunLog) -> None:
        for sentence in self._second_looks:
            log.note(sentence)
        self._second_looks.clear()

    def train_to(
        self, target: int, feed: Feed, held_out: list[Table], log: RunLog, deadline: float | None = None
    ) -> dict[str, Any]:
        """Train up to a step with batches of this feed, or until the deadline."""
        stepper = Stepper(lambda draws: self.one_step(feed.take(draws)), capture=self.captures)
        return self.loop(target, lambda: stepper(feed.draw(self.step)), held_out, log, deadline)

    def feed(self, split: Split) -> Feed:
        """Batches of this run's sources."""
        return self.feed_of([self.load(source, split) for source in self.config.sources])

    def feed_of(self, tables: list[Table]) -> Feed:
        """Batches of these tables, one for each source."""
        shares = [source.share for source in self.config.sources]
        return Feed(tables, shares, self.config.batch, self.config.seed, self.config.mirror)

    def load(self, source: Source, split: Split) -> Table:
        """One source's positions on the run's device."""
        return self._load_table(source, split, self.device)

    def held_out(self) -> list[Table]:
        """A fixed sample of each source's held-out positions, where it has some."""
        sources = self.config.sources
        if self.config.look_again_steps:
            sources = tuple(begun(source) for source in sources)
        loads = [partial(self.load, source, "validation") for source in sources]
        return held_out_sample(loads, self.device)

    def one_step(self, parts: list[Table]) -> dict[str, Tensor]:
        """Forward, backward, optimizer and average, for one batch; its losses."""
        figures, outputs, packed, mirror = self.looked(parts)
        if self.teacher is not None and self.step < self.config.taught_steps:
            figures |= self._opinions(outputs, parts, packed, mirror)
            figures["loss"] = figures["loss"] + self.config.loss.opinion * figures["opinion"]
        self.descend(figures["loss"], self.config.clip)
        return {name: value.detach() for name, value in figures.items()}

    def looked(self, parts: list[Table]) -> tuple[dict[str, Tensor], Outputs, Tensor, Tensor | None]:
        """The losses of one batch, what the network said of it, and what it was shown."""
        self.network.train()
        packed = torch.cat([part.packed for part in parts])
        mirrors = [part.mirror for part in parts if part.mirror is not None]
        mirror = torch.cat(mirrors) if mirrors else None
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.config.bf16):
            outputs = self.reader(packed, mirror)
        return losses(outputs, parts, self.config.loss, self.network.places), outputs, packed, mirror

    def _opinions(
        self, outputs: Outputs, parts: list[Table], packed: Tensor, mirror: Tensor | None
    ) -> dict[str, Tensor]:
        """How far the network is from its teacher, whole and in parts."""
        assert self.teacher is not None
        with torch.no_grad(), torch.autocast(self.device.type, torch.bfloat16, enabled=self.config.bf16):
            opinions = self.teacher(packed, mirror)
        figures = opinion_losses(outputs, opinions, parts, self.network.places)
        return {"opinion": torch.stack(list(figures.values())).sum(), **figures}

    @by_the_first
    @torch.no_grad()
    def validate(self, held_out: list[Table]) -> dict[str, float]:
        """The average network's losses on held-out positions."""
        network = self.averaged()

        def of(part: Table) -> dict[str, Tensor]:
            with torch.autocast(self.device.type, torch.bfloat16, enabled=self.config.bf16):
                outputs = network(planes_of(part.packed, self.config.shape.planes))
            return losses(outputs, [part], self.config.loss)

        return average_losses(held_out, self.config.batch, self.device, of)

    def export(self, half: bool = True) -> Path:
        """The averaged network as an ONNX file with its manifest in the run's folder."""
        from tabiya.learn.export import export_onnx
        from tabiya.learn.sidecar import write_sidecar

        path = self.folder / f"step-{self.step:08}.onnx"
        export_onnx(self.averaged(), self.config.shape.planes, path, half=half)
        write_sidecar(
            path,
            kind="resnet",
            planes=self.config.shape.planes,
            parameters=parameter_count(self.network),
            config=config_to_dict(self.config),
        )
        return path


def train(path: Path, out: Path, minutes: float | None = None) -> dict[str, Any]:
    """`tabiya train` of this mind: the run of a config in its folder."""
    config = load_config(path, ResNetTraining)
    return carried_out(config.device, lambda: Run(config, out), minutes)


def speed(path: Path) -> dict[str, Any]:
    """`tabiya train --speed` of this mind."""
    import tempfile

    from tabiya.minds.resnet.speed import measure

    with tempfile.TemporaryDirectory() as folder:
        return measure(Run(load_config(path, ResNetTraining), Path(folder)))
