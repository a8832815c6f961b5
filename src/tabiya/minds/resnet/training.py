"""One training run of the ResNet: from tables on the device to checkpoints, resumable at any step.

A run is a folder: `config.json`, `log.jsonl`, the newest checkpoints, and the
network as ONNX beside each, so that `resnet:FOLDER` plays it.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias

import torch
from torch import Tensor, nn

from tabiya.data.shards import Split
from tabiya.errors import UserError
from tabiya.files import refuse_other_settings, replacing
from tabiya.learn.checkpoint import (
    checkpoint_path,
    keep_last,
    load_fitting,
    load_weights,
    newest_checkpoint,
    optimizer_groups,
    restore,
    save_checkpoint,
    state_tensors,
)
from tabiya.learn.common_norm import use_common_norms
from tabiya.learn.config import config_to_dict, load_config
from tabiya.learn.distributed import assembled, by_the_first, team
from tabiya.learn.feed import Feed, NothingThereError, Source, Table, load
from tabiya.learn.log import RunLog
from tabiya.learn.muon import Muon
from tabiya.learn.planes import planes_of
from tabiya.learn.schedule import Ema, Kind, learning_rate
from tabiya.learn.stepper import Stepper
from tabiya.minds.resnet.growth import grown
from tabiya.minds.resnet.loss import LossWeights, losses
from tabiya.minds.resnet.network import ResNet, ResNetShape, parameter_count

VALIDATION_ROWS = 1 << 15
"""Held-out positions of each source that a validation looks at."""


@dataclass(frozen=True, kw_only=True)
class ResNetTraining:
    """One run, read from configs/resnet-*.toml."""

    mind: Literal["resnet"] = "resnet"
    sources: tuple[Source, ...]
    """What is learned from, and each source's part in every batch."""
    steps: int
    batch: int = 4096
    shape: ResNetShape = field(default_factory=ResNetShape)
    loss: LossWeights = field(default_factory=LossWeights)
    peak_rate: float = 2e-3
    final_fraction: float = 0.02
    """The learning rate at the last step, as a share of the peak."""
    warmup_steps: int = 500
    """Steps of linear warm-up, counted inside `steps`."""
    schedule: Kind = "cosine"
    optimizer: Literal["muon", "adamw"] = "adamw"
    weight_decay: float = 1e-4
    clip: float = 5.0
    """Largest norm of the gradient."""
    ema_decay: float = 0.999
    mirror: bool = True
    """Show half of the positions without castling rights in the mirror."""
    seed: int = 0
    start_from: str | None = None
    """A checkpoint whose weights the run begins with."""
    start_partly: bool = False
    """Take from it what fits: other parts begin afresh, and a wider network as the narrow one."""
    device: Literal["cuda", "cpu"] = "cuda"
    bf16: bool = True
    compile: bool = True
    """Compile the network and, on a GPU, capture the whole step."""
    report_steps: int = 100
    validate_steps: int = 2000
    checkpoint_steps: int = 2000
    keep: int = 2
    """Checkpoints kept."""

    def __post_init__(self) -> None:
        if not self.sources:
            raise UserError("a training run needs at least one source")
        for name in ("steps", "batch", "report_steps", "validate_steps", "checkpoint_steps", "keep"):
            if getattr(self, name) < 1:
                raise UserError(f"{name} must be at least 1, got {getattr(self, name)}")


LoadTable: TypeAlias = Callable[[Source, Split, torch.device], Table]


class _Reader(nn.Module):
    """Packed positions in, the network's outputs out: what is compiled as one."""

    def __init__(self, network: ResNet) -> None:
        super().__init__()
        self.network = network

    def forward(self, packed: Tensor, mirror: Tensor | None) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        planes = planes_of(packed, self.network.shape.planes, mirror)
        return self.network.learning(planes.contiguous(memory_format=torch.channels_last))


