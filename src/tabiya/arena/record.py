"""What is kept of a game: who played, how it went, how it ended and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from tabiya.arena.books import Opening

Result: TypeAlias = Literal["1-0", "0-1", "1/2-1/2"]

Ending: TypeAlias = Literal["normal", "adjudication", "time forfeit", "rules infraction", "abandoned"]
"""PGN's own words: by the rules, by the arena, by the clock, by an illegal move, by a player that broke."""

POINTS: dict[str, float] = {"1-0": 1.0, "1/2-1/2": 0.5, "0-1": 0.0}
"""White's points by result."""


@dataclass(frozen=True)
class PlayedMove:
    """One move of a player, with what the player said of it."""

    move: str
    """UCI."""
    san: str
    score: float | None
    """Centipawns for the mover; a mate in n is ±(30000 - n)."""
    depth: int | None
    nodes: int
    seconds: float
    """As the arena's clock saw it."""


@dataclass(frozen=True, kw_only=True)
class GameRecord:
    """A finished game."""

    number: int
    """From 0; games 2k and 2k + 1 are a pair on one opening, with the colours reversed."""
    white: str
    black: str
    opening: Opening
    moves: tuple[PlayedMove, ...]
    """Those after the opening."""
    result: Result
    ending: Ending
    reason: str
    """One clause, such as "checkmate" or "stockfish crashed"."""
