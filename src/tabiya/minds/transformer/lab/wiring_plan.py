"""The settings of `wiring`, the evolution of feedback, as its TOML file gives them; without torch."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from tabiya.errors import UserError
from tabiya.learn.config import refuse_below_one
from tabiya.minds.transformer.lab.plan import Data, Training
from tabiya.minds.transformer.shape import TransformerShape


@dataclass(frozen=True, kw_only=True)
class Evolution:
    """How wirings are looked for."""

    tries: int = 60
    """Different wirings that are trained."""
    founders: int = 16
    """The first of them, made at random."""
    parents: int = 10
    """The best so far, of which the later ones descend."""
    wires: int = 3
    """The most wires of a wiring."""
    cycles: int = 3
    """The most times that a wire is followed."""
    most_blocks: int | None = None
    """The most blocks that a wiring may run, which is what a position costs; None: as many as come about."""
    crossover: float = 0.3
    """Share of children with two parents."""
    base_seeds: tuple[int, ...] = (0, 1, 2, 3, 4)
    """Of the network without feedback; the wirings are tried with the first."""
    confirmed: int = 3
    """The best wirings that are trained again, with the base's other seeds."""
    negligible: float = 0.005
    """A difference in loss that would not matter."""
    seed: int = 0

    def __post_init__(self) -> None:
        refuse_below_one(self, "tries", "founders", "parents", "wires", "cycles")
        if not 0 <= self.crossover <= 1:
            raise UserError(f"crossover must lie between 0 and 1, got {self.crossover}")
        if len(self.base_seeds) < 3 or len(set(self.base_seeds)) < len(self.base_seeds):
            raise UserError(
                f"base_seeds must be at least 3 and all different, to tell luck from gain, "
                f"got {list(self.base_seeds)}"
            )
        if self.confirmed < 0 or self.negligible < 0:
            raise UserError("confirmed and negligible must not be negative")


@dataclass(frozen=True, kw_only=True)
class WiringLab:
    """The experiment."""

    experiment: Literal["wiring"]
    data: Data
    budget: Training
    shape: TransformerShape = field(default_factory=lambda: TransformerShape(layers=6, width=128))
    """The network that is given wires."""
    masked: bool = True
    """Illegal moves are left out before the softmax."""
    evolution: Evolution = field(default_factory=Evolution)
    expected: str = ""
    """What is expected before the first step, for the record."""

    def __post_init__(self) -> None:
        if self.shape.feedback:
            raise UserError("the shape of wiring has no feedback of its own: finding some is the experiment")
        most = self.evolution.most_blocks
        if most is not None and most <= self.shape.layers:
            raise UserError(f"most_blocks must be above the network's {self.shape.layers} layers, got {most}")
