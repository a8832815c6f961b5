"""A player that never searches: from what its network makes of a position to a decision.

A mind says how its network is opened and what it thinks of positions
(`opinions`); what follows is the same for all: the mode value, which evaluates
every successor once and takes the best, the mode second, which does so with
those of its likeliest moves and weighs both opinions, the rules about repetitions and
stalemate, the draw by temperature, scores in centipawns, and the settings of a chess program.
"""

from __future__ import annotations

import random
import time
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Generic, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tabiya._core import Board
from tabiya.board.afterwards import DRAW, Outlook, Successors, Wdl
from tabiya.board.choice import WORTH_SCALE, choose, draws, from_worth, log_softmax, repeats, tempered
from tabiya.data.scale import centipawns
from tabiya.data.worth import centipawns_of
from tabiya.player import (
    Decision,
    Limit,
    Player,
    PlayerError,
    PlayerFailure,
    PlayerName,
    PlayerOption,
    ScoredMove,
)
from tabiya.protocols.onnx_session import expected_score, softmax
from tabiya.protocols.scores import mate_score
from tabiya.searchless.settings import SearchlessSettings

VALUES = ("wdl", "value_bins")
"""The heads that every such network values a position with."""

SECOND_LOOKS = 3
"""Moves whose outcomes the mode second looks at; more of them choose no better (docs/resnet.md)."""

MODES_WITH_SUCCESSORS = ("second", "value")
"""In all other modes no position but the given one reaches the network."""


