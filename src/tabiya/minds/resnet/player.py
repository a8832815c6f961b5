"""`resnet`: chess without search. The network looks at the position once, and the player moves.

In the modes policy, q and mix a decision costs one forward pass of the given
position and of no other. The modes second and value are something else and say
so: three successors are evaluated beside it, or every one in its place, some
thirty passes a move (`Decision.nodes` counts them). docs/resnet.md has the rules in words.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tabiya._core import Board
from tabiya.board.afterwards import DRAW
from tabiya.board.choice import from_worth, log_softmax, refuse
from tabiya.minds.resnet.onnx_network import OnnxNetwork
from tabiya.minds.resnet.settings import Settings
from tabiya.minds.resnet.shelf import network_path
from tabiya.minds.resnet.successor import all_considered
from tabiya.player import Player, PlayerName
from tabiya.searchless.player import VALUES, Opinion, SearchlessPlayer, packed_rows


def open_player(name: PlayerName) -> Player:
    """The player of the shipped network, or of the file or run that the name's path stands for."""
    return ResNetPlayer.named(name, network_path)


class ResNetPlayer(SearchlessPlayer[OnnxNetwork, Settings]):
    """Plays by the policy, by the Q of every legal move, by a mix of both, or with the successors' values."""

    name = "resnet"
    usual = Settings()

    @staticmethod
    def open_network(path: Path, threads: int) -> OnnxNetwork:
        return OnnxNetwork(path, threads)

    def opinions(self, boards: Sequence[Board], legal: list[list[str]]) -> list[Opinion]:
        """Opinions from one forward pass of each position."""
        mode, weighs = self.settings.mode, self.settings.repetition == "weigh"
        by_q = mode in ("q", "mix")
        heads = [*VALUES]
        heads += ["policy"] if mode != "q" else []
        heads += ["q"] if by_q or weighs else []
        packed = packed_rows(boards)
        outputs = self.network.evaluate(packed, heads)
        offsets, indices = self.network.legal_indices(packed)
        wdl, expected = self.values(outputs)
        opinions = []
        for row, (board, moves) in enumerate(zip(boards, legal, strict=True)):
            own = indices[offsets[row] : offsets[row + 1]]
            q = sigmoid(outputs["q"][row, own]) if "q" in outputs else None
            policy = log_softmax(outputs["policy"][row, own]) if "policy" in outputs else None
            log_p, worth = self.judged(board, moves, policy, q, float(expected[row]))
            opinions.append(
                Opinion(
                    moves,
                    log_p,
                    worth if by_q else None,
                    tuple(wdl[row].tolist()),
                    float(expected[row]),
                    passes=1,
                )
            )
        return opinions

    def successor_values(self, packed: NDArray[np.uint8]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        if self.settings.value != "all":
            return super().successor_values(packed)
        outputs = self.network.evaluate(packed, (*VALUES, "q"))
        wdl, expected = self.values(outputs)
        # A successor is no end of the game: everyone has a reply.
        offsets, indices = self.network.legal_indices(packed)
        rows = np.repeat(np.arange(len(packed)), np.diff(offsets))
        best_reply = sigmoid(np.maximum.reduceat(outputs["q"][rows, indices], offsets[:-1]))
        return wdl, all_considered(expected, best_reply, wdl[:, 0] + wdl[:, 1] / 2)

    def judged(
        self,
        board: Board,
        moves: list[str],
        policy: NDArray[np.float64] | None,
        q: NDArray[np.float64] | None,
        expected: float,
    ) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
        """Log-probabilities of the moves, and their worth, with the rules about draws applied."""
        settings = self.settings
        if policy is None:
            assert q is not None
            q = np.where(self.repeating(board, moves), np.minimum(q, DRAW), q)
            q = np.where(self.drawing(board, moves), DRAW, q)
            return from_worth(q), q
        log_p = policy
        if settings.mode == "mix":
            assert q is not None
            log_p = log_softmax((1 - settings.mix) * policy + settings.mix * from_worth(q))
        if not self.is_better(expected):
            return log_p, q
        refused = self.refused(board, moves)
        if settings.repetition == "weigh" and refused.any() and not refused.all():
            assert q is not None
            best_other = int(np.argmax(np.where(refused, -np.inf, log_p)))
            if q[best_other] <= DRAW:
                return log_p, q
        return refuse(log_p, refused), q


def sigmoid(logits: NDArray[np.float32]) -> NDArray[np.float64]:
    """Win probabilities of the logits of Q."""
    # tanh, unlike 1 / (1 + exp), cannot overflow.
    return np.asarray(0.5 + 0.5 * np.tanh(0.5 * np.asarray(logits, np.float64)))
