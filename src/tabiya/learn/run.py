"""What every training run is, whatever its network: a folder, a step, a loop that may be killed any time.

The folder has `config.json`, `log.jsonl` and the newest checkpoints. A mind's
own run says what its network is, what a step does and what a validation looks
at; that it begins, goes on from where it stood, keeps time, reports and saves
is written here once.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Literal, Protocol, TypeVar

import torch
from torch import Tensor, nn

from tabiya.errors import UserError
from tabiya.files import hold_to_settings, write_json
from tabiya.learn.checkpoint import (
    checkpoint_path,
    keep_last,
    load_weights,
    newest_checkpoint,
    optimizer_groups,
    restore,
    save_checkpoint,
    state_tensors,
)
from tabiya.learn.config import config_to_dict, refuse_below_one
from tabiya.learn.distributed import assembled, team
from tabiya.learn.log import RunLog
from tabiya.learn.muon import Muon
from tabiya.learn.run_record import BEFORE_FILE
from tabiya.learn.schedule import Ema, Kind, learning_rate
from tabiya.learn.stepper import PLAIN_STEPS


@dataclass(frozen=True, kw_only=True)
class RunSettings:
    """What every run's config has; a mind adds its sources, its shape and its losses."""

    steps: int
    minutes: float = 0.0
    """How long the run lasts: the learning rate then falls with the time and not with the steps, which are
    the most there may be, and nobody makes it again to the bit. 0: it lasts for its steps."""
    batch: int = 4096
    peak_rate: float = 1e-3
    final_fraction: float = 0.02
    """The learning rate at the last step, as a share of the peak."""
    warmup_steps: int = 500
    """Steps of linear warm-up, counted inside `steps`."""
    schedule: Kind = "cosine"
    weight_decay: float = 0.0
    ema_decay: float = 0.999
    seed: int = 0
    start_from: str | None = None
    """A checkpoint whose weights the run begins with."""
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
        refuse_below_one(self, "steps", "batch", "report_steps", "validate_steps", "checkpoint_steps", "keep")
        if self.minutes < 0:
            raise UserError(f"minutes must not be negative, got {self.minutes:g}")


Config = TypeVar("Config", bound=RunSettings)
Network = TypeVar("Network", bound=nn.Module)
HeldOut = TypeVar("HeldOut")
"""What a mind's validation looks at."""


