"""A network without search as the lens sees it: what does not hang on how its inputs are blanked.

Its answers are probabilities of the legal moves, with the player's rules about
repetitions and stalemate applied as in a game; whether those made the choice is
the one reason that only such a player can be asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from tabiya._core import Board
from tabiya.lens.interface import Answers, Finding, OwnReasons, Subject
from tabiya.player import Decision
from tabiya.searchless.player import SearchlessPlayer, packed_rows

P = TypeVar("P", bound=SearchlessPlayer[Any, Any])


class SearchlessSubject(Subject, Generic[P]):
    """One network before one position."""

    _looked: P
    """The player in the manner in which it is looked into."""

    def _look_through(self, player: P) -> None:
        self._looked = player
        self._packed = packed_rows([self.board])
        self._moves = self.board.legal_moves()
        self._numbers = player.network.legal_indices(self._packed)[1]

    def decide(self, board: Board) -> Decision:
        return self._looked.play(board, self.limit)

    def own_reasons(self, chosen: str) -> OwnReasons:
        """Whether the rules about repetitions and stalemate made the choice."""
        settings = replace(self._looked.settings, repetition="allow", stalemate="allow")
        freely = type(self._looked)(self._looked.network, settings).play(self.board, self.limit).move
        if freely == chosen:
            return OwnReasons()
        ends = self.board.draws_after(freely)
        what = "ends the game in a draw" if ends else "brings an earlier position back"
        text = f"Left alone it would play {self.board.san(freely)}, which {what}."
        rule = "stalemate" if ends else "repetitions"
        return OwnReasons(findings=(Finding(text, f"its rule about {rule} switched off", True, 1.0),))

    def _as_answers(self, log_p: Sequence[NDArray[np.float64]], expected: NDArray[np.float64]) -> Answers:
        """Answers [N] from the log-probabilities of the legal moves and the expected scores [N]."""
        every = np.stack(log_p)
        choices = tuple(self._moves[each] for each in every.argmax(1).tolist())
        return Answers(tuple(self._moves), np.exp(every), choices, expected)
