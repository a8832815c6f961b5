"""What every experiment is told, whatever the mind: above all how its networks are measured.

Each mind's experiments add what only they can be asked.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from tabiya.arena.books import Book
from tabiya.learn.config import refuse_below_one
from tabiya.learn.lab.anchors import Anchor, refuse_twins


@dataclass(frozen=True, kw_only=True)
class LabMeasures:
    """Games of the networks with each other and with anchors, and puzzles."""

    games: int = 20
    """For each pair of networks."""
    anchors: tuple[Anchor, ...] = ()
    anchor_games: int = 20
    """For each network and anchor, and between the anchors."""
    max_moves: int | None = 200
    """Longer games are draws."""
    book: str | None = None
    """Openings, each played with both colours; the built-in ones if none are named."""
    puzzles: str | None = None
    puzzle_count: int = 2000
    seed: int = 0

    def __post_init__(self) -> None:
        refuse_below_one(self, "games", "anchor_games", "puzzle_count")
        refuse_twins(self.anchors)

    def read_book(self) -> Book:
        return Book.read(self.book) if self.book else Book.built_in()

    def games_between(self, networks: int) -> int:
        """How many games so many networks have with each other: everyone against everyone."""
        return networks * (networks - 1) // 2 * self.games

    def expected_games(self, networks: int) -> int:
        """How many games an experiment has when all are played, those with anchors too."""
        anchors = len(self.anchors)
        with_anchors = anchors * networks + anchors * (anchors - 1) // 2
        return self.games_between(networks) + with_anchors * self.anchor_games


class LabPlan(Protocol):
    """The settings of one experiment."""

    @property
    def experiment(self) -> str: ...

    @property
    def budget(self) -> Any:
        """What every network gets alike, each mind's own."""

    @property
    def measures(self) -> LabMeasures: ...

    @property
    def expected(self) -> str:
        """What is expected before the first step, for the record."""
