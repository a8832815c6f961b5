"""A chess clock: two sides, one running, an increment with every move."""

from __future__ import annotations

import time
from typing import Any

from tabiya.web import limits, wishes
from tabiya.web.refusal import Refusal


class Clock:
    """Seconds left by side (True is White); `running` is the side whose time is passing."""

    def __init__(
        self, seconds: float, increment: float, white: float | None = None, black: float | None = None
    ):
        self.seconds, self.increment = seconds, increment
        self._left = {True: seconds if white is None else white, False: seconds if black is None else black}
        self.running: bool | None = None
        self._since = 0.0

    def left(self, white: bool) -> float:
        """Seconds, never below 0."""
        passed = time.monotonic() - self._since if self.running is white else 0.0
        return max(0.0, self._left[white] - passed)

    def start(self, white: bool) -> None:
        self.stop()
        self.running, self._since = white, time.monotonic()

    def stop(self) -> None:
        if self.running is not None:
            self._left[self.running] = self.left(self.running)
            self.running = None

    def press(self, white: bool) -> None:
        """The side has moved: it gains its increment, and the other's time runs."""
        self.stop()
        self._left[white] += self.increment
        self.start(not white)

    def fallen(self) -> bool | None:
        """The side whose flag is down."""
        return next((side for side in (True, False) if self.left(side) <= 0), None)

    def to_json(self) -> dict[str, Any]:
        return {
            "seconds": self.seconds,
            "increment": self.increment,
            "white": round(self.left(True), 3),
            "black": round(self.left(False), 3),
        }


def read_clock(wish: dict[str, Any] | None) -> Clock | None:
    """The clock that a request asks for, at its beginning or as a game left it."""
    if wish is None:
        return None
    wishes.refuse_others(wish, ("seconds", "increment", "white", "black"), "the clock")
    seconds = wishes.number(wish, "seconds", 5, limits.LONGEST_CLOCK)
    if seconds is None:
        raise Refusal("a clock needs its seconds")
    increment = wishes.number(wish, "increment", 0, limits.LONGEST_INCREMENT) or 0.0
    most = limits.LONGEST_CLOCK + limits.LONGEST_GAME * limits.LONGEST_INCREMENT
    return Clock(
        seconds, increment, wishes.number(wish, "white", 0, most), wishes.number(wish, "black", 0, most)
    )
