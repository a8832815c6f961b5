"""Players from outside an experiment, by which its tables can be compared with others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tabiya.errors import UserError


@dataclass(frozen=True, kw_only=True)
class Anchor:
    """A player from outside."""

    player: str
    """Any player's name, such as `turing` or `uci:stockfish?UCI_Elo=1350`."""
    elo: float | None = None
    """Its known rating, which then is the table's scale; without one it is rated like the rest."""


def refuse_twins(anchors: Sequence[Anchor]) -> None:
    """A UserError if a player is named twice."""
    players = [anchor.player for anchor in anchors]
    twice = {player for player in players if players.count(player) > 1}
    if twice:
        raise UserError(f"the anchor {twice.pop()} is named twice")
