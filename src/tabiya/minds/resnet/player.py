"""`resnet`: chess without search. The network looks at the position once, and the player moves.

In the modes policy, q and mix a decision costs one forward pass of the given
position and of no other. The mode value is something else and says so: it
evaluates every successor once and takes the best, some thirty passes a move
(`Decision.nodes` counts them). docs/resnet.md has the rules in words.
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
from tabiya.minds.resnet.onnx_network import OnnxNetwork
from tabiya.minds.resnet.settings import Settings, options
from tabiya.minds.resnet.shelf import network_path
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


def open_player(name: PlayerName) -> Player:
    """The player of the shipped network, or of the file or run that the name's path stands for."""
    if name.part:
        raise PlayerError(f"resnet has no parts to choose from, got #{name.part}")
    settings = Settings()
    for key, value in name.options.items():
        try:
            settings = settings.changed(key, value)
        except ValueError as error:
            raise PlayerError(str(error)) from error
    path = network_path(name.where)
    player = ResNetPlayer(OnnxNetwork(path, settings.threads), settings)
    player.name = f"resnet:{path.stem}" if name.where else "resnet"
    return player


@dataclass(frozen=True)
class _Opinion:
    """What the network makes of one position, before a move is chosen."""

    moves: list[str]
    log_p: NDArray[np.float64]
    """Of every legal move, in the order of `moves`."""
    worth: NDArray[np.float64] | None
    """Win probability after every move, where the mode has it."""
    wdl: tuple[float, float, float]
    expected: float
    """The mover's expected score in [0, 1]."""
    passes: int
    mates: frozenset[str] = frozenset()
    """Moves that the rules say mate; known in mode value alone."""


class ResNetPlayer(Player):
    """Plays from an ONNX network; the limit is of no use to it."""

    name = "resnet"

    def __init__(self, network: OnnxNetwork, settings: Settings | None = None) -> None:
        self.network = network
        self.settings = settings or Settings()
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
        settings = self.settings.changed(name, value)
        if settings.threads != self.settings.threads:
            try:
                self.network = OnnxNetwork(self.network.path, settings.threads)
            except PlayerError as error:  # the file may be gone by now
                raise ValueError(str(error)) from error
        self.settings = settings

    def _of_positions(self, boards: Sequence[Board], legal: list[list[str]]) -> list[_Opinion]:
        """Opinions from one forward pass of each position."""
        mode, weighs = self.settings.mode, self.settings.repetition == "weigh"
        heads = ["wdl", "value_bins"]
        heads += ["policy"] if mode != "q" else []
        heads += ["q"] if mode != "policy" or weighs else []
        packed = _packed(boards)
        outputs = self.network.evaluate(packed, heads)
        # A position's moves in the order of their UCI strings, as the board lists them.
        offsets, indices = legal_indices(packed, "planes", "mover")
        wdl, expected = self._values(outputs)
        opinions = []
        for row, (board, moves) in enumerate(zip(boards, legal, strict=True)):
            own = indices[offsets[row] : offsets[row + 1]]
            q = _sigmoid(outputs["q"][row, own]) if "q" in outputs else None
            policy = log_softmax(outputs["policy"][row, own]) if "policy" in outputs else None
            log_p, worth = self._judge(board, moves, policy, q, float(expected[row]))
            opinions.append(
                _Opinion(
                    moves,
                    log_p,
                    worth if mode != "policy" else None,
                    _triple(wdl[row]),
                    float(expected[row]),
                    passes=1,
                )
            )
        return opinions

    def _judge(
        self,
        board: Board,
        moves: list[str],
        policy: NDArray[np.float64] | None,
        q: NDArray[np.float64] | None,
        expected: float,
    ) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
        """Log-probabilities of the moves, and their worth, with the repetition rule applied."""
        settings = self.settings
        if settings.repetition == "allow":
            repeating = np.zeros(len(moves), np.bool_)
        else:
            repeating = repeats(board, moves, 2 if settings.repetition == "third" else 1)
        if policy is None:
            assert q is not None
            q = np.where(repeating, np.minimum(q, DRAW), q)
            return from_worth(q), q
        log_p = policy
        if settings.mode == "mix":
            assert q is not None
            log_p = log_softmax((1 - settings.mix) * policy + settings.mix * from_worth(q))
        better = expected > DRAW + settings.margin
        if not (better and repeating.any() and not repeating.all()):
            return log_p, q
        if settings.repetition == "weigh":
            assert q is not None
            best_other = int(np.argmax(np.where(repeating, -np.inf, log_p)))
            if q[best_other] <= DRAW:
                return log_p, q
        return refuse(log_p, repeating), q

    def _of_successors(self, boards: Sequence[Board], legal: list[list[str]]) -> list[_Opinion]:
        """Opinions from one forward pass of each position that a legal move leads to.

        Where a move ends the game, a draw that may be claimed included, the
        rules give its worth and the network is not asked.
        """
        successors = Successors(boards, legal)
        wdl, expected = np.zeros((0, 3)), np.zeros(0)
        if len(successors.packed):
            wdl, expected = self._values(self.network.evaluate(successors.packed, ["wdl", "value_bins"]))
        capped = self.settings.repetition in ("any", "weigh")
        opinions = []
        for moves, outlook in zip(legal, successors.valued(wdl, expected, capped), strict=True):
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

    def _centipawns(self, value: ArrayLike, by_head: bool = True) -> NDArray[np.float64]:
        """What a value stands for: the bins and Q were taught worth, win and draw are chances."""
        if by_head and self.settings.value == "wdl":
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


def _packed(boards: Sequence[Board]) -> NDArray[np.uint8]:
    return np.frombuffer(b"".join(board.packed() for board in boards), np.uint8).reshape(-1, 32)


def _sigmoid(logits: NDArray[np.float32]) -> NDArray[np.float64]:
    # tanh, unlike 1 / (1 + exp), cannot overflow.
    return np.asarray(0.5 + 0.5 * np.tanh(0.5 * np.asarray(logits, np.float64)))


def _triple(row: NDArray[np.float64]) -> tuple[float, float, float]:
    return float(row[0]), float(row[1]), float(row[2])
