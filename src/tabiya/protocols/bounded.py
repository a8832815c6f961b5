"""A player with a limit of its own, whatever the game allows: `turing?at=depth:3`, `nnue?at=nodes:1000`.

Matches give both sides the same limit. Where they shall not have it (an engine
held to so many nodes against one on a clock, a mind at a fixed depth), the
limit stands in the player's name, like everything else that tells two players
apart. The game's clock stands still for such a player: who is to look at
100,000 positions cannot be in time trouble.
"""

from __future__ import annotations

from tabiya._core import Board
from tabiya.player import Decision, Limit, Player, PlayerError, PlayerOption, Report

SETTING = "at"
_KINDS = ("nodes", "depth", "movetime")


def read_bound(text: str) -> Limit:
    """`nodes:1000`, `depth:5` or `movetime:100` (milliseconds).

    >>> read_bound("depth:5").depth
    5
    """
    kind, _, amount = text.partition(":")
    if kind not in _KINDS or not amount.isdecimal() or int(amount) < 1:
        raise PlayerError(f"{SETTING} must read nodes:N, depth:N or movetime:MILLISECONDS, not {text!r}")
    count = int(amount)
    if kind == "movetime":
        return Limit(movetime=count / 1000)
    return Limit(nodes=count) if kind == "nodes" else Limit(depth=count)


class Bounded(Player):
    """Another player, asked with its own limit instead of the game's."""

    timed = False

    def __init__(self, inner: Player, bound: Limit) -> None:
        self._inner, self._bound = inner, bound
        self.name, self.note = inner.name, inner.note

    def play(self, board: Board, limit: Limit) -> Decision:
        self._inner.report = None if self.report is None else self._tell
        return self._inner.play(board, limit if limit.infinite else self._bound)

    def _tell(self, report: Report) -> None:
        if self.report is not None:
            self.report(report)

    def new_game(self) -> None:
        self._inner.new_game()

    def stop(self) -> None:
        self._inner.stop()

    def close(self) -> None:
        self._inner.close()

    def options(self) -> tuple[PlayerOption, ...]:
        return self._inner.options()

    def set_option(self, name: str, value: str) -> None:
        self._inner.set_option(name, value)
