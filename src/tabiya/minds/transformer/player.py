"""`transformer`: chess without search. The network looks once, or twice at its own three best moves.

In mode policy a decision costs one forward pass of the given position, or two
with `passes=2`; `Decision.nodes` says how many were made. A second pass is
spared where there is only one move. The mode value evaluates every successor
once and takes the best, some thirty passes a move. docs/transformer.md has the
rules in words.
"""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tabiya._core import Board, legal_indices
from tabiya.board.afterwards import DRAW, Successors
from tabiya.board.choice import choose, from_worth, log_softmax, refuse, repeats
from tabiya.data.scale import centipawns
from tabiya.data.worth import centipawns_of
from tabiya.minds.transformer.onnx_inputs import first_inputs
from tabiya.minds.transformer.onnx_network import OnnxTransformer
from tabiya.minds.transformer.settings import Settings, options
from tabiya.minds.transformer.shape import SLOTS
from tabiya.minds.transformer.shelf import network_path
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

_VALUES = ("wdl", "value_bins")


def open_player(name: PlayerName) -> Player:
    """The player of the shipped network, or of the file or run that the name's path stands for."""
    if name.part:
        raise PlayerError(f"transformer has no parts to choose from, got #{name.part}")
    settings = Settings()
    for key, value in name.options.items():
        try:
            settings = settings.changed(key, value)
        except ValueError as error:
            raise PlayerError(str(error)) from error
    path = network_path(name.where)
    player = TransformerPlayer(OnnxTransformer(path, settings.threads), settings)
    player.name = f"transformer:{path.stem}" if name.where else "transformer"
    return player


@dataclass(frozen=True)
class _Opinion:
    """What the network makes of one position, before a move is chosen."""

    moves: list[str]
    log_p: NDArray[np.float64]
    """Of every legal move, in the order of `moves`."""
    worth: NDArray[np.float64] | None
    """Win probability after every move, in mode value."""
    wdl: tuple[float, float, float]
    expected: float
    """The mover's expected score in [0, 1]."""
    passes: int
    mates: frozenset[str] = frozenset()
    """Moves that the rules say mate; known in mode value alone."""


