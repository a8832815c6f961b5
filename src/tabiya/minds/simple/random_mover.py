"""`random`: any legal move, each as likely. The floor of every rating list.

Its moves follow from the seed and the position with its history, not from what
was asked before, so that a game played again is the same game.
"""

from __future__ import annotations

import random
import time

from tabiya._core import Board
from tabiya.minds.simple.settings import apply, find_option, whole_number
from tabiya.player import Decision, Limit, Player, PlayerName, PlayerOption, ScoredMove

_OPTIONS = (PlayerOption("Seed", "spin", "-1", low=-1, high=2**31 - 1),)


def open_player(name: PlayerName) -> Player:
    player = RandomMover()
    apply(name, player.set_option)
    return player


class RandomMover(Player):
    """Seed -1, the default, is a different stream each time; any other repeats itself."""

    name = "random"

    def __init__(self, seed: int | None = None) -> None:
        self._seed = seed
        self._unseeded = random.Random()

    def play(self, board: Board, limit: Limit) -> Decision:
        began = time.perf_counter()
        moves = board.legal_moves()
        if self._seed is None:
            stream = self._unseeded
        else:
            stream = random.Random(f"{self._seed} {board.start_fen} {' '.join(board.moves)}")
        move = stream.choice(moves)
        each = 1 / len(moves)
        return Decision(
            move=move,
            moves=tuple(ScoredMove(candidate, p=each) for candidate in moves),
            seconds=time.perf_counter() - began,
        )

    def options(self) -> tuple[PlayerOption, ...]:
        return _OPTIONS

    def set_option(self, name: str, value: str) -> None:
        seed = whole_number(find_option(_OPTIONS, self.name, name), value)
        self._seed = None if seed < 0 else seed