class TrainingRun(ABC, Generic[Config, Network, HeldOut]):
    """A run in its folder: made new, or picked up where its newest checkpoint stands."""

    def __init__(self, config: Config, folder: Path, capture: bool | None = None) -> None:
        """`capture`: on a GPU, replay a step as one CUDA graph; None: where it is compiled."""
        if config.device == "cuda" and not torch.cuda.is_available():
            raise UserError('no CUDA device here: set device = "cpu", or train where there is a GPU')
        self.config, self.folder = config, folder
        self._began, self._seconds_before = time.monotonic(), 0.0
        self._capture = config.compile if capture is None else capture
        self.device = torch.device(config.device)
        self.team = team()
        self.device_turn: Callable[[], AbstractContextManager[None]] = nullcontext
        """What is held from when a step is compiled and captured, where other runs want the device too."""
        folder.mkdir(parents=True, exist_ok=True)
        if self.team.leads:
            hold_to_settings(folder / "config.json", config_to_dict(config))
        torch.manual_seed(config.seed)
        torch.set_float32_matmul_precision("high")
        self.network = self.learning_network()
        self.ema = Ema(self.network, config.ema_decay)
        self.optimizer = self.new_optimizer(self.network)
        self.step = 0
        begun = self.team.load(newest_checkpoint(folder), config.device)
        start = self.team.load(config.start_from, config.device) if begun is None else None
        if begun is not None:
            tensors, metadata = begun
            restore(self.network, self.ema, self.optimizer, tensors, metadata["optimizer"])
            self.step = int(metadata["step"])
            self._seconds_before = float(metadata.get("seconds", 0.0))
        elif start is not None:
            self.begin_with(start[0])
            self.ema = Ema(self.network, config.ema_decay)
            if self.team.leads and "before" in start[1]:
                write_json(folder / BEFORE_FILE, start[1]["before"])

    @abstractmethod
    def new_network(self) -> Network:
        """A network of the run's shape with fresh weights, on its device."""

    def learning_network(self) -> Network:
        """The network that learns, where that is computed in a way of its own."""
        return self.new_network()

    @abstractmethod
    def new_optimizer(self, network: Network) -> torch.optim.Optimizer:
        """The run's optimizer for a network of its shape."""

    @abstractmethod
    def validate(self, held_out: HeldOut) -> dict[str, float]:
        """The average network's figures on what is held out."""

    def begin_with(self, tensors: dict[str, Tensor]) -> None:
        """Take the weights of `start_from`."""
        load_weights(self.network, tensors)

    def after_step(self) -> None:
        """What the optimizer's step must not leave as it is; nothing, usually."""

    @property
    def positions_per_step(self) -> int:
        """What the reported speed counts."""
        return self.config.batch

    @property
    def captures(self) -> bool:
        """Whether a step is captured as a CUDA graph."""
        return self._capture and self.device.type == "cuda" and self.team.size == 1

    def averaged(self) -> Network:
        """The network with its averaged weights, for use."""
        network = self.new_network()
        self.ema.copy_to(network)
        network.eval()
        return network

    def seconds(self) -> float:
        """How long the run has gone on by its checkpoint and since then; what a kill took is not counted."""
        return self._seconds_before + time.monotonic() - self._began

    def spent(self) -> float:
        """The share of the run's minutes that is over; 0 where it lasts for its steps."""
        return self.seconds() / (60 * self.config.minutes) if self.config.minutes else 0.0

    def time_is_over(self) -> bool:
        """Whether the run has had its minutes."""
        return bool(self.config.minutes) and self.team.agreed(self.spent() >= 1)

    @contextmanager
    def logged(self) -> Iterator[RunLog]:
        """The run's log, closed at the end."""
        log = self.team.log(self.folder, self.step, None if self.config.minutes else self.config.steps)
        try:
            yield log
        finally:
            log.close()

    def loop(
        self,
        target: int,
        take_step: Callable[[], dict[str, Tensor]],
        held_out: HeldOut,
        log: RunLog,
        deadline: float | None,
    ) -> dict[str, float]:
        """Step by step up to `target` or the deadline; the last figures that were reported."""
        config = self.config
        figures: dict[str, float] = {}
        mark, mark_step, first = time.monotonic(), self.step, self.step
        over = self.time_is_over()
        with ExitStack() as turn:
            while self.step < target and not over:
                if self.step == first + PLAIN_STEPS + 1:
                    asked = time.monotonic()
                    turn.enter_context(self.device_turn())
                    mark, mark_step = time.monotonic(), self.step
                    log.leave_out(mark - asked)
                rate = self.set_rate()
                self.ema.advance()
                parts = take_step()
                self.step += 1
                over = self.time_is_over()
                ends = self.step == target or over
                over = over or (deadline is not None and self.team.agreed(time.monotonic() > deadline))
                validates = ends or self.step % config.validate_steps == 0
                saves = ends or over or self.step % config.checkpoint_steps == 0
                if ends or self.step % config.report_steps == 0:
                    shown = self.team.figures(parts)
                    figures |= shown
                    now = time.monotonic()
                    speed = (self.step - mark_step) * self.positions_per_step / (now - mark)
                    mark, mark_step = now, self.step
                    log.report(self.step, **shown, rate=rate, positions_per_second=speed)
                if validates:
                    checked = self.validate(held_out)
                    figures |= checked
                    log.report(self.step, **checked)
                if saves:
                    self.save()
                if validates or saves:
                    mark, mark_step = time.monotonic(), self.step
        return figures

    def set_rate(self) -> float:
        """Set the learning rate of the step to come."""
        config, step = self.config, self.step
        if config.minutes and step >= config.warmup_steps:
            step = min(max(config.warmup_steps, int(self.spent() * config.steps)), config.steps)
        rate = learning_rate(
            step,
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

    def descend(self, loss: Tensor, largest_norm: float | None = None) -> None:
        """Backward, optimizer and average, for the loss of one batch."""
        self.optimizer.zero_grad(set_to_none=True)
        torch.autograd.backward(loss)
        self.team.average_gradients(self.network.parameters())
        if largest_norm is not None:
            nn.utils.clip_grad_norm_(self.network.parameters(), largest_norm)
        self.optimizer.step()
        self.after_step()
        self.ema.absorb(self.network)

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
                **({"seconds": self.seconds()} if self.config.minutes else {}),
                "config": config_to_dict(self.config),
                "optimizer": optimizer_groups(self.network, self.optimizer),
            },
        )
        keep_last(self.folder, self.config.keep)
        return path


class PlayableRun(Protocol):
    """A run that leaves a network to play with."""

    step: int

    @property
    def config(self) -> RunSettings: ...

    def train(self, minutes: float | None = None) -> dict[str, Any]: ...

    def export(self) -> Path: ...


def carried_out(device: str, begin: Callable[[], PlayableRun], minutes: float | None) -> dict[str, Any]:
    """A run from where it stands, by all processes there are; its figures.

    The network is written as ONNX where the training stops.
    """
    with assembled(device) as all_of_us:
        run = begin()
        figures = run.train(minutes)
    figures = {"step": run.step, "steps": run.config.steps, **figures}
    if run.step > 0 and all_of_us.leads:
        figures["network"] = str(run.export())
    return figures


def deadline_after(minutes: float | None) -> float | None:
    """The monotonic time at which so many minutes from now are over."""
    return None if minutes is None else time.monotonic() + 60 * minutes


def optimizer_for(
    groups: list[dict[str, Any]], peak_rate: float, device: torch.device, muon: bool = False
) -> torch.optim.Optimizer:
    """AdamW, or Muon with the first group as the matrices that it makes orthogonal."""
    # A captured step reads the rate from the device, where each step's is written before it.
    rate: Any = torch.tensor(peak_rate, device=device) if device.type == "cuda" else peak_rate
    if muon:
        groups[0]["matrices"] = True
        return Muon(groups, lr=rate)
    if device.type == "cpu":
        return torch.optim.AdamW(groups, lr=rate)
    return torch.optim.AdamW(groups, lr=rate, fused=True, capturable=True)
