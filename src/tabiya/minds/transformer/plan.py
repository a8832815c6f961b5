"""One run of the transformer as its TOML file describes it; and what of it each step learns from.

With a curriculum the run goes through its rating buckets in their order. A
bucket lasts as many steps as it takes to draw from it as often as it has
positions, times its epochs; the last one lasts to the end of the run. Other
sources have their share in every batch throughout.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import ceil
from typing import Literal

from tabiya.errors import UserError
from tabiya.learn.feed import Source
from tabiya.learn.run import RunSettings
from tabiya.learn.token_tables import Ratings
from tabiya.minds.transformer.attention import Way
from tabiya.minds.transformer.loss import LossWeights
from tabiya.minds.transformer.shape import TransformerShape


@dataclass(frozen=True, kw_only=True)
class Bucket:
    """Games within a range of ratings, and how long they are learned from."""

    path: str
    """An extracted folder; several separated by ':'."""
    low: int
    high: int = 1 << 15
    """The average rating of both players is at least `low` and below `high`."""
    epochs: float = 1.0
    """How often each position is seen on average; the last bucket is seen until the run ends."""
    share: float = 1.0
    """Share of each batch, beside the other sources'."""
    name: str = "games"
    """What its losses are reported under."""

    def __post_init__(self) -> None:
        if not self.low < self.high:
            raise UserError(f"a bucket's low must be below its high, got {self.low} and {self.high}")
        if self.epochs <= 0 or self.share <= 0:
            raise UserError(f"epochs and share of the bucket from {self.low} must be positive")

    @property
    def source(self) -> Source:
        return Source(kind="games", path=self.path, share=self.share, name=self.name)

    @property
    def ratings(self) -> Ratings:
        return Ratings(self.low, self.high)


@dataclass(frozen=True, kw_only=True)
class TransformerTraining(RunSettings):
    """One run, read from configs/transformer-*.toml."""

    mind: Literal["transformer"] = "transformer"
    sources: tuple[Source, ...] = ()
    """What is learned from at every step, and each source's part in a batch."""
    curriculum: tuple[Bucket, ...] = ()
    """What is learned from in turn."""
    shape: TransformerShape = field(default_factory=TransformerShape)
    loss: LossWeights = field(default_factory=LossWeights)
    refine_share: float = 0.25
    """Share of each batch that is looked at a second time, where the shape has refinement."""
    refine_from: int = 0
    """The step at which second looks begin."""
    warmup_steps: int = 1000
    """Steps of linear warm-up, counted inside `steps`."""
    optimizer: Literal["muon", "adamw"] = "adamw"
    weight_decay: float = 0.01
    clip: float = 1.0
    """Largest norm of the gradient."""
    ema_decay: float = 0.9995
    mirror: bool = True
    """Show half of the positions without castling rights in the mirror."""
    compile_mode: Literal["default", "max-autotune-no-cudagraphs"] = "default"
    attention: Way = "plain"
    """How attention is computed; the numbers are the same, the speed is not."""
    padded_rows: int = 88
    """Rows that the network computes with, a round number for the device; 0: as many as there are."""
    wide_stream: bool = False
    """With bf16: what flows from block to block stays in float32."""

    def __post_init__(self) -> None:
        if not self.sources and not self.curriculum:
            raise UserError("a training run needs a source or a curriculum")
        super().__post_init__()
        if not 0 <= self.refine_share <= 1:
            raise UserError(f"refine_share must lie between 0 and 1, got {self.refine_share}")
        if self.padded_rows and self.padded_rows < self.shape.rows:
            raise UserError(f"padded_rows must be 0 or at least {self.shape.rows}, got {self.padded_rows}")
        if self.device == "cpu" and self.attention in ("flex", "fused"):
            raise UserError(f'attention = "{self.attention}" needs a GPU: use "plain" or "sdpa"')


def stage_ends(buckets: tuple[Bucket, ...], positions: list[int], drawn: list[int], steps: int) -> list[int]:
    """The step at which each bucket ends, the last of them at `steps`.

    `positions` that each bucket holds, and how many of it are `drawn` per
    step. A bucket that is no longer reached ends where the run does.

    >>> buckets = (Bucket(path="a", low=1000, high=1500), Bucket(path="a", low=1500))
    >>> stage_ends(buckets, [1000, 5000], [100, 100], 60)
    [10, 60]
    """
    ends, end = [], 0
    for bucket, count, each in zip(buckets, positions, drawn, strict=True):
        end = min(end + ceil(bucket.epochs * count / each), steps)
        ends.append(end)
    ends[-1] = steps
    return ends
