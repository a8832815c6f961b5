"""`montecarlo`: plays complete random games after every move and picks what won most.

No evaluation, no tree: one counter of wins, draws and losses per legal move,
so memory does not grow with thought. UCB1 hands the next batch of games to
the move whose share could still be the best.
"""

from __future__ import annotations

import math
import random
import threading
import time
from dataclasses import dataclass

from tabiya._core import Board, playouts
from tabiya.minds.simple.settings import apply, find_option, whole_number
from tabiya.player import Decision, Limit, Player, PlayerName, PlayerOption, ScoredMove

DEFAULT_SECONDS = 1.0
"""Thought for a move when the limit names neither time nor games."""

_OPTIONS = (
    PlayerOption("Seed", "spin", "-1", low=-1, high=2**31 - 1),
    PlayerOption("MaxPlies", "spin", "400", low=1, high=10_000),
)
_BATCH = 8
# The exploration constant of UCB1 for shares in [0, 1].
_EXPLORE = math.sqrt(2)


def open_player(name: PlayerName) -> Player:
    player = MonteCarlo()
    apply(name, player.set_option)
    return player


@dataclass
class Tally:
    """How the random games after one move ended, seen from the one who played it."""

    move: str
    wins: int = 0
    draws: int = 0
    losses: int = 0

    @property
    def games(self) -> int:
        return self.wins + self.draws + self.losses

    @property
    def share(self) -> float:
        """Points per game in [0, 1]; a half where nothing was played."""
        return (self.wins + self.draws / 2) / self.games if self.games else 0.5

    def upper_bound(self, all_games: int) -> float:
        """UCB1: the share plus what it may still be off; unplayed moves first."""
        if not self.games:
            return math.inf
        return self.share + _EXPLORE * math.sqrt(math.log(all_games) / self.games)


class MonteCarlo(Player):
    """A limit's `nodes` are random games. With a seed and `nodes`, the move is always the same."""

    name = "montecarlo"

    def __init__(self, seed: int | None = None, max_plies: int = 400) -> None:
        self._seed = seed
        self._max_plies = max_plies
        self._stopped = threading.Event()

    def play(self, board: Board, limit: Limit) -> Decision:
        self._stopped.clear()
        began = time.perf_counter()
        tallies = [Tally(move) for move in board.legal_moves()]
        stream = random.Random(
            None if self._seed is None else f"{self._seed} {board.start_fen} {' '.join(board.moves)}"
        )
        played, allowed, seconds = 0, limit.nodes, None
        if not limit.infinite:
            seconds = limit.seconds_for_move(board.white_to_move)
            if seconds is None and allowed is None:
                seconds = DEFAULT_SECONDS
        # Few games among many moves: smaller batches, so that every move gets its turn.
        usual = _BATCH if allowed is None else max(1, min(_BATCH, allowed // len(tallies)))
        while len(tallies) > 1 or played == 0:
            batch = usual if allowed is None or limit.infinite else min(usual, allowed - played)
            if batch <= 0 or (played and self._stopped.is_set()):
                break
            if played and seconds is not None and time.perf_counter() - began >= seconds:
                break
            tally = max(tallies, key=lambda each: each.upper_bound(played))
            wins, draws, losses = playouts(board, tally.move, batch, stream.getrandbits(63), self._max_plies)
            tally.wins += wins
            tally.draws += draws
            tally.losses += losses
            played += batch
        # The move tried most, not the highest share: a share of few games may be luck.
        ranked = sorted(tallies, key=lambda each: (each.games, each.share), reverse=True)
        best = ranked[0]
        return Decision(
            move=best.move,
            wdl=(best.wins / best.games, best.draws / best.games, best.losses / best.games),
            moves=tuple(ScoredMove(each.move, p=each.games / played) for each in ranked),
            nodes=played,
            seconds=time.perf_counter() - began,
            pv=(best.move,),
        )

    def stop(self) -> None:
        self._stopped.set()

    def options(self) -> tuple[PlayerOption, ...]:
        return _OPTIONS

    def set_option(self, name: str, value: str) -> None:
        option = find_option(_OPTIONS, self.name, name)
        number = whole_number(option, value)
        if option.name == "Seed":
            self._seed = None if number < 0 else number
        else:
            self._max_plies = number
