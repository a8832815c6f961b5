"""The transformer as the lens sees it: rows blanked and attention cut in the ONNX file, by its own inputs.

Masks are inputs of the network, so nothing has to be put back afterwards. The
first pass is what is looked into; the player's rules about draws apply
to it as in a game. Squares have their names on the real board, also where the
network sees it turned round.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tabiya._core import Board
from tabiya.board.choice import log_softmax
from tabiya.lens.interface import SQUARES, Answers, AttentiveSubject, Pair
from tabiya.minds.transformer.onnx_inputs import Inputs
from tabiya.minds.transformer.player import TransformerPlayer
from tabiya.minds.transformer.shape import CASTLING, COLOURS, TransformerShape, row_names
from tabiya.player import Limit, Player
from tabiya.searchless.subject import SearchlessSubject

_HEADS = ("policy", "wdl", "value_bins")
_CACHED = 16 * 8 * 256
"""Positions in one pass, times layers, times width: what a core's cache still holds."""


def subject(player: Player, board: Board, limit: Limit) -> TransformerSubject:
    """What `tabiya.lens.interface.look_into` asks for."""
    assert isinstance(player, TransformerPlayer)
    return TransformerSubject(player, board, limit)


def parts_of(shape: TransformerShape, white_to_move: bool) -> dict[str, list[int]]:
    """The rows of each part: one, or a square's two where its colour has a row of its own.

    >>> parts_of(TransformerShape(), white_to_move=False)["a8"]
    [1]
    """
    turned = shape.flipped and not white_to_move
    named = row_names(shape)[: COLOURS.start]
    squares = [f"{square[0]}{9 - int(square[1])}" if turned else square for square in SQUARES]
    named[1:65] = squares
    own, other = ("Black's", "White's") if turned else ("White's", "Black's")
    sides = (own, own, other, other)
    wings = ("king's side", "queen's side") * 2
    named[CASTLING] = [f"{side} castling {wing}" for side, wing in zip(sides, wings, strict=True)]
    rows = {name: [row] for row, name in enumerate(named)}
    if shape.rows > COLOURS.start:
        for at, square in enumerate(squares):
            rows[square].append(COLOURS.start + at)
    return rows


def cached_batch(shape: TransformerShape) -> int:
    """How many positions are computed at once on a CPU: 16 of the usual size, more of a smaller one."""
    return max(1, min(512, _CACHED // (shape.layers * shape.width)))


@dataclass
class TransformerSubject(SearchlessSubject[TransformerPlayer], AttentiveSubject):
    """One network before one position."""

    def __post_init__(self) -> None:
        assert isinstance(self.player, TransformerPlayer)
        settings = replace(self.player.settings, mode="policy", passes=1, temperature=0.0)
        if self.player.settings.mode != "policy" or self.player.settings.passes != 1:
            self.notes.append("what is looked into is the policy of the first pass")
        self._look_through(TransformerPlayer(self.player.network, settings))
        self._network = self.player.network
        shape = self._network.shape
        self._rows = parts_of(shape, self.board.white_to_move)
        self.parts = tuple(self._rows)
        self.layers, self.heads = shape.layers, shape.heads
        self._batch = cached_batch(shape)

    def blank(self, sets: Sequence[Sequence[str]]) -> Answers:
        rows = np.ones((len(sets), self._network.shape.rows), np.float32)
        for at, parts in enumerate(sets):
            for part in parts:
                rows[at, self._rows[part]] = 0.0
        return self._answers({"rows": rows})

    def cut(
        self,
        sets: Sequence[Sequence[Pair]],
        where: NDArray[np.float32] | None = None,
        renormalise: bool = True,
    ) -> Answers:
        size = self._network.shape.rows
        attention = np.ones((len(sets), size, size), np.float32)
        for at, pairs in enumerate(sets):
            for looks, looked_at in pairs:
                attention[at][np.ix_(self._rows[looks], self._rows[looked_at])] = 0.0
        heads = np.ones((self.layers, self.heads), np.float32) if where is None else where
        return self._answers(
            {
                "attention": attention,
                "heads": heads.astype(np.float32),
                "renormalise": np.array(renormalise, np.float32),
            }
        )

    def silence(self, layer: int, head: int) -> Answers:
        size = self._network.shape.rows
        heads = np.zeros((self.layers, self.heads), np.float32)
        heads[layer, head] = 1.0
        nothing = np.zeros((1, size, size), np.float32)
        return self._answers({"attention": nothing, "heads": heads})

    def _answers(self, cuts: Inputs) -> Answers:
        masks = "rows" if "rows" in cuts else "attention"
        made = [
            self._network.evaluate(self._packed, _HEADS, cuts | {masks: cuts[masks][at : at + self._batch]})
            for at in range(0, len(cuts[masks]), self._batch)
        ]
        outputs = {head: np.concatenate([each[head] for each in made]) for head in _HEADS}
        _, expected = self._looked.values(outputs)
        refused = self._looked.refused(self.board, self._moves)
        undrawn = [
            self._looked.undrawn(log_softmax(policy[self._numbers]), float(value), lambda: refused)
            for policy, value in zip(outputs["policy"], expected, strict=True)
        ]
        return self._as_answers(undrawn, expected)
