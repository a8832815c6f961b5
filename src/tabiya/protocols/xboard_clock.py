"""The time controls of xboard: `level`, `st`, `sd`, `time` and `otim`, turned into a `Limit`."""

from __future__ import annotations

import math
from dataclasses import dataclass

from tabiya.player import Limit

_LONGEST_SECONDS = 10.0**7


@dataclass
class XboardClock:
    """What the program last told us about time; five minutes a game until it does."""

    moves_per_session: int = 0
    base: float = 300.0
    increment: float = 0.0
    seconds_per_move: float | None = None
    depth: int | None = None
    own: float | None = None
    """Our clock in seconds, from `time`."""
    other: float | None = None
    """The opponent's, from `otim`."""

    def level(self, words: list[str]) -> None:
        """`level MPS BASE INC`; BASE is minutes or minutes:seconds, MPS 0 the whole game."""
        if len(words) != 3:
            raise ValueError("level must read: level MOVES MINUTES[:SECONDS] INCREMENT")
        moves = int(_number(words[0]))
        minutes, _, seconds = words[1].partition(":")
        base = 60 * _number(minutes) + (_number(seconds) if seconds else 0.0)
        increment = _number(words[2])
        self.moves_per_session, self.base, self.increment = moves, base, increment
        self.seconds_per_move = self.own = self.other = None

    def st(self, words: list[str]) -> None:
        """`st SECONDS`: so much for every move."""
        self.seconds_per_move = _number(_only(words, "st"))

    def sd(self, words: list[str]) -> None:
        """`sd DEPTH`: no deeper than this."""
        self.depth = max(1, int(_number(_only(words, "sd"))))

    def time(self, words: list[str]) -> None:
        self.own = _number(_only(words, "time")) / 100

    def otim(self, words: list[str]) -> None:
        self.other = _number(_only(words, "otim")) / 100

    def limit(self, white: bool, moves_played: int) -> Limit:
        """The limit for a move of ours, of which `moves_played` came before."""
        if self.seconds_per_move is not None:
            return Limit(movetime=self.seconds_per_move, depth=self.depth)
        own = self.base if self.own is None else self.own
        other = self.base if self.other is None else self.other
        to_go = None
        if self.moves_per_session > 0:
            to_go = self.moves_per_session - moves_played % self.moves_per_session
        return Limit(
            white_clock=own if white else other,
            black_clock=other if white else own,
            white_increment=self.increment,
            black_increment=self.increment,
            moves_to_go=to_go,
            depth=self.depth,
        )


def _only(words: list[str], command: str) -> str:
    if len(words) != 1:
        raise ValueError(f"{command} needs one number")
    return words[0]


def _number(text: str) -> float:
    """A number of at least 0; clocks of lost games may be negative and count as 0."""
    try:
        value = float(text)
    except ValueError:
        raise ValueError(f"{text!r} is not a number") from None
    if math.isnan(value):
        raise ValueError(f"{text!r} is not a number")
    return max(0.0, min(value, _LONGEST_SECONDS))
