"""The page's place for reasons: what a lens must answer, and what is said while there is none.

A lens looks at one decision of one mind and says which squares mattered, which
pairs of squares were looked at together, and which sentences about the move
were tested by changing the position and hold. It is handed to the application
from outside, so the page does not care how it was found.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from tabiya._core import Board
from tabiya.player import Player

Explain: TypeAlias = Callable[[Player, Board], dict[str, Any]]
"""From a mind and a position to

    {"move": "d1d8",
     "squares": {"e4": 0.31, …},                       weight of each square, the largest 1 or less
     "pairs": [{"from": "d1", "to": "d8", "weight": 0.4}, …],
     "claims": [{"text": "…", "intervention": "…", "holds": true}, …]}

Called in a thread of its own; a UserError's sentence goes to the page.
"""

NO_LENS = "there is no lens in this installation yet; blanking squares works without one"


def checked(answer: dict[str, Any]) -> dict[str, Any]:
    """The parts that the page draws, those that are missing left empty."""
    return {
        "move": answer.get("move"),
        "squares": dict(answer.get("squares") or {}),
        "pairs": list(answer.get("pairs") or []),
        "claims": list(answer.get("claims") or []),
    }
