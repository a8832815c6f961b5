"""What an experiment is told: its data, the one budget of all its networks, and how they are measured.

Read from configs/lab-resnet-*.toml. Which networks are trained follows from
the experiment's name (`variants.py`); everything they have in common is here.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from tabiya.errors import UserError
from tabiya.learn.config import refuse_below_one
from tabiya.learn.lab.anchors import Anchor
from tabiya.learn.lab.plan import LabMeasures
from tabiya.minds.resnet.loss import LossWeights
from tabiya.minds.resnet.network import ResNetShape

Name: TypeAlias = Literal["resnet-progress", "resnet-ablation", "resnet-data", "resnet-mistakes"]


@dataclass(frozen=True, kw_only=True)
class Data:
    """Where the positions are; what is not given is not taught, and the report says so."""

    games: str
    """An extracted folder with tiers."""
    labels: str | None = None
    """A teacher's score of every legal move; several files are separated by ':'."""
    own: str | None = None
    """The same kind of file, but scored by a network's own value of every successor."""
    selfplay: str | None = None
    """The teacher's scores where a network went wrong in games against itself."""
    sampled: str | None = None
    """The same of as many positions of such games, drawn by chance."""


@dataclass(frozen=True, kw_only=True)
class Shares:
    """Each source's part in a batch; where one is left out, the others grow in proportion."""

    games: float = 0.4
    labels: float = 0.15
    successors: float = 0.3
    own: float = 0.15
    corrected: float = 0.15
    """Of resnet-mistakes alone: labels of self-play, mistakes or drawn by chance."""


@dataclass(frozen=True, kw_only=True)
class Budget:
    """What every network of the experiment gets alike."""

    steps: int
    batch: int = 4096
    shape: ResNetShape = field(default_factory=lambda: ResNetShape(blocks=6, channels=64, squeeze=16))
    loss: LossWeights = field(default_factory=LossWeights)
    peak_rate: float = 2e-3
    warmup_steps: int = 500
    ema_decay: float = 0.999
    seed: int = 0
    device: Literal["cuda", "cpu"] = "cuda"
    bf16: bool = True
    compile: bool = True
    report_steps: int = 100
    checkpoint_steps: int = 2000

    def __post_init__(self) -> None:
        if self.shape.planes != 21 or self.shape.squeeze == 0 or not self.shape.own_q_head:
            raise UserError("the shape is that of the full network: 21 planes, a squeeze, its own head for Q")
        if self.loss.policy_temperature == 0 or self.loss.q == 0:
            raise UserError("the loss is that of the full network: policy_temperature and q must not be 0")

    @property
    def positions(self) -> int:
        """Positions that each network is shown, repeats included."""
        return self.steps * self.batch


@dataclass(frozen=True, kw_only=True)
class Measures(LabMeasures):
    """How the networks are measured once they are trained."""

    games: int = 100
    anchors: tuple[Anchor, ...] = (Anchor(player="turing"),)
    anchor_games: int = 50
    movetime: float | None = 50.0
    """Milliseconds that an anchor thinks about a move; networks answer at once."""
    depth: int | None = None
    """Plies that an anchor looks ahead."""
    mode: Literal["policy", "q", "mix", "value"] = "policy"
    """How the networks choose their moves."""
    puzzle_modes: tuple[Literal["policy", "q", "mix", "value"], ...] = ("policy",)
    labels: str | None = None
    """Move labels whose held-out positions the networks are asked; several files are separated by ':'."""
    label_count: int = 2000
    concurrency: int = 1
    """Games with anchors at once."""
    threads: int = 2
    """Cores for a network's forward pass."""

    def __post_init__(self) -> None:
        super().__post_init__()
        refuse_below_one(self, "label_count", "concurrency", "threads")


@dataclass(frozen=True, kw_only=True)
class Lab:
    """One experiment."""

    experiment: Name
    data: Data
    budget: Budget
    measures: Measures = field(default_factory=Measures)
    shares: Shares = field(default_factory=Shares)
    variants: tuple[str, ...] = ()
    """Which of the experiment's networks; none named: all that the data allow."""
    fractions: tuple[float, ...] = (0.01, 0.03, 0.1, 0.3, 1.0)
    """Of resnet-data alone: shares of the games and labels."""
    expected: str = ""
    """What is expected before the first step, for the record."""

    def __post_init__(self) -> None:
        if not self.fractions or min(self.fractions) <= 0 or max(self.fractions) > 1:
            raise UserError(f"fractions must be above 0 and at most 1, got {list(self.fractions)}")
        if len(set(self.fractions)) < len(self.fractions):
            raise UserError(f"a fraction is named twice in {list(self.fractions)}")