class Run:
    """A run in its folder: made new, or picked up where its newest checkpoint stands."""

    def __init__(self, config: ResNetTraining, folder: Path, tables: LoadTable = load) -> None:
        if config.device == "cuda" and not torch.cuda.is_available():
            raise UserError('no CUDA device here: set device = "cpu", or train where there is a GPU')
        self.config, self.folder, self._load_table = config, folder, tables
        self.device = torch.device(config.device)
        self.team = team()
        folder.mkdir(parents=True, exist_ok=True)
        self._remember_config()
        torch.manual_seed(config.seed)
        torch.set_float32_matmul_precision("high")
        torch.backends.cudnn.benchmark = True
        self.network = self.new_network()
        use_common_norms(self.network)
        self.ema = Ema(self.network, config.ema_decay)
        self.optimizer = self.new_optimizer(self.network)
        self.step = 0
        begun = self.team.load(newest_checkpoint(folder), config.device)
        start = self.team.load(config.start_from, config.device) if begun is None else None
        if begun is not None:
            tensors, metadata = begun
            restore(self.network, self.ema, self.optimizer, tensors, metadata["optimizer"])
            self.step = int(metadata["step"])
        elif start is not None:
            tensors, _ = start
            if config.start_partly:
                load_fitting(self.network, grown(tensors, self.network))
            else:
                load_weights(self.network, tensors)
            self.ema = Ema(self.network, config.ema_decay)
        self.reader: nn.Module = _Reader(self.network)
        if config.compile:
            self.reader = torch.compile(self.reader)  # type: ignore[assignment]

    @property
    def captures(self) -> bool:
        """Whether a step is captured as a CUDA graph."""
        return self.config.compile and self.device.type == "cuda" and self.team.size == 1

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

    def new_network(self) -> ResNet:
        """A network of the run's shape with fresh weights."""
        return ResNet(self.config.shape).to(self.device).to(memory_format=torch.channels_last)

    def new_optimizer(self, network: ResNet) -> torch.optim.Optimizer:
        """The run's optimizer for a network of its shape."""
        config = self.config
        # What reads the features out is no matrix to be made orthogonal: its rows mean different things.
        heads = {
            p
            for part in (network.policy, network.q, network.wdl, network.bins)
            if part
            for p in part.parameters()
        }
        parameters = list(network.parameters())
        tower = [p for p in parameters if p.ndim > 1 and p not in heads]
        last = [p for p in parameters if p.ndim > 1 and p in heads]
        groups: list[dict[str, Any]] = [
            {"params": tower, "weight_decay": config.weight_decay},
            {"params": last, "weight_decay": config.weight_decay},
            {"params": [p for p in parameters if p.ndim <= 1], "weight_decay": 0.0},
        ]
        # A captured step reads the rate from the device, where each step's is written before it.
        rate: Any = config.peak_rate
        if self.device.type == "cuda":
            rate = torch.tensor(config.peak_rate, device=self.device)
        if config.optimizer == "muon":
            groups[0]["matrices"] = True
            return Muon(groups, lr=rate)
        if self.device.type == "cpu":
            return torch.optim.AdamW(groups, lr=rate)
        return torch.optim.AdamW(groups, lr=rate, fused=True, capturable=True)

    def train(self, minutes: float | None = None) -> dict[str, Any]:
        """Train to the last step, or until the minutes are over; the last report's figures."""
        feed, held_out = self.feed("train"), self.held_out()
        with self.logged() as log:
            log.note(
                f"{parameter_count(self.network):,} parameters, "
                f"{feed.counts} positions of each source in a batch"
            )
            return self.train_to(self.config.steps, feed, held_out, log, minutes)

    @contextmanager
    def logged(self) -> Iterator[RunLog]:
        """The run's log, closed at the end."""
        log = self.team.log(self.folder, self.step, self.config.steps)
        try:
            yield log
        finally:
            log.close()

    def train_to(
        self, target: int, feed: Feed, held_out: list[Table], log: RunLog, minutes: float | None = None
    ) -> dict[str, Any]:
        """Train up to a step with batches of this feed, or until the minutes are over."""
        config = self.config
        started = time.monotonic()
        stepper = Stepper(lambda draws: self.one_step(feed.take(draws)), capture=self.captures)
        figures: dict[str, Any] = {}
        mark, mark_step = time.monotonic(), self.step
        while self.step < target:
            rate = learning_rate(
                self.step,
                steps=config.steps,
                peak=config.peak_rate,
                warmup_steps=min(config.warmup_steps, config.steps - 1),
                final_fraction=config.final_fraction,
                kind=config.schedule,
            )
            self._set_rate(rate)
            self.ema.advance()
            parts = stepper(feed.draw(self.step))
            self.step += 1
            ends = self.step == target
            if ends or self.step % config.report_steps == 0:
                figures = self.team.figures(parts)
                now = time.monotonic()
                speed = (self.step - mark_step) * config.batch / (now - mark)
                mark, mark_step = now, self.step
                log.report(self.step, **figures, rate=rate, positions_per_second=speed)
            if ends or self.step % config.validate_steps == 0:
                log.report(self.step, **self.validate(held_out))
                mark, mark_step = time.monotonic(), self.step
            over = minutes is not None and self.team.agreed(time.monotonic() - started > minutes * 60)
            if ends or over or self.step % config.checkpoint_steps == 0:
                self.save()
                mark, mark_step = time.monotonic(), self.step
            if over:
                break
        return figures

    def feed(self, split: Split) -> Feed:
        """Batches of this run's sources."""
        tables = [self.load(source, split) for source in self.config.sources]
        shares = [source.share for source in self.config.sources]
        return Feed(tables, shares, self.config.batch, self.config.seed, self.config.mirror)

    def load(self, source: Source, split: Split) -> Table:
        """One source's positions on the run's device."""
        return self._load_table(source, split, self.device)

    def held_out(self) -> list[Table]:
        """A fixed sample of each source's held-out positions, where it has some."""
        generator = torch.Generator().manual_seed(0)
        sample = []
        for source in self.config.sources:
            try:
                table = self.load(source, "validation")
            except NothingThereError:
                continue  # too few to hold any out: it is learned from all the same
            rows = torch.randperm(len(table), generator=generator)[:VALIDATION_ROWS]
            sample.append(table.take(rows.to(self.device)))
        return sample

    def _set_rate(self, rate: float) -> None:
        for group in self.optimizer.param_groups:
            if isinstance(group["lr"], Tensor):
                group["lr"].fill_(rate)
            else:
                group["lr"] = rate

    def one_step(self, parts: list[Table]) -> dict[str, Tensor]:
        """Forward, backward, optimizer and average, for one batch; its losses."""
        self.network.train()
        packed = torch.cat([part.packed for part in parts])
        mirrors = [part.mirror for part in parts if part.mirror is not None]
        mirror = torch.cat(mirrors) if mirrors else None
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.config.bf16):
            outputs = self.reader(packed, mirror)
        figures = losses(outputs, parts, self.config.loss, self.network.places)
        self.optimizer.zero_grad(set_to_none=True)
        torch.autograd.backward(figures["loss"])
        self.team.average_gradients(self.network.parameters())
        nn.utils.clip_grad_norm_(self.network.parameters(), self.config.clip)
        self.optimizer.step()
        self.ema.absorb(self.network)
        return {name: value.detach() for name, value in figures.items()}

    @by_the_first
    @torch.no_grad()
    def validate(self, held_out: list[Table]) -> dict[str, float]:
        """The average network's losses on held-out positions."""
        network = self.averaged()
        sums: dict[str, float] = {}
        for table in held_out:
            size = self.config.batch
            chunks = range(0, len(table), size)
            for start in chunks:
                part = table.take(torch.arange(start, min(start + size, len(table)), device=self.device))
                with torch.autocast(self.device.type, torch.bfloat16, enabled=self.config.bf16):
                    outputs = network(planes_of(part.packed, self.config.shape.planes))
                for name, value in losses(outputs, [part], self.config.loss).items():
                    if name != "loss":
                        key = f"validation_{name}"
                        sums[key] = sums.get(key, 0.0) + float(value) * len(part) / len(table)
        return sums

    def averaged(self) -> ResNet:
        """The network with its averaged weights, for use."""
        network = self.new_network()
        self.ema.copy_to(network)
        network.eval()
        return network

    def save(self) -> Path:
        """A checkpoint that training goes on from."""
        path = checkpoint_path(self.folder, self.step)
        if not self.team.leads:
            return path
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
        return path

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
    """`tabiya train` of this mind: the run of a config in its folder, from where it stands; its figures."""
    config = load_config(path, ResNetTraining)
    with assembled(config.device):
        run = Run(config, out)
        figures = run.train(minutes)
    return {"step": run.step, "steps": run.config.steps, **figures}


def speed(path: Path) -> dict[str, Any]:
    """`tabiya train --speed` of this mind."""
    import tempfile

    from tabiya.minds.resnet.speed import measure

    with tempfile.TemporaryDirectory() as folder:
        return measure(Run(load_config(path, ResNetTraining), Path(folder)))
