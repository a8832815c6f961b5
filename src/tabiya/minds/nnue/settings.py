"""The settings of the NNUE player: their names, ranges and defaults, read and refused in one way.

A setting comes as text, from a player's name (`nnue?threads=2&hash=64`) or
from a chess program, which calls it by UCI's name ("Move Overhead"); capitals,
spaces and underscores make no difference.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass, replace
from typing import Any

from tabiya.player import PlayerOption

CLEAR_HASH = "Clear Hash"
"""Not a setting but a button: forget what was learnt of the game."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What the search may use, and which network judges."""

    hash: int = 64
    """Mebibytes for positions met before."""

    threads: int = 1
    """Cores to think with."""

    multipv: int = 1
    """Best lines to look for."""

    move_overhead: int = 10
    """Milliseconds that each move loses on its way to the clock."""

    eval_file: str = ""
    """A network of this mind's own format; empty: the one that the player's name stands for."""

    without: str = ""
    """Techniques of the search to do without, separated by commas: to learn what they are worth."""

    def changed(self, name: str, text: str) -> Settings:
        """These settings with one of them read from `text`; a ValueError says what was wrong."""
        option = find_option(name)
        if option.name not in _FIELDS:
            raise ValueError(f"{option.name} is done at once, it is no setting to be kept")
        value: str | int = text
        if option.kind == "spin":
            value = _whole(option, text)
        changes: dict[str, Any] = {_FIELDS[option.name]: value}
        return replace(self, **changes)


_FIELDS = {
    "Hash": "hash",
    "Threads": "threads",
    "MultiPV": "multipv",
    "Move Overhead": "move_overhead",
    "EvalFile": "eval_file",
    "Without": "without",
}
_RANGES = {"Hash": (1, 65_536), "Threads": (1, 256), "MultiPV": (1, 256), "Move Overhead": (0, 5_000)}


def options() -> tuple[PlayerOption, ...]:
    """The settings as a chess program is shown them."""
    usual = Settings()
    shown = []
    for name, field in _FIELDS.items():
        default = str(getattr(usual, field))
        if name in _RANGES:
            low, high = _RANGES[name]
            shown.append(PlayerOption(name, "spin", default, low=low, high=high))
        else:
            shown.append(PlayerOption(name, "string", default))
    return (*shown, PlayerOption(CLEAR_HASH, "button", ""))


def find_option(name: str) -> PlayerOption:
    """The option called `name` in any way of writing it; a ValueError hints at the nearest."""
    known = {_plain(option.name): option for option in options()}
    plain = _plain(name)
    if plain in known:
        return known[plain]
    close = difflib.get_close_matches(plain, known, n=1)
    names = ", ".join(option.name for option in known.values())
    hint = f", did you mean {known[close[0]].name!r}?" if close else f"; there are {names}"
    raise ValueError(f"nnue has no option {name!r}{hint}")


def _plain(name: str) -> str:
    return name.lower().replace(" ", "").replace("_", "")


def _whole(option: PlayerOption, text: str) -> int:
    try:
        value = int(text)
    except ValueError:
        raise ValueError(f"{option.name} must be a whole number, not {text!r}") from None
    low, high = _RANGES[option.name]
    if not low <= value <= high:
        raise ValueError(f"{option.name} must lie between {low} and {high}, not {value}")
    return value
