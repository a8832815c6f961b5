"""One TOML file for a whole pipeline: what each phase is told, and nothing it was not asked.

The phases' training is `ResNetTraining` itself, so a setting of a run is
written here as in a run's own file. What all phases have in common stands
once, in `[train]`, and each phase's `[a.train]`, `[b.train]`, `[b.distil]` and
`[c.train]` overrides it. Sources that the pipeline makes itself are written
with an @ (see `sources`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from tabiya.data.extract import Extraction
from tabiya.errors import UserError
from tabiya.learn.config import config_from_dict, read_toml
from tabiya.minds.resnet.pipeline.sources import GAMES, LABELS, MISTAKES, OWN, check_sources
from tabiya.minds.resnet.selfplay import SelfPlaySettings
from tabiya.minds.resnet.training import ResNetTraining


def _at_least(least: int, config: Any, *names: str) -> None:
    for name in names:
        value = getattr(config, name)
        if value is not None and value < least:
            raise UserError(f"{name} must be at least {least}, got {value}")


@dataclass(frozen=True, kw_only=True)
class TeacherSettings:
    """The engine that labels, and how long it may think about a position."""

    command: str = "stockfish"
    """A UCI engine, with arguments if it takes any."""
    depth: int | None = None
    nodes: int | None = None
    movetime: float | None = None
    """Milliseconds."""
    hash: int | None = None
    """The engine's Hash option."""
    options: tuple[str, ...] = ()
    """Its other UCI options, each as NAME=VALUE."""
    workers: int = 1
    """Engines at work at once; the labels do not depend on it."""

    def __post_init__(self) -> None:
        limits = [limit for limit in (self.depth, self.nodes, self.movetime) if limit is not None]
        if not limits or min(limits) <= 0:
            raise UserError("a teacher needs a positive depth, nodes or movetime")
        _at_least(1, self, "hash", "workers")
        for option in self.options:
            if not option.partition("=")[0].strip() or "=" not in option:
                raise UserError(f"an engine option reads NAME=VALUE, got {option!r}")


@dataclass(frozen=True, kw_only=True)
class Extract:
    """Where games come from: PGN files, or a folder that `tabiya data extract` made before."""

    games: tuple[str, ...] = ()
    """PGN files, also compressed; a * stands for any name."""
    folder: str | None = None
    """An extracted folder, used as it is."""
    evals: str | None = None
    """A folder of value labels for the files of `games`."""
    keep: Extraction = field(default_factory=Extraction)
    """Which positions, and the weight of each tier."""

    def __post_init__(self) -> None:
        if bool(self.games) == (self.folder is not None):
            raise UserError("give either games (PGN files) or folder (an extracted one)")
        if self.folder is not None and (self.evals is not None or self.keep != Extraction()):
            raise UserError("evals and keep are for games; a folder is used as it is")


@dataclass(frozen=True, kw_only=True)
class PhaseA:
    """Behavioural cloning."""

    extract: Extract
    train: ResNetTraining

    def __post_init__(self) -> None:
        check_sources(self.train, "train", (GAMES,))


@dataclass(frozen=True, kw_only=True)
class Curate:
    """Which positions of the games are worth the teacher's time."""

    by: Literal["swing", "network"] = "swing"
    """swing: the move of the game lost, by the values that came with the games;
    network: phase a's policy and its own value of the successors disagree."""
    loss: float = 0.1
    """Win probability that must be lost."""
    look_at: int = 1_000_000
    """Positions of the games that the network is asked about."""
    max_positions: int = 100_000
    """0: label nothing, and learn from the given labels alone."""
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0 < self.loss <= 1:
            raise UserError(f"loss is a share of win probability above 0 and at most 1, got {self.loss}")
        _at_least(1, self, "look_at")
        _at_least(0, self, "max_positions", "seed")


@dataclass(frozen=True, kw_only=True)
class Value:
    """How many positions of the games the network labels with its own value of every successor."""

    positions: int = 10_000_000
    least: float = 0.0
    """Moves that the policy holds for less likely are not looked at, and put below the others."""
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0 <= self.least < 1:
            raise UserError(f"least is a probability from 0 to less than 1, got {self.least}")
        _at_least(1, self, "positions")
        _at_least(0, self, "seed")


