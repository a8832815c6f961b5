"""What an experiment is told: its data, the one budget of all its networks, and how they are measured.

Read from configs/lab-*.toml. Which networks are trained follows from the
experiment's name (`variants.py`); everything they have in common is here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from tabiya.arena.game import Pace
from tabiya.arena.tournament import Form
from tabiya.errors import UserError
from tabiya.learn.config import refuse_below_one
from tabiya.learn.lab.plan import LabMeasures
from tabiya.minds.nnue.data import Keep
from tabiya.minds.nnue.loss import NnueLoss
from tabiya.minds.nnue.network import NnueShape, feature_set
from tabiya.minds.nnue.sources import NnueSource
from tabiya.player import Limit

Name: TypeAlias = Literal[
    "nnue-sweep",
    "axes",
    "pairs",
    "mobility",
    "attacks",
    "symmetry",
    "piece-move",
    "statistical",
    "neurons",
    "pqr",
]


@dataclass(frozen=True, kw_only=True)
class Data:
    """Where the positions are."""

    sources: tuple[NnueSource, ...]
    """With a teacher's word on them, and each source's part in a batch."""
    played: tuple[NnueSource, ...] = ()
    """Of pqr alone: games, or labels, that teach by the move that was played or is best."""

    def __post_init__(self) -> None:
        if not self.sources:
            raise UserError("an experiment needs at least one source: [[data.sources]]")
        for source in self.played:
            if source.kind == "successors":
                raise UserError(f"{source.path}: successors have no moves to learn from; use games or labels")


@dataclass(frozen=True, kw_only=True)
class Budget:
    """What every network of the experiment gets alike."""

    steps: int
    batch: int = 16_384
    shape: NnueShape = field(default_factory=NnueShape)
    """What a variant does not say otherwise."""
    loss: NnueLoss = field(default_factory=NnueLoss)
    peak_rate: float = 1e-3
    final_fraction: float = 0.01
    warmup_steps: int = 100
    ema_decay: float = 0.998
    seed: int = 0
    device: Literal["cuda", "cpu"] = "cuda"
    bf16: bool = True
    compile: bool = False
    """A network here trains for seconds: compiling it takes longer than it saves."""
    capture: bool = True
    """On a GPU, run the whole step as one CUDA graph."""
    keep_data: Keep = "auto"
    curve_points: int = 20
    """Validations on the way, for the loss curve."""
    checkpoint_steps: int = 10_000

    def __post_init__(self) -> None:
        refuse_below_one(self, "steps", "batch", "curve_points", "checkpoint_steps")
        if self.loss.method != "evaluations":
            raise UserError("the budget's loss is that of evaluations: its method is for pqr to change")


@dataclass(frozen=True, kw_only=True)
class Measures(LabMeasures):
    """How the networks are measured once they are trained."""

    form: Form = "round-robin"
    """Everyone against everyone, or (gauntlet) the baseline against each of the others."""
    clock: str | None = None
    """Seconds and increment of a game, such as "2+0.02"."""
    movetime: float | None = None
    """Milliseconds for each move instead; 100 where nothing is said."""
    nodes: int | None = None
    """Or nodes for each move: what a network costs in time then counts for nothing."""
    resign_score: float | None = 1000.0
    """Centipawns on which both must agree for a game to be decided."""
    hash: int = 16
    """Mebibytes of each player's table."""
    puzzle_count: int = 1000
    puzzle_movetime: float = 100.0
    """Milliseconds for each move of a solution."""
    puzzle_nodes: int | None = None
    """Nodes instead, which answer the same everywhere."""
    humans: str | None = None
    """An extracted folder of games: how often a network finds the move that was played there."""
    human_count: int = 2000
    human_nodes: int = 1000
    """Nodes of search for each; the choice without search is counted beside it."""
    pgn: str | None = None
    """Games on which the feature sets' updates and refreshes are counted."""
    pgn_games: int = 100
    speed_positions: int = 20
    """Openings that are searched for the nodes a second."""
    speed_nodes: int = 20_000
    concurrency: int = 1
    """Games, and questions, at once."""

    def __post_init__(self) -> None:
        super().__post_init__()
        refuse_below_one(self, "human_count", "human_nodes", "pgn_games")
        refuse_below_one(self, "speed_positions", "speed_nodes", "hash", "concurrency")
        if self.puzzle_movetime <= 0:
            raise UserError(f"puzzle_movetime must be above 0, got {self.puzzle_movetime}")
        given = [name for name in ("clock", "movetime", "nodes") if getattr(self, name) is not None]
        if len(given) > 1:
            raise UserError(f"games have one of clock, movetime and nodes, got {' and '.join(given)}")
        self.pace()

    def games_between(self, networks: int) -> int:
        return (networks - 1) * self.games if self.form == "gauntlet" else super().games_between(networks)

    def pace(self) -> Pace:
        """Of the games."""
        if self.clock is not None:
            return Pace.parse_clock(self.clock)
        if self.nodes is not None:
            return Pace(nodes=self.nodes)
        return Pace(movetime=(100.0 if self.movetime is None else self.movetime) / 1000)

    def puzzle_limit(self) -> Limit:
        if self.puzzle_nodes is not None:
            return Limit(nodes=self.puzzle_nodes)
        return Limit(movetime=self.puzzle_movetime / 1000)


