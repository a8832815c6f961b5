"""A rating list as a file: its players, how well each shall be known, the pace and the openings.

    tabiya tournament --config configs/rating-list.toml

The file holds what the options of `tabiya tournament` hold, and for each
player what no option could say without becoming unreadable.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass

from tabiya.errors import UserError


@dataclass(frozen=True, kw_only=True)
class ListedPlayer:
    """One player of the list."""

    name: str
    """How the list calls it."""
    player: str
    """The player as everywhere: `resnet`, `turing?at=depth:2`, `uci:/usr/games/stockfish?UCI_Elo=1500`."""
    within: float
    """The reach of the 95 % interval, in Elo, that its rating shall be known to."""
    anchor: float | None = None
    """A known rating, which holds the scale."""
    guess: float | None = None
    """Where to look for opponents before its games say more; an anchor needs none."""
    effort: float = 1.0
    """What a game costs it, in seconds or so beside the others': what is dear is played less."""
    also: tuple[str, ...] = ()
    """Its names in the games that are taken in."""

    def spec(self) -> str:
        """The player's written name, with the name that it has in the games."""
        return f"{self.player}{'&' if '?' in self.player else '?'}name={self.name}"


@dataclass(frozen=True, kw_only=True)
class ListConfig:
    """One rating list, read from configs/rating-list.toml or the like."""

    players: tuple[ListedPlayer, ...]
    out: str
    """The folder for games and result."""
    games: int = 400
    """The most that two players play against each other."""
    movetime: float | None = None
    nodes: int | None = None
    depth: int | None = None
    tc: str | None = None
    margin: float = 50
    book: str | None = None
    """Openings; without it the built-in ones."""
    plies: int = 16
    seed: int = 0
    concurrency: int | None = None
    resign: str | None = None
    draw: str | None = None
    max_moves: int | None = None
    take: tuple[str, ...] = ()
    """PGN files of games that were played already, at the same pace."""
    question: str = ""
    expect: str = ""

    def __post_init__(self) -> None:
        names = [player.name for player in self.players]
        if len(names) < 2:
            raise UserError(f"a list needs at least 2 players, got {len(names)}")
        if len(set(names)) < len(names):
            raise UserError("two players of the list have the same name")
        known = [*names, *(other for player in self.players for other in player.also)]
        if len(set(known)) < len(known):
            raise UserError("a name under 'also' is that of another player of the list")

    def options(self, args: argparse.Namespace) -> argparse.Namespace:
        """The options of `tabiya tournament` as the file has them; --out and --concurrency go before it."""
        own = {
            name: getattr(self, name)
            for name in ("games", "movetime", "nodes", "depth", "tc", "margin", "book", "plies", "seed")
        }
        own |= {name: getattr(self, name) for name in ("resign", "draw", "max_moves", "question", "expect")}
        own |= {
            "concurrency": args.concurrency or self.concurrency,
            "out": args.out or self.out,
            "syzygy": None,
        }
        return argparse.Namespace(**own)