@dataclass(frozen=True, kw_only=True)
class PhaseB:
    """Hard positions, every legal move labelled, many tasks at once; then the network as its own teacher."""

    curate: Curate = field(default_factory=Curate)
    labels: tuple[str, ...] = ()
    """Move labels at hand; what they hold is not labelled again."""
    train: ResNetTraining
    value: Value = field(default_factory=Value)
    distil: ResNetTraining

    def __post_init__(self) -> None:
        check_sources(self.train, "train", (GAMES, LABELS), begins_anew=False)
        check_sources(self.distil, "distil", (GAMES, LABELS, OWN), begins_anew=False)
        if self.curate.max_positions == 0 and not self.labels:
            raise UserError("with curate.max_positions = 0 there must be labels at hand: name their files")


@dataclass(frozen=True, kw_only=True)
class Openings:
    """Where self-play begins."""

    book: str | None = None
    """Positions, a .fen or .epd file; without it, positions of the games."""
    from_ply: int = 6
    to_ply: int = 16
    """Of the games, positions after so many half-moves, `to_ply` not included."""
    count: int = 10_000
    """Different openings at most."""
    seed: int = 0

    def __post_init__(self) -> None:
        _at_least(0, self, "from_ply", "seed")
        _at_least(self.from_ply + 1, self, "to_ply")
        _at_least(1, self, "count")


@dataclass(frozen=True, kw_only=True)
class PhaseC:
    """Self-play, its mistakes labelled, all that was ever labelled learned again."""

    iterations: int = 3
    selfplay: SelfPlaySettings = field(default_factory=SelfPlaySettings)
    openings: Openings = field(default_factory=Openings)
    label: Literal["mistakes", "all"] = "mistakes"
    """What the teacher is asked about: positions where the network erred by its own value, or any."""
    max_positions: int | None = None
    """Positions that an iteration asks about at most."""
    teacher_minutes: float | None = None
    """Minutes of one engine that an iteration may spend."""
    train: ResNetTraining

    def __post_init__(self) -> None:
        check_sources(self.train, "train", (GAMES, LABELS, OWN, MISTAKES), begins_anew=False)
        _at_least(1, self, "iterations", "max_positions")
        if self.teacher_minutes is not None and self.teacher_minutes <= 0:
            raise UserError(f"teacher_minutes must be positive, got {self.teacher_minutes}")


@dataclass(frozen=True, kw_only=True)
class Pipeline:
    """The three phases, in one work folder."""

    mind: Literal["resnet"] = "resnet"
    work: str
    """The folder in which everything is made."""
    puzzles: str | None = None
    """A puzzle file whose positions, and those one ply from them, are never learned from."""
    half: bool = True
    """Networks are stored with float16 weights."""
    teacher: TeacherSettings | None = None
    a: PhaseA
    b: PhaseB | None = None
    c: PhaseC | None = None

    def __post_init__(self) -> None:
        if self.teacher is None and (self.c or (self.b and self.b.curate.max_positions)):
            raise UserError("phases b and c need a [teacher]")
        if self.c is not None and self.b is None:
            raise UserError("phase c goes on from phase b: [b] is missing")
        runs = [("a.train", self.a.train)]
        runs += [("b.train", self.b.train), ("b.distil", self.b.distil)] if self.b else []
        runs += [("c.train", self.c.train)] if self.c else []
        for name, run in runs:
            if run.shape != self.a.train.shape:
                raise UserError(f"the shape of {name} differs from a.train's, whose weights it goes on from")


def read_pipeline(path: str | Path) -> Pipeline:
    """The pipeline that a TOML file describes; one sentence for whatever is wrong with it."""
    return config_from_dict(_with_common(read_toml(path), str(path)), Pipeline, str(path))


def _with_common(values: dict[str, Any], path: str) -> dict[str, Any]:
    """The file's tables with what `[train]` says of all training in each of them."""
    common = values.pop("train", {})
    if not isinstance(common, Mapping):
        raise UserError(f"setting 'train' in {path} must be a table")
    for phase, name in (("a", "train"), ("b", "train"), ("b", "distil"), ("c", "train")):
        table = values.get(phase)
        if isinstance(table, dict) and isinstance(table.get(name), Mapping):
            table[name] = _merged(common, table[name])
    return values


def _merged(common: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(common)
    for name, value in own.items():
        both = isinstance(value, Mapping) and isinstance(merged.get(name), Mapping)
        merged[name] = _merged(merged[name], value) if both else value
    return merged
