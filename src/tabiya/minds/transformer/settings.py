"""The settings of the transformer player: their names, ranges and defaults, read and refused in one way.

A setting comes as text, from a player's name (`transformer?passes=2`) or from
a chess program, and a wrong one is answered with what would be right.
"""

from __future__ import annotations

import difflib
import math
from dataclasses import dataclass, fields, replace
from typing import Any

from tabiya.player import PlayerOption

_CHOICES = {
    "mode": ("policy", "value"),
    "repetition": ("any", "third", "allow"),
    "value": ("bins", "wdl"),
}
_WHOLE = {"passes": (1, 2), "threads": (1, 256), "seed": (-1, 2**31 - 1)}
_REAL = {"temperature": (0.0, 100.0), "top_p": (0.0, 1.0), "margin": (-0.5, 0.5)}


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How the player turns what the network says into a move."""

    mode: str = "policy"
    """What is trusted: the policy (one pass of the position, or two), or value (one per successor)."""

    passes: int = 1
    """In mode policy: 2 has the three likeliest moves reconsidered."""

    temperature: float = 0.0
    """0 plays the best move; above, moves are drawn from the probabilities to the power 1/temperature."""

    top_p: float = 1.0
    """Only the likeliest moves that together reach this probability are drawn from."""

    repetition: str = "any"
    """Which repetitions a better side refuses: any, only the third, or none."""

    margin: float = 0.05
    """How far above one half the expected score must be for the side to be better."""

    value: str = "bins"
    """The head that the expected score comes from."""

    threads: int = 2
    """Cores that one forward pass may use."""

    seed: int = -1
    """-1 draws differently each time; any other number repeats itself."""

    def changed(self, name: str, text: str) -> Settings:
        """These settings with one of them read from `text`; a ValueError says what was wrong."""
        known = [field.name for field in fields(self)]
        if name.lower() not in known:
            close = difflib.get_close_matches(name.lower(), known, n=1)
            hint = f", did you mean {close[0]!r}?" if close else f"; there are {', '.join(known)}"
            raise ValueError(f"transformer has no option {name!r}{hint}")
        changes: dict[str, Any] = {name.lower(): _read(name.lower(), text)}
        return replace(self, **changes)


def options() -> tuple[PlayerOption, ...]:
    """The settings as a chess program is shown them; numbers with a fraction go as text."""
    return tuple(_option(field.name, str(field.default)) for field in fields(Settings))


def _option(name: str, default: str) -> PlayerOption:
    if name in _CHOICES:
        return PlayerOption(name, "combo", default, choices=_CHOICES[name])
    if name in _WHOLE:
        low, high = _WHOLE[name]
        return PlayerOption(name, "spin", default, low=low, high=high)
    return PlayerOption(name, "string", default)


def _read(name: str, text: str) -> str | int | float:
    if name in _CHOICES:
        if text.lower() not in _CHOICES[name]:
            raise ValueError(f"{name} must be one of {', '.join(_CHOICES[name])}, not {text!r}")
        return text.lower()
    value: int | float
    try:
        value = int(text) if name in _WHOLE else float(text)
    except ValueError:
        kind = "a whole number" if name in _WHOLE else "a number"
        raise ValueError(f"{name} must be {kind}, not {text!r}") from None
    low, high = _WHOLE[name] if name in _WHOLE else _REAL[name]
    if not (math.isfinite(value) and low <= value <= high):
        raise ValueError(f"{name} must lie between {low:g} and {high:g}, not {text}")
    return value
