"""`transformer`: chess without search. The network looks once, or twice at its own three best moves.

In mode policy a decision costs one forward pass of the given position, or two
with `passes=2`; `Decision.nodes` says how many were made. A second pass is
spared where there is only one move. The mode second evaluates what the three
likeliest moves lead to as well, the mode value every successor, some thirty
passes a move. docs/transformer.md has the rules in words.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tabiya._core import Board
from tabiya.board.choice import log_softmax, refuse
from tabiya.minds.transformer.onnx_inputs import first_inputs
from tabiya.minds.transformer.onnx_network import OnnxTransformer
from tabiya.minds.transformer.settings import Settings
from tabiya.minds.transformer.shape import SLOTS
from tabiya.minds.transformer.shelf import network_path
from tabiya.player import Player, PlayerError, PlayerName
from tabiya.searchless.player import VALUES, Opinion, SearchlessPlayer, packed_rows


def open_player(name: PlayerName) -> Player:
    """The player of the shipped network, or of the file or run that the name's path stands for."""
    return TransformerPlayer.named(name, network_path)


class TransformerPlayer(SearchlessPlayer[OnnxTransformer, Settings]):
    """Plays by the policy of one pass or of two, or by the successors' values."""

    name = "transformer"
    usual = Settings()

    @staticmethod
    def open_network(path: Path, threads: int) -> OnnxTransformer:
        return OnnxTransformer(path, threads)

    def possible(self, settings: Settings) -> Settings:
        if settings.passes == 2 and "refined" not in self.network.heads:
            raise PlayerError(f"{self.network.path} was not taught to reconsider: play it with passes=1")
        return settings

    def opinions(self, boards: Sequence[Board], legal: list[list[str]]) -> list[Opinion]:
        """Opinions from one forward pass of each position, or two."""
        packed = packed_rows(boards)
        outputs = self.network.evaluate(packed, ("policy", *VALUES))
        offsets, indices = self.network.legal_indices(packed)
        numbers = [indices[offsets[row] : offsets[row + 1]] for row in range(len(boards))]
        policies = [log_softmax(outputs["policy"][row, own]) for row, own in enumerate(numbers)]
        passes = [1] * len(boards)
        if self.settings.passes == 2:
            twice = [row for row, moves in enumerate(legal) if len(moves) > 1]
            refined = self._reconsidered(boards, legal, numbers, policies, twice)
            for row, log_p in zip(twice, refined, strict=True):
                policies[row], passes[row] = log_p, 2
        wdl, expected = self.values(outputs)
        return [
            Opinion(
                moves,
                self.undrawn(policies[row], float(expected[row]), partial(self.refused, board, moves)),
                None,
                tuple(wdl[row].tolist()),
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
        inputs = first_inputs(packed_rows([boards[row] for row in rows]), self.network.shape.flipped)
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

    def undrawn(
        self, log_p: NDArray[np.float64], expected: float, refused: Callable[[], NDArray[np.bool_]]
    ) -> NDArray[np.float64]:
        """Log-probabilities with those moves put last that a better side refuses."""
        return refuse(log_p, refused()) if self.is_better(expected) else log_p
