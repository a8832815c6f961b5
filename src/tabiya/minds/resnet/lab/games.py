"""The networks' games: everyone against everyone, and everyone against the anchors.

Each part is a folder of its own under `games/`, kept and resumed by the
arena; a rating list is fitted later to all their games together. The networks
go by their short names, so that a folder that was moved goes on all the same.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from itertools import combinations
from typing import Protocol, TypeAlias

from tabiya.arena.adjudication import Adjudication
from tabiya.arena.books import Book
from tabiya.arena.campaign import Plan
from tabiya.arena.game import GameRules, Pace
from tabiya.arena.mass import run_mass_match
from tabiya.arena.match import MatchStatus
from tabiya.arena.tournament import TournamentStatus, run_tournament
from tabiya.errors import UserError
from tabiya.minds.resnet.lab.folder import LabFolder
from tabiya.minds.resnet.lab.plan import Lab
from tabiya.minds.resnet.lab.variants import Comparison, comparison
from tabiya.minds.resnet.player import open_player as open_resnet
from tabiya.player import OpenPlayer, Player, PlayerName


class Meter(Protocol):
    """Is told of work done."""

    def advance(self, amount: float = 1) -> None: ...


Progress: TypeAlias = Callable[[str, float], AbstractContextManager[Meter]]
"""Opens a meter for a piece of work: what it is, and how much."""


class _Silent:
    def advance(self, amount: float = 1) -> None:
        pass


def silent(_what: str, _total: float) -> AbstractContextManager[Meter]:
    return nullcontext(_Silent())


def opener(lab: Lab, folder: LabFolder, mode: str, others: OpenPlayer) -> OpenPlayer:
    """Opens the experiment's networks by their short names, and every other player as `others` does."""
    names = {variant.name for variant in comparison(lab).variants}
    options = {"mode": mode, "threads": str(lab.measures.threads)}

    def open_player(text: str) -> Player:
        if text not in names:
            return others(text)
        return open_resnet(PlayerName("resnet", str(folder.network(text)), options=options))

    return open_player


def play_games(lab: Lab, folder: LabFolder, others: OpenPlayer, progress: Progress = silent) -> None:
    """Play whatever games are missing."""
    compared, measures = comparison(lab), lab.measures
    names = [variant.name for variant in compared.variants]
    anchors = [anchor.player for anchor in measures.anchors]
    checksums = {name: manifest["sha256"] for name, manifest in folder.manifests(names).items()}
    folder.begin("play.json", {"mode": measures.mode, "networks": checksums})
    games = _Games(lab, folder, opener(lab, folder, measures.mode, others))
    pairs = list(combinations(names, 2))
    with progress("games between networks", len(pairs) * measures.games) as meter:
        for one, other in pairs:
            games.together(one, other, checksums, meter)
    for number, anchor in enumerate(anchors):
        players = [anchor, *anchors[:number], *names]
        with progress(f"games with {anchor}", (len(players) - 1) * measures.anchor_games) as meter:
            games.gauntlet(players, meter)


def expected_games(lab: Lab, compared: Comparison) -> int:
    """How many games an experiment has when all are played."""
    networks, anchors = len(compared.variants), len(lab.measures.anchors)
    pairs = networks * (networks - 1) // 2
    with_anchors = anchors * networks + anchors * (anchors - 1) // 2
    return pairs * lab.measures.games + with_anchors * lab.measures.anchor_games


class _Games:
    """Plays the parts of an experiment, each into a folder of its own."""

    def __init__(self, lab: Lab, folder: LabFolder, open_player: OpenPlayer) -> None:
        self._measures, self._folder, self._open = lab.measures, folder, open_player
        self._book = Book.read(lab.measures.book) if lab.measures.book else Book.built_in()

    def together(self, one: str, other: str, checksums: dict[str, str], meter: Meter) -> None:
        """Two networks, all their games side by side."""
        plan = self._plan([one, other], self._measures.games, Pace())
        identity = {name: checksums[name] for name in (one, other)}
        seen = 0

        def watch(status: MatchStatus) -> None:
            nonlocal seen
            meter.advance(status.games - seen)
            seen = status.games

        folder = self._folder.games(f"{one}--{other}")
        run_mass_match(plan, folder, self._open, identity=identity, watch=watch)

    def gauntlet(self, players: list[str], meter: Meter) -> None:
        """The first player against each of the others, game after game."""
        measures, seen = self._measures, 0
        if (measures.anchor_games + 1) // 2 > len(self._book):
            raise UserError(
                f"the book has {len(self._book)} openings for {(measures.anchor_games + 1) // 2} pairs of "
                "games, and games would only be repeated: name a larger book"
            )
        movetime = None if measures.movetime is None else measures.movetime / 1000
        plan = self._plan(players, measures.anchor_games, Pace(movetime=movetime, depth=measures.depth))

        def watch(status: TournamentStatus) -> None:
            nonlocal seen
            meter.advance(status.games - seen)
            seen = status.games

        part = "anchor-" + re.sub(r"[^A-Za-z0-9]+", "-", players[0]).strip("-")[-40:]
        run_tournament(plan, self._folder.games(part), self._open, form="gauntlet", watch=watch)

    def _plan(self, players: list[str], games: int, pace: Pace) -> Plan:
        return Plan(
            players=tuple(players),
            games=games,
            rules=GameRules(pace=pace, adjudication=Adjudication(max_moves=self._measures.max_moves)),
            book=self._book,
            seed=self._measures.seed,
            concurrency=self._measures.concurrency,
        )
