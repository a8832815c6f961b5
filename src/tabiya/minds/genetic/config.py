"""The configuration file of a gene pool, `key = value` with `#` for comments.

All keys of the table `REQUIRED` must be there; those of `OPTIONAL` may be. A
missing, unknown, repeated or impossible one is refused by its name, before
anything is written.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal

from tabiya.errors import UserError


@dataclass(frozen=True, kw_only=True)
class PoolConfig:
    """How a gene pool is kept; a field's name is its key with underscores."""

    maximum_simultaneous_games: int
    """No more than the cores there are and the games of a turn are used."""
    gene_pool_population: int
    """Players in each pool, an even number."""
    gene_pool_count: int
    pool_swap_interval: int
    """Games in a pool between two transfers of the best to the next pool."""
    minimum_game_time: float
    """Seconds for each player."""
    maximum_game_time: float
    game_time_increment: float
    """Seconds added after each round."""
    oscillating_time: bool
    """Whether the time goes down again after it has reached the maximum."""
    gene_pool_file: str
    seed: int | None = None
    """All chance hangs on it; None: drawn when the pool begins, and then kept."""
    game_nodes: int | None = None
    """Positions for each player and game; the times are of no account then."""
    maximum_game_nodes: int | None = None
    """Where the nodes grow like the time: to this number, by `game_nodes_increment` after each round."""
    game_nodes_increment: int = 0
    game_nodes_growth: float = 0.0
    """Per cent added after each round, instead of the increment: short games are cheap, have many of them."""
    maximum_games: int | None = None
    """The run ends when so many games have been played in all pools together."""
    maximum_minutes: float | None = None
    new_blood_probability: float = 0.1
    """That after a draw the one to be replaced mates with a random genome instead."""

    @property
    def unit(self) -> Literal["seconds", "nodes"]:
        return "seconds" if self.game_nodes is None else "nodes"

    def game_clock(self, turn: int) -> float:
        """What each player has for a game of this round: seconds or positions."""
        low, high, step = self.minimum_game_time, self.maximum_game_time, self.game_time_increment
        if self.game_nodes is not None:
            low, step = float(self.game_nodes), float(self.game_nodes_increment)
            high = low if self.maximum_game_nodes is None else float(self.maximum_game_nodes)
        factor = 1 + self.game_nodes_growth / 100 if self.game_nodes is not None else 1.0
        if low == high or (step == 0 and factor == 1):
            return low
        distance = (high - low) / step if factor == 1 else math.log(high / low, factor)
        steps = math.ceil(round(distance, 9))
        if self.oscillating_time:
            turn %= 2 * steps
            turn = min(turn, 2 * steps - turn)
        turn = min(turn, steps)
        return min(high, low + turn * step if factor == 1 else round(low * factor**turn))


def _whole(low: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        value = int(text)
        if value < low:
            raise ValueError
        return value

    return read


def _real(low: float, high: float = math.inf) -> Callable[[str], float]:
    def read(text: str) -> float:
        value = float(text)
        if not (math.isfinite(value) and low <= value <= high):
            raise ValueError
        return value

    return read


def _even(text: str) -> int:
    value = int(text)
    if value < 2 or value % 2:
        raise ValueError
    return value


def _yes(text: str) -> bool:
    return {"yes": True, "no": False}[text.lower()]


def _name(text: str) -> str:
    if not text:
        raise ValueError
    return text


_SECONDS = "a number of seconds above 0"
REQUIRED: dict[str, tuple[Callable[[str], Any], str]] = {
    "maximum simultaneous games": (_whole(1), "a whole number of at least 1"),
    "gene pool population": (_even, "an even number of at least 2"),
    "gene pool count": (_whole(1), "a whole number of at least 1"),
    "pool swap interval": (_whole(1), "a whole number of at least 1"),
    "minimum game time": (_real(1e-6), _SECONDS),
    "maximum game time": (_real(1e-6), _SECONDS),
    "game time increment": (_real(0), "a number of seconds, not negative"),
    "oscillating time": (_yes, "yes or no"),
    "gene pool file": (_name, "the name of a file"),
}
OPTIONAL: dict[str, tuple[Callable[[str], Any], str]] = {
    "seed": (_whole(0), "a whole number, not negative"),
    "game nodes": (_whole(1), "a whole number of at least 1"),
    "maximum game nodes": (_whole(1), "a whole number of at least 1"),
    "game nodes increment": (_whole(0), "a whole number, not negative"),
    "game nodes growth": (_real(0, 100), "a number of per cent from 0 to 100"),
    "maximum games": (_whole(1), "a whole number of at least 1"),
    "maximum minutes": (_real(0), "a number of minutes, not negative"),
    "new blood probability": (_real(0, 1), "a number from 0 to 1"),
}


def read_config(path: Path) -> PoolConfig:
    """The settings in a file; a UserError names the line and the key that is wrong."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise UserError(f"no file {path}") from None
    except IsADirectoryError:
        raise UserError(f"{path} is a folder, a configuration file is needed") from None
    except UnicodeDecodeError:
        raise UserError(f"{path} is not a text file") from None
    known = REQUIRED | OPTIONAL
    found: dict[str, Any] = {}
    for number, line in enumerate(text.splitlines(), 1):
        line = line.partition("#")[0].strip()
        if not line:
            continue
        key, equals, value = (part.strip() for part in line.partition("="))
        key = " ".join(key.lower().split())
        if not equals:
            raise UserError(f"{path}, line {number}: expected `key = value`, got {line!r}")
        if key not in known:
            close = difflib.get_close_matches(key, known, n=1)
            hint = f", did you mean {close[0]!r}?" if close else ""
            raise UserError(f"unknown setting {key!r} in {path}, line {number}{hint}")
        if key in found:
            raise UserError(f"{key!r} stands twice in {path}, again in line {number}")
        read, wanted = known[key]
        try:
            found[key] = read(value)
        except (ValueError, KeyError):
            raise UserError(f"{key} in {path}, line {number}, must be {wanted}, got {value!r}") from None
    missing = [key for key in REQUIRED if key not in found]
    if missing:
        raise UserError(f"{path} lacks the setting {missing[0]!r}: it must be {REQUIRED[missing[0]][1]}")
    if found["minimum game time"] > found["maximum game time"]:
        raise UserError(f"the minimum game time in {path} is greater than the maximum")
    if found.get("game nodes", 1) > found.get("maximum game nodes", math.inf):
        raise UserError(f"the game nodes in {path} are more than the maximum game nodes")
    if "maximum game nodes" in found and "game nodes" not in found:
        raise UserError(f"{path} has maximum game nodes but no game nodes to begin with")
    if found.get("game nodes growth") and found.get("game nodes increment"):
        raise UserError(f"{path} has both a game nodes increment and a growth: keep one of them")
    if found.get("game nodes growth") and "maximum game nodes" not in found:
        raise UserError(f"{path} has a game nodes growth but no maximum game nodes to end it")
    names = {field.name.replace("_", " "): field.name for field in fields(PoolConfig)}
    return PoolConfig(**{names[key]: value for key, value in found.items()})
