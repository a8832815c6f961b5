"""The ResNet as the lens sees it: the planes of a square zeroed, or a whole plane of rights or counters.

A square that is blanked is empty to the network, whatever the rules would say
of the board that is left (a king may be missing). The planes are the file's
inputs, so nothing has to be put back.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tabiya._core import Board
from tabiya.board.choice import log_softmax
from tabiya.board.planes import CLOCK_PLANE, encode
from tabiya.lens.interface import SQUARES, Answers
from tabiya.minds.resnet.player import ResNetPlayer, sigmoid
from tabiya.player import Limit, Player
from tabiya.searchless.player import MODES_WITH_SUCCESSORS
from tabiya.searchless.subject import SearchlessSubject

_PIECES = slice(0, 12)
_TURN, _EN_PASSANT = 12, 18
_CASTLING = 13
_HEADS = ["policy", "q", "wdl", "value_bins"]


def subject(player: Player, board: Board, limit: Limit) -> ResNetSubject:
    """What `tabiya.lens.interface.look_into` asks for."""
    assert isinstance(player, ResNetPlayer)
    return ResNetSubject(player, board, limit)


def _plane_names(white_to_move: bool, planes: int) -> dict[str, list[int]]:
    """Parts that are whole planes."""
    own, other = ("White's", "Black's") if white_to_move else ("Black's", "White's")
    names = [f"{side} castling {wing}" for side in (own, other) for wing in ("king's side", "queen's side")]
    found = {"turn": [_TURN]} | {name: [_CASTLING + at] for at, name in enumerate(names)}
    found["half-moves"] = [CLOCK_PLANE]
    return found | ({"en passant": [_EN_PASSANT], "repetition": [19, 20]} if planes > _EN_PASSANT else {})


@dataclass
class ResNetSubject(SearchlessSubject[ResNetPlayer]):
    """One network before one position."""

    def __post_init__(self) -> None:
        assert isinstance(self.player, ResNetPlayer)
        settings = replace(self.player.settings, temperature=0.0)
        if settings.mode in MODES_WITH_SUCCESSORS:
            settings = replace(settings, mode="policy")
            self.notes.append("what is looked into is the policy, not the values of the successors")
        self._look_through(ResNetPlayer(self.player.network, settings))
        self._network = self.player.network
        self._whole_planes = _plane_names(self.board.white_to_move, self._network.planes)
        self.parts = (*SQUARES, *self._whole_planes)

    def blank(self, sets: Sequence[Sequence[str]]) -> Answers:
        planes = np.repeat(encode(self._packed, self._network.planes), len(sets), axis=0)
        turned = 0 if self.board.white_to_move else 56
        for row, parts in enumerate(sets):
            for part in parts:
                if part in self._whole_planes:
                    planes[row, self._whole_planes[part]] = 0
                else:
                    square = SQUARES.index(part) ^ turned
                    planes[row, _PIECES, square >> 3, square & 7] = 0
        # Not through `OnnxNetwork.evaluate`: these planes are those of no position.
        answered = self._network.session.run(_HEADS, {"planes": planes})
        outputs = dict(zip(_HEADS, answered, strict=True))
        _, expected = self._looked.values(outputs)
        by_q = self._looked.settings.mode == "q"
        judged = [
            self._looked.judged(
                self.board,
                self._moves,
                None if by_q else log_softmax(policy[self._numbers]),
                sigmoid(q[self._numbers]),
                float(value),
            )[0]
            for policy, q, value in zip(outputs["policy"], outputs["q"], expected, strict=True)
        ]
        return self._as_answers(judged, expected)
