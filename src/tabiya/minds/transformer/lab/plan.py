"""The settings of `implicit` as its TOML file gives them; without torch, so that playing needs none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from tabiya.errors import UserError
from tabiya.learn.config import refuse_below_one
from tabiya.learn.lab.anchors import Anchor
from tabiya.learn.lab.plan import LabMeasures


@dataclass(frozen=True, kw_only=True)
class Data:
    """Where the positions are."""

    games: str | None = None
    """An extracted folder: moves that people played. Several are separated by ':'."""
    labels: str | None = None
    """A teacher's score of every legal move; several files are separated by ':'."""
    games_share: float = 0.4
    """Each source's part in a batch; a source that is not named leaves its part to the others."""
    labels_share: float = 0.6
    successors_share: float = 0.0
    """The labelled moves' outcomes as positions with a value; 0 leaves them out."""

    def __post_init__(self) -> None:
        if not self.games and not self.labels:
            raise UserError("data.games or data.labels must be named: there is nothing to learn from")
        for name in ("games_share", "labels_share"):
            if getattr(self, name) <= 0:
                raise UserError(f"data.{name} must be positive, got {getattr(self, name)}")
        if self.successors_share < 0:
            raise UserError(f"data.successors_share must not be negative, got {self.successors_share}")

    def sources(self) -> list[tuple[Literal["games", "labels", "successors"], str, float]]:
        """Kind, path and share of each source."""
        found: list[tuple[Literal["games", "labels", "successors"], str, float]] = []
        if self.games:
            found.append(("games", self.games, self.games_share))
        if self.labels:
            found.append(("labels", self.labels, self.labels_share))
        if self.labels and self.successors_share > 0:
            found.append(("successors", self.labels, self.successors_share))
        return found


@dataclass(frozen=True, kw_only=True)
class Size:
    """One size at which everything is compared."""

    layers: int
    width: int
    heads: int = 8
    steps: int | None = None
    """Steps of each network of this size, if not the budget's."""

    @property
    def name(self) -> str:
        return f"{self.layers}x{self.width}"


@dataclass(frozen=True, kw_only=True)
class Training:
    """What every network gets alike, whatever it is."""

    steps: int
    batch: int = 512
    mlp_ratio: float = 4.0
    activation: Literal["gelu", "relu"] = "gelu"
    mlp_bias: bool = True
    """These two as in a network's shape: "relu" without biases trains faster."""
    value_hidden: int = 128
    policy: float = 1.0
    """Weights of the losses."""
    value: float = 0.25
    rights: float = 0.1
    refinement: float = 0.5
    refine_share: float = 0.25
    """Share of each batch that is looked at a second time, where the network can."""
    peak_rate: float = 1e-3
    final_fraction: float = 0.02
    warmup_steps: int = 200
    optimizer: Literal["muon", "adamw"] = "adamw"
    weight_decay: float = 0.01
    ema_decay: float = 0.998
    mirror: bool = True
    device: Literal["cuda", "cpu"] = "cuda"
    bf16: bool = True
    compile: bool = True
    """Compile the network's parts; all blocks are alike, so this takes seconds."""
    capture: bool = True
    """On a GPU, where parts are compiled: replay the step as one CUDA graph."""
    attention: Literal["plain", "sdpa", "flex", "fused"] = "plain"
    wide_attention: Literal["plain", "sdpa", "flex", "fused"] = "sdpa"
    """The same for networks of 149 rows."""
    report_steps: int = 100
    checkpoint_steps: int = 1000

    def __post_init__(self) -> None:
        refuse_below_one(self, "steps", "batch", "report_steps", "checkpoint_steps")
        if self.device == "cpu" and {self.attention, self.wide_attention} & {"flex", "fused"}:
            raise UserError('attention "flex" and "fused" need a GPU: use "plain" or "sdpa"')


@dataclass(frozen=True, kw_only=True)
class Measures(LabMeasures):
    """How the networks are measured once they are trained.

    Networks of one size meet each other, and the bases those of the other sizes.
    """

    anchors: tuple[Anchor, ...] = (Anchor(player="turing?at=depth:1"), Anchor(player="random"))
    people: str | None = None
    """An extracted folder, of whose held-out games the networks are asked the moves."""
    people_count: int = 2000
    labels: str | None = None
    """Move labels whose held-out positions the networks are asked; several files are separated by ':'."""
    label_count: int = 2000
    negligible_elo: float = 10.0
    """A gain whose whole interval lies this near to nothing is none."""
    negligible_share: float = 0.01
    """The same for shares of puzzles and moves."""
    threads: int = 2
    """Cores for a network's forward pass."""
    device: Literal["cpu", "cuda"] = "cpu"
    """What computes the networks: ONNX Runtime on the processor, or torch on a GPU."""

    def __post_init__(self) -> None:
        super().__post_init__()
        refuse_below_one(self, "people_count", "label_count", "threads")


@dataclass(frozen=True, kw_only=True)
class ImplicitLab:
    """The experiment."""

    experiment: Literal["implicit"]
    data: Data
    budget: Training
    sizes: tuple[Size, ...]
    measures: Measures = field(default_factory=Measures)
    seeds: tuple[int, ...] = (0, 1, 2)
    """Of the base, to show the noise; all other networks have the first."""
    variants: tuple[str, ...] = ()
    """Which networks beside the base; none named: all."""
    feedback_cycles: int = 1
    """How often the upper half of the blocks is run again in the network with feedback."""
    expected: str = ""
    """What is expected before the first step, for the record."""

    def __post_init__(self) -> None:
        if not self.sizes:
            raise UserError("implicit needs at least one size")
        names = [size.name for size in self.sizes]
        if len(set(names)) < len(names):
            raise UserError(f"a size is named twice in {', '.join(names)}")
        if not self.seeds or len(set(self.seeds)) < len(self.seeds):
            raise UserError(f"seeds must be at least one and all different, got {list(self.seeds)}")
        if self.feedback_cycles < 1:
            raise UserError(f"feedback_cycles must be at least 1, got {self.feedback_cycles}")

    def of_sizes(self, names: Sequence[str]) -> ImplicitLab:
        """The same with these of its sizes alone; none named: all."""
        return replace(self, sizes=tuple(size for size in self.sizes if not names or size.name in names))
