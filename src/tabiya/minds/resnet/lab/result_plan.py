"""What the result tables are made of: a mind, its modes, and where each table's questions lie.

Read from configs/lab-resnet-tables.toml. A table without a section in the file
is left out. Any player may stand in for the ResNet; modes are the ResNet's own.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from tabiya.errors import UserError
from tabiya.player import Limit, PlayerName

Mode: TypeAlias = Literal["policy", "q", "mix", "value"]

TABLES = ("puzzles", "openings", "endgames", "size", "engines")


@dataclass(frozen=True, kw_only=True)
class Puzzles:
    """Puzzles by rating band."""

    file: str
    """In Lichess's columns."""
    count: int | None = None
    """A random sample of so many; all of them if not given."""
    value_count: int | None = None
    """The sample in mode value, which takes some thirty passes a move; as `count` if not given."""

    def __post_init__(self) -> None:
        _at_least_one(self, "count", "value_count")

    def count_for(self, player: str) -> int | None:
        by_value = PlayerName.parse(player).options.get("mode") == "value"
        return self.value_count if by_value and self.value_count is not None else self.count


@dataclass(frozen=True, kw_only=True)
class Openings:
    """The score by opening, from games already played."""

    eco: str
    """Folder of .tsv tables with the columns eco, name and pgn."""
    matches: tuple[str, ...]
    """Folders of matches and tournaments, or PGN files."""
    player: str | None = None
    """Whose score: a name as the games have it; the mind's if not given."""
    opponents: tuple[str, ...] = ()
    """Only games against these; all if none is named."""


@dataclass(frozen=True, kw_only=True)
class Endgames:
    """Results kept, by number of men."""

    syzygy: str
    """Folder of tables."""
    count: int = 4000
    """Positions in all, as many of each number of men."""
    men: tuple[int, ...] = ()
    """Every number that the tables have if none is named; more need a teacher."""
    teacher: str | None = None
    """The judge of what the tables do not reach."""
    teacher_nodes: int = 100_000

    def __post_init__(self) -> None:
        _at_least_one(self, "count", "teacher_nodes")


@dataclass(frozen=True, kw_only=True)
class Size:
    """Bytes, parameters, and the time of one pass at batch 1."""

    threads: int = 2
    runs: int = 5
    passes: int = 100
    gpu: str | None = None
    """A JSON file with a `device`, its `median_ms` and the network's `sha256`."""

    def __post_init__(self) -> None:
        _at_least_one(self, "threads", "runs", "passes")


@dataclass(frozen=True, kw_only=True)
class Engines:
    """Positions looked at and time for a move, beside players that search."""

    players: tuple[str, ...]
    """Any players' names, after the mind's own modes."""
    positions: int = 100
    book: str | None = None
    """The positions are the ends of its openings; of the built-in ones if none is named."""
    movetime: float | None = 100.0
    """Milliseconds for a move; players that do not search ignore it."""
    nodes: int | None = None
    depth: int | None = None
    ratings: tuple[str, ...] = ()
    """Results with a rating list, as `tabiya tournament` and `tabiya elo --json` write them."""

    def __post_init__(self) -> None:
        _at_least_one(self, "positions", "nodes", "depth")
        if self.movetime is not None and self.movetime <= 0:
            raise UserError(f"movetime must be above 0, got {self.movetime:g}")
        if self.movetime is None and self.nodes is None and self.depth is None:
            raise UserError("engines need a limit: movetime, nodes or depth")

    @property
    def limit(self) -> Limit:
        movetime = None if self.movetime is None else self.movetime / 1000
        return Limit(movetime=movetime, nodes=self.nodes, depth=self.depth)


@dataclass(frozen=True, kw_only=True)
class ResultTables:
    """All tables of one mind."""

    mind: str = "resnet"
    modes: tuple[Mode, ...] = ("policy", "q", "value")
    """The ResNet's modes; a mind of another kind, or one whose name has a mode, is asked as it is."""
    puzzles: Puzzles | None = None
    openings: Openings | None = None
    endgames: Endgames | None = None
    size: Size = field(default_factory=Size)
    engines: Engines | None = None
    seed: int = 0
    """Of every sample."""

    def __post_init__(self) -> None:
        if len(set(self.modes)) < len(self.modes):
            raise UserError(f"a mode is named twice in {list(self.modes)}")

    def players(self) -> list[str]:
        """The mind once for each mode, by the names that open it."""
        name = PlayerName.parse(self.mind)
        if name.kind != "resnet" or "mode" in name.options or not self.modes:
            return [self.mind]
        joint = "&" if name.options else "?"
        # The policy is what a ResNet plays by unless told otherwise, and games know it by the short name.
        return [self.mind if mode == "policy" else f"{self.mind}{joint}mode={mode}" for mode in self.modes]

    def tables(self) -> list[str]:
        """The tables that the config has a section for; a ResNet's size needs none."""
        sized = PlayerName.parse(self.mind).kind == "resnet"
        return [name for name in TABLES if getattr(self, name) is not None and (sized or name != "size")]


def _at_least_one(section: object, *names: str) -> None:
    for name in names:
        value = getattr(section, name)
        if value is not None and value < 1:
            raise UserError(f"{name} must be at least 1, got {value}")
