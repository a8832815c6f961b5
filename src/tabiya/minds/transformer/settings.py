"""The settings of the transformer player: those of every player without search, and the second pass."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tabiya.searchless.settings import DRAWING, JUDGING, Allowed, Choice, SearchlessSettings, Whole


@dataclass(frozen=True, kw_only=True)
class Settings(SearchlessSettings):
    """How the player turns what the network says into a move."""

    MIND = "transformer"
    ALLOWED: ClassVar[Allowed] = {
        "mode": Choice("policy", "second", "value"),
        "passes": Whole(1, 2),
        **DRAWING,
        "repetition": Choice("any", "third", "allow"),
        **JUDGING,
    }

    passes: int = 1
    """In modes policy and second: 2 has the three likeliest moves reconsidered."""
