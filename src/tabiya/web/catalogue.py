"""The minds that the page offers: their names, colours and strength, and which of them are at hand.

A name from the network is looked up here and nowhere else: what is not in this
list is refused, so no request can name a file or a program. An ancestor from a
gene pool is named by the pool's key, which the server made up, and a number.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from tabiya.errors import UserError
from tabiya.player import Limit, Player
from tabiya.web import limits, wishes
from tabiya.web.refusal import Refusal

Knob = Literal["temperature", "nodes", "none"]


@dataclass(frozen=True)
class Mind:
    """One line of the list."""

    name: str
    title: str
    what: str
    colour: str
    """Of its arrows and bars, the same everywhere."""
    knob: Knob
    """What makes it weaker or stronger: temperature for those that do not search, nodes for those that do."""
    standard: float = 0.0
    """Where the knob stands at first."""
    seats: int = 2
    """How many may think at once; one where thought is a single look and the network is large."""


MINDS = (
    Mind("resnet", "ResNet", "one look, no search: a residual network", "#1f77c9", "temperature", 0.0, 1),
    Mind("transformer", "Transformer", "one look at 85 tokens, no search", "#d1495b", "temperature", 0.0, 1),
    Mind("nnue", "NNUE", "search with a learned evaluation", "#2a9d4a", "nodes", 20_000),
    Mind("genetic", "Genetic", "search by genes that were evolved", "#8e5bc7", "nodes", 20_000),
    Mind("turing", "Turing", "the paper machine of 1952", "#c77700", "nodes", 2_000),
    Mind("montecarlo", "Monte Carlo", "complete random games from every move", "#0f8b8d", "nodes", 1_000),
    Mind("random", "Random", "any legal move", "#76808a", "none", 0.0, 1),
)
BY_NAME = {mind.name: mind for mind in MINDS}

OPENING_PLIES = 10
OPENING_TEMPERATURE = 0.7
OPENING_SHARE = 0.8
"""A mind that does not search would open every game alike. So on its first moves from the usual start it
draws among the moves that together have this share of its probability."""


@dataclass(frozen=True)
class Choice:
    """A mind as chosen by someone at the page."""

    mind: Mind
    temperature: float = 0.0
    nodes: int | None = None
    pool: str | None = None
    """The key of a gene pool, for an ancestor."""
    genome: int | None = None

    @property
    def title(self) -> str:
        return self.mind.title if self.genome is None else f"{self.mind.title} {self.genome}"

    def limit(self, seconds: float | None = None) -> Limit:
        """The thought it may take: its nodes, and never longer than the house allows."""
        most = limits.THOUGHT_SECONDS if seconds is None else max(0.001, min(seconds, limits.THOUGHT_SECONDS))
        return Limit(nodes=self.nodes, movetime=most)

    def options(self, opening: bool) -> dict[str, str]:
        """The settings for one move; `opening`: while variety is wanted."""
        if self.mind.knob != "temperature":
            return {}
        if opening and self.temperature < OPENING_TEMPERATURE:
            return {"temperature": str(OPENING_TEMPERATURE), "top_p": str(OPENING_SHARE)}
        return {"temperature": str(self.temperature), "top_p": "1.0"}

    def to_json(self) -> dict[str, Any]:
        """As the page sends it back."""
        shown: dict[str, Any] = {"name": self.mind.name}
        if self.mind.knob == "temperature":
            shown["temperature"] = self.temperature
        if self.nodes is not None:
            shown["nodes"] = self.nodes
        if self.genome is not None:
            shown |= {"pool": self.pool, "genome": self.genome}
        return shown


def read_choice(wish: dict[str, Any], pools: Mapping[str, Path]) -> Choice:
    """The mind that a request names, with its strength."""
    refused = ("name", "temperature", "nodes", "pool", "genome")
    wishes.refuse_others(wish, refused, "the choice of a mind")
    name = wishes.text(wish, "name")
    mind = BY_NAME.get(name)
    if mind is None:
        raise Refusal(f"there is no mind called {name!r} here; there are {', '.join(BY_NAME)}")
    temperature = wishes.number(wish, "temperature", 0.0, limits.HOTTEST)
    nodes = wishes.whole(wish, "nodes", 1, limits.MOST_NODES)
    pool, genome = wishes.text(wish, "pool") or None, wishes.whole(wish, "genome", 0, 2**31)
    if (pool is None) != (genome is None):
        raise Refusal("an ancestor is named by its pool and its number, one of them is missing")
    if pool is not None and (name != "genetic" or pool not in pools):
        raise Refusal("there is no such gene pool here")
    return Choice(
        mind,
        temperature=temperature or 0.0 if mind.knob == "temperature" else 0.0,
        nodes=(nodes or int(mind.standard)) if mind.knob == "nodes" else None,
        pool=pool,
        genome=genome,
    )


class Catalogue:
    """Opens the minds of the list, and says which can be opened."""

    def __init__(
        self, open_player: Callable[[str], Player], kinds: Mapping[str, Any], pools: Mapping[str, Path]
    ) -> None:
        self._open, self._kinds, self.pools = open_player, kinds, pools
        self._at_hand: dict[str, str | None] = {}
        self._opened: dict[str, Player] = {}
        """Opened to see whether they are at hand, and kept for the first who asks."""
        self._lock = threading.Lock()

    def open(self, choice: Choice) -> Player:
        """A player of this choice; a UserError's sentence says what is missing."""
        if choice.pool is not None:
            return self._open(f"genetic:{self.pools[choice.pool]}#{choice.genome}")
        with self._lock:
            ready = self._opened.pop(choice.mind.name, None)
        return ready or self._open(choice.mind.name)

    def missing(self, mind: Mind) -> str | None:
        """Why a mind cannot be played, or None. One that was at hand is not asked again."""
        with self._lock:
            if self._at_hand.get(mind.name, "") is not None:
                try:
                    self._opened[mind.name] = self._open(mind.name)
                    self._at_hand[mind.name] = None
                except UserError as error:
                    self._at_hand[mind.name] = str(error)
            return self._at_hand[mind.name]

    def listing(self) -> list[dict[str, Any]]:
        """For the page: the kinds that this installation knows, at hand or not."""
        return [
            {
                "name": mind.name,
                "title": mind.title,
                "what": mind.what,
                "colour": mind.colour,
                "knob": mind.knob,
                "standard": mind.standard,
                "missing": self.missing(mind),
            }
            for mind in MINDS
            if mind.name in self._kinds
        ]
