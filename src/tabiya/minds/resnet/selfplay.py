"""Self-play in large batches, and the positions in it that the policy got wrong.

One network plays both sides of thousands of games, all decided together. A
*mistake* is a position in which the policy's move is worth clearly less than
the best one by the same network's value of the successors: the network could
have known better, so a teacher's time is well spent there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tabiya import _core
from tabiya.data.labels import MoveLabels
from tabiya.data.scale import MOVE_MATE
from tabiya.data.worth import label_worth
from tabiya.errors import UserError
from tabiya.minds.resnet.endings import random_endings
from tabiya.minds.resnet.judge import Judge

WIDTH = 128
"""Legal moves looked at; positions with more are as good as unknown."""


@dataclass(frozen=True, kw_only=True)
class SelfPlaySettings:
    """How games are played and what counts as a mistake."""

    games: int = 4096
    plies: int = 240
    """Moves of both sides together, after which a game is left as drawn."""
    temperature: float = 0.7
    """How freely moves are drawn in the first `warm_plies`; afterwards the likeliest is played."""
    warm_plies: int = 12
    endings: float = 0.0
    """Share of the games that begin with few men on random squares (`tabiya.minds.resnet.endings`)."""
    margin: float = 0.08
    """Worth that the policy's move must lose to be a mistake."""
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("games", "plies"):
            if getattr(self, name) < 1:
                raise UserError(f"{name} must be at least 1, got {getattr(self, name)}")
        if self.temperature < 0 or self.warm_plies < 0:
            raise UserError("temperature and warm_plies must not be negative")
        if not 0 <= self.margin <= 1 or not 0 <= self.endings <= 1:
            raise UserError(f"margin and endings lie in 0 to 1, got {self.margin} and {self.endings}")


@dataclass(frozen=True)
class Played:
    """All positions of all games, in the order in which they were decided."""

    packed: NDArray[np.uint8]
    likeliest: NDArray[np.int16]
    """The slot, among the legal moves in UCI order, of the move that the policy prefers."""
    game: NDArray[np.int64]
    """Which game each position is of."""
    results: list[tuple[str, str]]
    """Of each game, with its reason."""
    moves: list[list[str]]
    """Of each game."""


def self_play(judge: Judge, openings: Sequence[str], settings: SelfPlaySettings, threads: int = 1) -> Played:
    """Play games from the openings (FENs), each as often as needed, and keep what was seen."""
    if not openings:
        raise UserError("self-play needs at least one opening")
    chance = np.random.default_rng(settings.seed)
    endings = random_endings(round(settings.endings * settings.games), settings.seed)
    picked = chance.integers(len(openings), size=settings.games - len(endings))
    games = _core.Games([*endings, *(openings[at] for at in picked)], settings.plies, threads)
    packed, likeliest, numbers = [], [], []
    ply = 0
    while len(live := games.live):
        seen = games.packed()
        legal = _core.legal_rows(seen, "planes", "mover", WIDTH, threads)
        log_p = judge.policy(seen, legal)
        best = log_p.argmax(1).astype(np.int16)
        packed.append(seen)
        likeliest.append(best)
        numbers.append(live)
        warm = ply < settings.warm_plies and settings.temperature > 0
        chosen = _drawn(log_p / settings.temperature, chance) if warm else _fresh(games, log_p)
        games.push(chosen)
        ply += 1
    count = range(len(games))
    return Played(
        np.concatenate(packed),
        np.concatenate(likeliest),
        np.concatenate(numbers),
        [games.result(number) for number in count],
        [games.moves(number) for number in count],
    )


def mistakes(played: Played, labels: MoveLabels, margin: float) -> NDArray[np.int64]:
    """Numbers of the positions whose likeliest move is worth at least `margin` less than the best.

    `labels` score every legal move of `played.packed`, by whomever.
    """
    _, offsets, scores = labels
    value = label_worth(scores, MOVE_MATE)
    best = np.maximum.reduceat(value, offsets[:-1])
    chosen = value[offsets[:-1] + played.likeliest]
    return np.flatnonzero(best - chosen >= margin)


def level_positions(
    judge: Judge, packed: NDArray[np.uint8], level: float, others: float, seed: int
) -> NDArray[np.int64]:
    """Rows in which either side may expect more than `level`, and a share of the others by chance.

    Where a game is decided a mistake costs little, so a teacher's time is better spent on level positions.
    """
    worth = judge.values(packed)
    open_yet = (worth > level) & (worth < 1 - level)
    decided = np.random.default_rng(seed).permutation(np.flatnonzero(~open_yet))
    return np.sort(np.concatenate([np.flatnonzero(open_yet), decided[: round(others * len(decided))]]))


def _drawn(log_p: NDArray[np.float32], chance: np.random.Generator) -> NDArray[np.int16]:
    """One slot a row, drawn with these (unnormalised) log-probabilities: the largest after Gumbel noise."""
    return np.asarray((log_p + chance.gumbel(size=log_p.shape)).argmax(1).astype(np.int16))


def _fresh(games: _core.Games, log_p: NDArray[np.float32]) -> NDArray[np.int16]:
    """The likeliest slot, moves that bring a position of the game back last."""
    held_back = np.where(games.repeating(log_p.shape[1]) == 1, log_p - 1e4, log_p)
    return np.asarray(held_back.argmax(1).astype(np.int16))
