"""From a player's written name to the player: the one place that knows every kind.

The trunk never imports a mind, so the arena and the protocols are handed
`open_player` by the faces. Each kind is a module that is imported only when
one of its players is asked for.
"""

from __future__ import annotations

import difflib
import importlib

from tabiya.player import Player, PlayerError, PlayerName
from tabiya.protocols import bounded

# kind: (module with `open_player(name: PlayerName) -> Player`, what it is)
KINDS: dict[str, tuple[str, str]] = {
    "resnet": ("tabiya.minds.resnet.player", "one look, no search: a residual network"),
    "nnue": ("tabiya.minds.nnue.player", "search with a learned, efficiently updated evaluation"),
    "transformer": (
        "tabiya.minds.transformer.player",
        "no search: a token transformer, one pass or two: transformer?passes=2",
    ),
    "genetic": ("tabiya.minds.genetic.player", "evolved genes: genetic:pool.txt or genetic:pool.txt#1234"),
    "random": ("tabiya.minds.simple.random_mover", "any legal move, each as likely"),
    "turing": ("tabiya.minds.simple.turing", "Turing's paper machine of 1952"),
    "montecarlo": ("tabiya.minds.simple.montecarlo", "complete random games from every move"),
    "human": ("tabiya.protocols.terminal", "a person at the terminal"),
    "uci": ("tabiya.protocols.engines", "an outside UCI engine: uci:/path/to/engine?Option=value"),
    "xboard": ("tabiya.protocols.engines", "an outside xboard engine: xboard:/path/to/engine"),
}

NAMED_BY_THEMSELVES = ("human", "uci", "xboard")
"""Kinds that take `name=` as an option of their own."""


def open_player(text: str) -> Player:
    """The player that `text` names, ready to play."""
    name = PlayerName.parse(text)
    if name.kind not in KINDS:
        close = difflib.get_close_matches(name.kind, KINDS, n=1)
        hint = f", did you mean {close[0]!r}?" if close else f"; there are {', '.join(KINDS)}"
        raise PlayerError(f"unknown player {name.kind!r}{hint}")
    module = importlib.import_module(KINDS[name.kind][0])
    bound = name.options.pop(bounded.SETTING, None)
    if name.kind not in NAMED_BY_THEMSELVES:
        # What the games call it is the arena's business; a mind has no such option.
        name.options.pop("name", None)
    limit = None if bound is None else bounded.read_bound(bound)
    player = module.open_player(name)
    assert isinstance(player, Player)
    return player if limit is None else bounded.Bounded(player, limit)