@dataclass(frozen=True, kw_only=True)
class Grid:
    """Of nnue-sweep: the sizes that are tried."""

    l1: tuple[int, ...] = (256, 512, 1024, 2048)
    l2: tuple[int, ...] = (8, 16, 32, 64, 128, 256)
    extra: tuple[int, ...] = (32,)
    """Sizes of one more layer, behind the budget's own L1 and every L2 up to the budget's own."""


@dataclass(frozen=True, kw_only=True)
class Statistics:
    """Of statistical: how features are chosen from all pairs of pieces."""

    counts: tuple[int, ...] = (1024, 4096, 16384)
    """How many are taken."""
    positions: int = 200_000
    """On which their frequency is counted."""
    scout_l1: int = 32
    """First layer of the network that is trained on all pairs, to see which of them it uses."""
    scout_steps: int = 400

    def __post_init__(self) -> None:
        if not self.counts or min(self.counts) < 1:
            raise UserError(f"counts must name at least one number above 0, got {list(self.counts)}")
        refuse_below_one(self, "positions", "scout_l1", "scout_steps")


@dataclass(frozen=True, kw_only=True)
class Tuning:
    """Of pqr: how a network that a teacher has taught is tuned by moves."""

    steps_share: float = 0.25
    """Of the budget's steps."""
    rate_share: float = 0.1
    """Of the budget's learning rate."""

    def __post_init__(self) -> None:
        for name in ("steps_share", "rate_share"):
            if not 0 < getattr(self, name) <= 1:
                raise UserError(f"{name} must be above 0 and at most 1, got {getattr(self, name)}")


@dataclass(frozen=True, kw_only=True)
class Added:
    """A network of your own beside those of the experiment; what is not given is the budget's."""

    name: str
    features: str
    l1: int | None = None
    l2: int | None = None
    extra: int | None = None

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9-]*", self.name):
            raise UserError(f"a network's name is made of letters, digits and '-', got {self.name!r}")
        feature_set(self.features)


@dataclass(frozen=True, kw_only=True)
class Lab:
    """One experiment."""

    experiment: Name
    data: Data
    budget: Budget
    measures: Measures = field(default_factory=Measures)
    grid: Grid = field(default_factory=Grid)
    statistics: Statistics = field(default_factory=Statistics)
    tuning: Tuning = field(default_factory=Tuning)
    variants: tuple[str, ...] = ()
    """Which of the experiment's networks; none named: all."""
    added: tuple[Added, ...] = ()
    expected: str = ""
    """What is expected before the first step, for the record."""

    def __post_init__(self) -> None:
        if self.experiment == "pqr" and not self.data.played:
            raise UserError("pqr learns from moves: name games or labels as [[data.played]]")