class Network(Protocol):
    """A file that answers packed positions with the raw outputs of its heads."""

    path: Path
    heads: list[str]
    """The names of its outputs; `policy` and those of `VALUES` are among them."""

    def evaluate(self, packed: NDArray[np.uint8], heads: Sequence[str]) -> dict[str, NDArray[np.float32]]:
        """The named heads' outputs for packed positions [N, 32], N of each, in order."""

    def legal_indices(self, packed: NDArray[np.uint8]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """Where the policy has the legal moves of positions, in the order of their UCI strings."""

    def inputs(self) -> dict[str, Any]:
        """What it is shown, for its manifest."""

    def computed_by(self, session: Any) -> Self:
        """The same file with this session in the place of ONNX Runtime's."""


@dataclass(frozen=True)
class Opinion:
    """What a network makes of one position, before a move is chosen."""

    moves: list[str]
    log_p: NDArray[np.float64]
    """Of every legal move, in the order of `moves`."""
    worth: NDArray[np.float64] | None
    """Win probability after every move, where the mode has it."""
    wdl: Wdl
    expected: float
    """The mover's expected score in [0, 1]."""
    passes: int
    mates: frozenset[str] = frozenset()
    """Moves that the rules say mate; known where successors are looked at."""


N = TypeVar("N", bound=Network)
S = TypeVar("S", bound=SearchlessSettings)


class SearchlessPlayer(Player, Generic[N, S]):
    """Plays from an ONNX network; the limit is of no use to it."""

    usual: S
    """The settings where none are given."""

    def __init__(self, network: N, settings: S | None = None) -> None:
        self.network = network
        self.settings = self.possible(settings or self.usual)
        self._unseeded = random.Random()

    @classmethod
    def named(
        cls,
        name: PlayerName,
        network_path: Callable[[str], Path],
        open_network: Callable[[Path, int], N] | None = None,
    ) -> Self:
        """The player of a written name; `network_path` knows the file that its path stands for.

        `open_network` opens it, if not as this kind of player does.
        """
        settings = name.applied_to(cls.usual)
        path = network_path(name.where)
        player = cls((open_network or cls.open_network)(path, settings.threads), settings)
        player.name = f"{cls.name}:{path.stem}" if name.where else cls.name
        return player

    @staticmethod
    @abstractmethod
    def open_network(path: Path, threads: int) -> N:
        """The network of a file; a `PlayerError` says what is wrong with it."""

    @abstractmethod
    def opinions(self, boards: Sequence[Board], legal: list[list[str]]) -> list[Opinion]:
        """What it thinks of each position by looking at that position alone."""

    def possible(self, settings: S) -> S:
        """The settings, if the network can do what they ask; else a `PlayerError`."""
        return settings

    def play(self, board: Board, limit: Limit) -> Decision:
        return self.play_batch([board], limit)[0]

    def play_batch(self, boards: Sequence[Board], limit: Limit) -> list[Decision]:
        """One decision for each board, in order; the forward passes are made together."""
        if not boards:
            return []
        began = time.perf_counter()
        legal = [board.legal_moves() for board in boards]
        for board, moves in zip(boards, legal, strict=True):
            if not moves:
                raise PlayerFailure(f"{self.name} was asked for a move where there is none, in {board.fen()}")
        form = {"value": self._of_successors, "second": self._after_a_second_look}
        opinions = form.get(self.settings.mode, self.opinions)(boards, legal)
        decisions = [self._decide(board, each) for board, each in zip(boards, opinions, strict=True)]
        seconds = (time.perf_counter() - began) / len(boards)
        return [replace(decision, seconds=seconds) for decision in decisions]

    def options(self) -> tuple[PlayerOption, ...]:
        return self.settings.options()

    def set_option(self, name: str, value: str) -> None:
        try:
            settings = self.possible(self.settings.changed(name, value))
            if settings.threads != self.settings.threads:
                self.network = self.open_network(self.network.path, settings.threads)
        except PlayerError as error:  # the file may be gone by now
            raise ValueError(str(error)) from error
        self.settings = settings

    def values(
        self, outputs: dict[str, NDArray[np.float32]]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Win, draw, loss [N, 3] and the expected score [N] of the side to move, from `VALUES`."""
        wdl = softmax(outputs["wdl"])
        if self.settings.value == "wdl":
            return wdl, np.asarray(wdl[:, 0] + wdl[:, 1] / 2)
        return wdl, expected_score(outputs["value_bins"])

    def successor_values(self, packed: NDArray[np.uint8]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The same of successors, packed [N, 32], each shown to the network once: for the mode value."""
        return self.values(self.network.evaluate(packed, VALUES))

    def is_better(self, expected: float) -> bool:
        """Whether the side with this expected score has something to lose by a draw."""
        return expected > DRAW + self.settings.margin

    def repeating(self, board: Board, moves: list[str]) -> NDArray[np.bool_]:
        """The moves that a better side refuses, as far as the record of the game tells."""
        if self.settings.repetition == "allow":
            return np.zeros(len(moves), np.bool_)
        return repeats(board, moves, 2 if self.settings.repetition == "third" else 1)

    def drawing(self, board: Board, moves: list[str]) -> NDArray[np.bool_]:
        """The moves that a better side refuses because the game would be over."""
        if self.settings.stalemate == "allow":
            return np.zeros(len(moves), np.bool_)
        return draws(board, moves)

    def refused(self, board: Board, moves: list[str]) -> NDArray[np.bool_]:
        """All moves that a better side refuses."""
        return self.repeating(board, moves) | self.drawing(board, moves)

    def _of_successors(self, boards: Sequence[Board], legal: list[list[str]]) -> list[Opinion]:
        """Opinions from one forward pass of each position that a legal move leads to."""
        opinions = []
        for moves, outlook in zip(legal, self._outlooks(boards, legal), strict=True):
            best = int(np.argmax(outlook.worth))
            opinions.append(
                Opinion(
                    moves,
                    from_worth(outlook.worth),
                    outlook.worth,
                    outlook.wdl[best],
                    float(outlook.worth[best]),
                    outlook.asked,
                    outlook.mates,
                )
            )
        return opinions

    def _after_a_second_look(self, boards: Sequence[Board], legal: list[list[str]]) -> list[Opinion]:
        """Opinions of the positions, the likeliest moves of which are weighed with what they lead to."""
        first = self.opinions(boards, legal)
        tops = [np.argsort(-each.log_p, kind="stable")[:SECOND_LOOKS] for each in first]
        likeliest = [[each.moves[at] for at in top] for each, top in zip(first, tops, strict=True)]
        opinions = []
        for each, top, outlook in zip(first, tops, self._outlooks(boards, likeliest), strict=True):
            # What was not looked at is as bad as the worst that was.
            worth = np.full(len(each.moves), outlook.worth.min())
            worth[top] = outlook.worth
            looked_at = np.isin(np.arange(len(each.moves)), top)
            own = tempered(each.log_p, looked_at, self.settings.prior)
            log_p = log_softmax(own + worth / WORTH_SCALE)
            best = int(np.argmax(log_p[top]))
            opinions.append(
                Opinion(
                    each.moves,
                    log_p,
                    None,
                    outlook.wdl[best],
                    float(outlook.worth[best]),
                    each.passes + outlook.asked,
                    outlook.mates,
                )
            )
        return opinions

    def _outlooks(self, boards: Sequence[Board], moves: list[list[str]]) -> list[Outlook]:
        """What these moves of each position are worth, by one forward pass of what each leads to.

        Where a move ends the game, a draw that may be claimed included, the
        rules give its worth and the network is not asked.
        """
        successors = Successors(boards, moves)
        wdl, expected = np.zeros((0, 3)), np.zeros(0)
        if len(successors.packed):
            wdl, expected = self.successor_values(successors.packed)
        return successors.valued(wdl, expected, self.settings.repetition not in ("third", "allow"))

    def _centipawns(self, value: ArrayLike, by_head: bool = True) -> NDArray[np.float64]:
        """What a value stands for: the bins and Q were taught worth, win and draw are chances."""
        if by_head and self.settings.value == "wdl":
            return np.asarray(centipawns(np.clip(np.asarray(value, np.float64), 0.0, 1.0)))
        return centipawns_of(value)

    def _decide(self, board: Board, opinion: Opinion) -> Decision:
        settings, moves = self.settings, opinion.moves
        chance = self._unseeded
        if settings.seed >= 0:
            chance = random.Random(f"{settings.seed} {board.start_fen} {' '.join(board.moves)}")
        chosen = choose(opinion.log_p, settings.temperature, settings.top_p, chance)
        p = np.exp(opinion.log_p)
        scores: list[float | None] = [None] * len(moves)
        if opinion.worth is not None:
            by_worth = self._centipawns(opinion.worth, by_head=settings.mode == "value").tolist()
            scores = [
                mate_score(1) if move in opinion.mates else score
                for move, score in zip(moves, by_worth, strict=True)
            ]
        ranked = np.argsort(-opinion.log_p, kind="stable").tolist()
        best_mates = moves[ranked[0]] in opinion.mates
        return Decision(
            move=moves[chosen],
            wdl=opinion.wdl,
            score=mate_score(1) if best_mates else float(self._centipawns(opinion.expected)),
            moves=tuple(ScoredMove(moves[at], p=float(p[at]), score=scores[at]) for at in ranked),
            nodes=opinion.passes,
            pv=(moves[chosen],),
        )


def packed_rows(boards: Sequence[Board]) -> NDArray[np.uint8]:
    """The boards as packed positions [N, 32]."""
    return np.frombuffer(b"".join(board.packed() for board in boards), np.uint8).reshape(-1, 32)
