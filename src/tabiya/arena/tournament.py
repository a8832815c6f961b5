"""Several players, everyone against everyone or one against the field, and a rating list.

In each round every pairing plays one opening with both colours, and the same
opening as every other pairing, so nobody's rating hangs on luck with the book.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any, Literal, TypeAlias

from tabiya.arena.campaign import Campaign, Plan
from tabiya.arena.provenance import provenance
from tabiya.arena.ratings import Game, RatingList, rate
from tabiya.arena.record import POINTS
from tabiya.arena.runner import Fixture, entrants
from tabiya.arena.store import Store, StoredGame
from tabiya.arena.tally import PlayedResult, score_of
from tabiya.errors import UserError
from tabiya.player import OpenPlayer
from tabiya.scale.executor import Executor
from tabiya.scale.local import LOCAL

Form: TypeAlias = Literal["round-robin", "gauntlet", "ladder"]


@dataclass(frozen=True)
class TournamentStatus:
    """Where a tournament stands, for whoever watches."""

    games: int
    total: int
    last: str


def tournament_fixtures(players: int, games: int, form: Form) -> list[Fixture]:
    """`games` for each pairing, round after round; in a gauntlet the first player meets all others."""
    pairings = [(0, other) for other in range(1, players)]
    if form == "round-robin":
        pairings = list(combinations(range(players), 2))
    fixtures = []
    pair = 0
    for start in range(0, games, 2):
        for one, other in pairings:
            fixtures.append(Fixture(2 * pair, start // 2, one, other))
            if start + 1 < games:
                fixtures.append(Fixture(2 * pair + 1, start // 2, other, one))
            pair += 1
    return fixtures


def find_anchors(anchors: Mapping[str, float], names: list[str]) -> dict[str, float]:
    """Anchors by the players' full names; a part of a name will do where only one player has it."""
    found = {}
    for word, rating in anchors.items():
        matching = [name for name in names if name == word] or [name for name in names if word in name]
        if len(matching) != 1:
            which = f"could be any of {', '.join(matching)}" if matching else f"is none of {', '.join(names)}"
            raise UserError(f"the anchor {word!r} {which}")
        if matching[0] in found:
            raise UserError(f"{matching[0]} is given two anchor ratings")
        found[matching[0]] = rating
    return found


def run_tournament(
    plan: Plan,
    folder: Path,
    open_player: OpenPlayer,
    *,
    form: Form = "round-robin",
    anchors: Mapping[str, float] | None = None,
    pgn: Path | None = None,
    executor: Executor = LOCAL,
    watch: Callable[[TournamentStatus], None] = lambda _: None,
) -> dict[str, Any]:
    """Play a tournament, or go on with it, and give its result as it stands in result.json.

    Anchors are no part of the settings: they change how games are rated, not how they are played.
    """
    if len(plan.players) < 2:
        raise UserError(f"a tournament needs at least 2 players, got {len(plan.players)}")
    fixed = find_anchors(anchors or {}, [entrant.name for entrant in entrants(plan.players)])
    fixtures = tournament_fixtures(len(plan.players), plan.games, form)
    with Store(folder, plan.settings("tournament", form=form), pgn) as store:
        campaign = Campaign(plan, fixtures, store, open_player, executor)

        def go_on(game: StoredGame) -> bool:
            last = f"{game.white} - {game.black} {game.result}"
            watch(TournamentStatus(len(store.games), len(fixtures), last))
            return True

        campaign.play(go_on)
        result = tournament_result(plan, campaign, form, fixed)
        store.finish(store.games, result)
        return result


def rating_list(results: list[PlayedResult], anchors: Mapping[str, float]) -> RatingList:
    """The list of some counted games."""
    return rate([Game(game.white, game.black, POINTS[game.result]) for game in results], anchors)


def cross_table(names: list[str], results: list[PlayedResult]) -> list[dict[str, Any]]:
    """For each player a row: points against every other, in the order of `names`."""
    rows = []
    for name in names:
        cells: list[str | None] = []
        for other in names:
            between = [game for game in results if {game.white, game.black} == {name, other}]
            score = score_of(name, between)
            cells.append(f"{score.wins}-{score.losses}-{score.draws}" if name != other and between else None)
        total = score_of(name, results)
        rows.append({"name": name, "points": total.wins + total.draws / 2, "against": cells})
    return rows


def tournament_result(
    plan: Plan, campaign: Campaign, form: Form, anchors: Mapping[str, float]
) -> dict[str, Any]:
    """All that result.json says of the games that are in the campaign's folder."""
    results = campaign.played()
    ratings = rating_list(results, anchors)
    order = [player.name for player in ratings.players]
    best = ratings.players[0] if ratings.players else None
    return {
        "kind": "tournament",
        "question": plan.question or f"How strong are {', '.join(plan.players)}?",
        "expected": plan.expected or None,
        "form": form,
        "games": len(results),
        "anchors": dict(anchors),
        "ratings": ratings.summary(),
        "cross_table": {"players": order, "cells": "wins-losses-draws", "rows": cross_table(order, results)},
        **campaign.endings(campaign.store.games),
        "engines": campaign.own_names or None,
        "verdict": f"{best.name} leads the list" if best else "no games were played",
        "pgn": str(campaign.store.pgn),
        "settings": plan.settings("tournament", form=form),
        **provenance(),
    }
