"""The settings of a player without search: names, ranges and defaults, read and refused in one way.

A setting comes as text, from a player's name (`resnet?mode=q&temperature=0.5`)
or from a chess program, and a wrong one is answered with what would be right.
A mind adds its own settings, and says in `ALLOWED` what each may be, in the
order in which they are shown.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Self, TypeAlias

from tabiya.player import PlayerOption


class Choice:
    """One of some words, whatever its capitals."""

    def __init__(self, *words: str) -> None:
        self.words = words

    def read(self, name: str, text: str) -> str:
        if text.lower() not in self.words:
            raise ValueError(f"{name} must be one of {', '.join(self.words)}, not {text!r}")
        return text.lower()

    def shown(self, name: str, default: str) -> PlayerOption:
        return PlayerOption(name, "combo", default, choices=self.words)


@dataclass(frozen=True)
class Real:
    """A number between two others; chess programs have no such kind and are shown a text."""

    low: float
    high: float

    def read(self, name: str, text: str) -> float:
        return self._within(name, text, float, "a number")

    def shown(self, name: str, default: str) -> PlayerOption:
        return PlayerOption(name, "string", default)

    def _within(self, name: str, text: str, number: Callable[[str], float], words: str) -> float:
        try:
            value = number(text)
        except ValueError:
            raise ValueError(f"{name} must be {words}, not {text!r}") from None
        if not (math.isfinite(value) and self.low <= value <= self.high):
            raise ValueError(f"{name} must lie between {self.low:g} and {self.high:g}, not {text}")
        return value


@dataclass(frozen=True)
class Whole(Real):
    """A whole number between two others."""

    low: int
    high: int

    def read(self, name: str, text: str) -> float:
        return self._within(name, text, int, "a whole number")

    def shown(self, name: str, default: str) -> PlayerOption:
        return PlayerOption(name, "spin", default, low=self.low, high=self.high)


Allowed: TypeAlias = dict[str, Choice | Real]
"""What each setting may be, in the order in which they are shown."""

DRAWING: Allowed = {"temperature": Real(0.0, 100.0), "top_p": Real(0.0, 1.0)}
JUDGING: Allowed = {
    "stalemate": Choice("refuse", "allow"),
    "margin": Real(-0.5, 0.5),
    "prior": Real(0.0, 1.0),
    "value": Choice("bins", "wdl"),
    "threads": Whole(1, 256),
    "seed": Whole(-1, 2**31 - 1),
}
"""The same for every mind; which modes and rules about repetitions there are is its own."""


@dataclass(frozen=True, kw_only=True)
class SearchlessSettings:
    """How a player turns what its network says into a move."""

    MIND: ClassVar[str]
    ALLOWED: ClassVar[Allowed]

    mode: str = "policy"
    """What is trusted: the policy (of the position), value (of every successor), or second: the policy and
    the values of what its three likeliest moves lead to."""

    temperature: float = 0.0
    """0 plays the best move; above, moves are drawn from the probabilities to the power 1/temperature."""

    top_p: float = 1.0
    """Only the likeliest moves that together reach this probability are drawn from."""

    repetition: str = "any"
    """Which repetitions a better side refuses: any, only the third, or none ("allow")."""

    stalemate: str = "refuse"
    """Whether a better side refuses moves that end the game drawn on the board."""

    margin: float = 0.05
    """How far above one half the expected score must be for the side to be better."""

    prior: float = 1.0
    """In mode second: how much of the policy's own leaning counts among the moves looked at."""

    value: str = "bins"
    """The head that the expected score comes from."""

    threads: int = 2
    """Cores that one forward pass may use."""

    seed: int = -1
    """-1 draws differently each time; any other number repeats itself."""

    def changed(self, name: str, text: str) -> Self:
        """These settings with one of them read from `text`; a ValueError says what was wrong."""
        key, known = name.lower(), self.ALLOWED
        if key not in known:
            close = difflib.get_close_matches(key, known, n=1)
            hint = f", did you mean {close[0]!r}?" if close else f"; there are {', '.join(known)}"
            raise ValueError(f"{self.MIND} has no option {name!r}{hint}")
        changes: dict[str, Any] = {key: known[key].read(key, text)}
        return replace(self, **changes)

    @classmethod
    def options(cls) -> tuple[PlayerOption, ...]:
        """The settings as a chess program is shown them, each with its default."""
        usual = {field.name: str(field.default) for field in fields(cls)}
        return tuple(allowed.shown(name, usual[name]) for name, allowed in cls.ALLOWED.items())
