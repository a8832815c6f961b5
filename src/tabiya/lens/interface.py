"""What a mind offers to be looked into: answers about one position, each time with something amiss.

The lens knows minds through `Subject` alone. A mind that can do more than play
has a module `lens` beside its `player`, with

    subject(player, board, limit) -> Subject

and is found by that name (`look_into`), so the lens imports no mind and a new
one needs no entry anywhere. Every other player is looked into by taking pieces
from its board (`tabiya.lens.removal`).
"""

from __future__ import annotations

import importlib
import importlib.util
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tabiya._core import Board
from tabiya.errors import UserError
from tabiya.player import Decision, Limit, Player

SQUARES: tuple[str, ...] = tuple(f"{file}{rank}" for rank in "12345678" for file in "abcdefgh")

Pair: TypeAlias = tuple[str, str]
"""(the part that looks, the part that is looked at)."""

THOUGHT = Limit(nodes=20_000)
"""For each question to a mind that searches: as many nodes, so that it answers the same way each time."""


@dataclass(frozen=True)
class Answers:
    """What a mind said N times about one position, each time with something else amiss."""

    moves: tuple[str, ...]
    """The legal moves of the position as it is."""
    p: NDArray[np.float64]
    """[N, moves]: how likely each move is; a mind that only chooses gives its choice 1. A row that
    sums to less gave the rest to moves that are not legal as the board is. Not a number where nothing
    could be asked."""
    choices: tuple[str | None, ...]
    """[N]: the move it would play; None where nothing could be asked."""
    expected: NDArray[np.float64]
    """[N]: the mover's expected score in [0, 1]; not a number where it is unknown."""
    regret: NDArray[np.float64] | None = None
    """[N], of a mind that only chooses: by how much expected score the move it plays on the whole board
    is worse than its choice here; not a number where that move does not exist here."""

    def __len__(self) -> int:
        return len(self.choices)


@dataclass(frozen=True)
class Finding:
    """A claim that was put to the test."""

    text: str
    intervention: str
    holds: bool
    weight: float = 0.0
    """How much changed, for the order; figures of one kind of claim can be compared."""
    about: tuple[str, ...] = ()
    """Squares it speaks of."""

    def shown(self) -> dict[str, Any]:
        return {"text": self.text, "intervention": self.intervention, "holds": self.holds}


@dataclass(frozen=True)
class OwnReasons:
    """What only this kind of mind can be asked: its features, its genes."""

    kind: str = ""
    """"features", "genes", or nothing."""
    rows: tuple[dict[str, Any], ...] = ()
    findings: tuple[Finding, ...] = ()


@dataclass
class Subject(ABC):
    """One mind before one position, ready to be interfered with. Nothing it is asked changes the mind."""

    player: Player
    board: Board
    limit: Limit
    notes: list[str] = field(default_factory=list)
    """What a reader of the answers should know."""

    parts: tuple[str, ...] = ()
    """What can be blanked: squares by their names, and whatever else the mind reads."""
    weighs: bool = True
    """Whether it gives every move a probability, or only chooses one."""
    blanked: str = "blanked"
    """What is done to a part, as a word in a sentence: "with the bishop on c4 …"."""

    @abstractmethod
    def blank(self, sets: Sequence[Sequence[str]]) -> Answers:
        """Its answers, one for each set of parts that is blanked together; an empty set changes nothing."""

    @abstractmethod
    def decide(self, board: Board) -> Decision:
        """Its decision about any board, as it is, in the manner in which it is looked into."""

    def own_reasons(self, chosen: str) -> OwnReasons:
        """What this kind of mind can say beyond squares, for the move it chose."""
        return OwnReasons()


@dataclass
class AttentiveSubject(Subject):
    """A mind whose parts look at each other, and can be kept from it."""

    layers: int = 0
    heads: int = 0

    @abstractmethod
    def cut(
        self,
        sets: Sequence[Sequence[Pair]],
        where: NDArray[np.float32] | None = None,
        renormalise: bool = True,
    ) -> Answers:
        """Its answers, one for each set of pairs whose weights are zero.

        `where` [layers, heads] is 1 where that holds, everywhere if None.
        With `renormalise` what is left of a row's weights sums to one again.
        """

    @abstractmethod
    def silence(self, layer: int, head: int) -> Answers:
        """Its one answer if a head (both from 0) gives nothing at all."""


def look_into(player: Player, board: Board, limit: Limit | None = None) -> Subject:
    """The mind as a subject; `limit` is the thought for each question, where it thinks."""
    if not board.legal_moves():
        ending = board.outcome()
        raise UserError(
            f"there is no move to explain in {board.fen()}: {ending[1] if ending else 'it is over'}"
        )
    package = type(player).__module__.rpartition(".")[0]
    thought = limit or THOUGHT
    if package.startswith("tabiya.minds.") and importlib.util.find_spec(f"{package}.lens") is not None:
        module = importlib.import_module(f"{package}.lens")
        made = module.subject(player, board, thought)
        assert isinstance(made, Subject)
        return made
    from tabiya.lens.removal import RemovalSubject

    return RemovalSubject(player, board, thought)