class TransformerPlayer(Player):
    """Plays from an ONNX network; the limit is of no use to it."""

    name = "transformer"

    def __init__(self, network: OnnxTransformer, settings: Settings | None = None) -> None:
        self.network = network
        self.settings = self._possible(settings or Settings())
        self._unseeded = random.Random()

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
        by_value = self.settings.mode == "value"
        opinions = self._of_successors(boards, legal) if by_value else self._of_positions(boards, legal)
        decisions = [self._decide(board, each) for board, each in zip(boards, opinions, strict=True)]
        seconds = (time.perf_counter() - began) / len(boards)
        return [replace(decision, seconds=seconds) for decision in decisions]

    def options(self) -> tuple[PlayerOption, ...]:
        return options()

    def set_option(self, name: str, value: str) -> None:
        try:
            settings = self._possible(self.settings.changed(name, value))
            if settings.threads != self.settings.threads:
                self.network = OnnxTransformer(self.network.path, settings.threads)
        except PlayerError as error:  # the file may be gone by now
            raise ValueError(str(error)) from error
        self.settings = settings

    def _possible(self, settings: Settings) -> Settings:
        if settings.passes == 2 and "refined" not in self.network.heads:
            raise PlayerError(f"{self.network.path} was not taught to reconsider: play it with passes=1")
        return settings

    def _of_positions(self, boards: Sequence[Board], legal: list[list[str]]) -> list[_Opinion]:
        """Opinions from one forward pass of each position, or two."""
        packed = _packed(boards)
        outputs = self.network.evaluate(packed, ("policy", *_VALUES))
        # A position's moves in the order of their UCI strings, as the board lists them.
        offsets, indices = legal_indices(packed, "uci", self.network.shape.view)
        numbers = [indices[offsets[row] : offsets[row + 1]] for row in range(len(boards))]
        policies = [log_softmax(outputs["policy"][row, own]) for row, own in enumerate(numbers)]
        passes = [1] * len(boards)
        if self.settings.passes == 2:
            twice = [row for row, moves in enumerate(legal) if len(moves) > 1]
            refined = self._reconsidered(boards, legal, numbers, policies, twice)
            for row, log_p in zip(twice, refined, strict=True):
                policies[row], passes[row] = log_p, 2
        wdl, expected = self._values(outputs)
        return [
            _Opinion(
                moves,
                self._unrepeated(board, moves, policies[row], float(expected[row])),
                None,
                _triple(wdl[row]),
                float(expected[row]),
                passes[row],
            )
            for row, (board, moves) in enumerate(zip(boards, legal, strict=True))
        ]

    def _reconsidered(
        self,
        boards: Sequence[Board],
        legal: list[list[str]],
        numbers: list[NDArray[np.int32]],
        policies: list[NDArray[np.float64]],
        rows: list[int],
    ) -> list[NDArray[np.float64]]:
        """Log-probabilities after a second pass: the three likeliest share what they had, as it says."""
        if not rows:
            return []
        inputs = first_inputs(_packed([boards[row] for row in rows]), self.network.shape.flipped)
        tops = [np.argsort(-policies[row], kind="stable")[:SLOTS] for row in rows]
        for at, (row, top) in enumerate(zip(rows, tops, strict=True)):
            filled = len(top)
            inputs["tokens"][at, 81 : 81 + filled] = numbers[row][top] + 1
            inputs["probability"][at, :filled] = np.exp(policies[row][top])
            again = [boards[row].repetitions_after(legal[row][each]) for each in top]
            inputs["again"][at, :filled] = np.minimum(again, 2)
        refined = self.network.run(inputs, ["refined"])["refined"]
        changed = []
        for at, (row, top) in enumerate(zip(rows, tops, strict=True)):
            log_p = policies[row].copy()
            mass = np.logaddexp.reduce(log_p[top])
            # The best of the three has a third of it at least, so no move outside can be likelier.
            log_p[top] = log_softmax(refined[at, : len(top)]) + mass
            changed.append(log_p)
        return changed

    def _unrepeated(
        self, board: Board, moves: list[str], log_p: NDArray[np.float64], expected: float
    ) -> NDArray[np.float64]:
        """Log-probabilities with the repetition rule applied."""
        settings = self.settings
        if settings.repetition == "allow" or expected <= DRAW + settings.margin:
            return log_p
        return refuse(log_p, repeats(board, moves, 2 if settings.repetition == "third" else 1))

    def _of_successors(self, boards: Sequence[Board], legal: list[list[str]]) -> list[_Opinion]:
        """Opinions from one forward pass of each position that a legal move leads to."""
        successors = Successors(boards, legal)
        wdl, expected = np.zeros((0, 3)), np.zeros(0)
        if len(successors.packed):
            wdl, expected = self._values(self.network.evaluate(successors.packed, _VALUES))
        opinions = []
        for moves, outlook in zip(
            legal, successors.valued(wdl, expected, self.settings.repetition == "any"), strict=True
        ):
            best = int(np.argmax(outlook.worth))
            opinions.append(
                _Opinion(
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

    def _values(
        self, outputs: dict[str, NDArray[np.float32]]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Win, draw, loss [N, 3] and the expected score [N] of the side to move."""
        wdl = softmax(outputs["wdl"])
        if self.settings.value == "wdl":
            return wdl, np.asarray(wdl[:, 0] + wdl[:, 1] / 2)
        return wdl, expected_score(outputs["value_bins"])

    def _centipawns(self, value: ArrayLike) -> NDArray[np.float64]:
        """What a value stands for: the bins were taught worth, win and draw are chances."""
        if self.settings.value == "wdl":
            return np.asarray(centipawns(np.clip(np.asarray(value, np.float64), 0.0, 1.0)))
        return centipawns_of(value)

    def _decide(self, board: Board, opinion: _Opinion) -> Decision:
        settings, moves = self.settings, opinion.moves
        chance = self._unseeded
        if settings.seed >= 0:
            chance = random.Random(f"{settings.seed} {board.start_fen} {' '.join(board.moves)}")
        chosen = choose(opinion.log_p, settings.temperature, settings.top_p, chance)
        p = np.exp(opinion.log_p)
        scores: list[float | None] = [None] * len(moves)
        if opinion.worth is not None:
            scores = [
                mate_score(1) if move in opinion.mates else score
                for move, score in zip(moves, self._centipawns(opinion.worth).tolist(), strict=True)
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


def _packed(boards: Sequence[Board]) -> NDArray[np.uint8]:
    return np.frombuffer(b"".join(board.packed() for board in boards), np.uint8).reshape(-1, 32)


def _triple(row: NDArray[np.float64]) -> tuple[float, float, float]:
    return float(row[0]), float(row[1]), float(row[2])
