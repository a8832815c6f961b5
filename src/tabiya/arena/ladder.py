"""A rating list that is played until it is sharp: who meets whom next, and when it is enough.

Each player has an interval that its rating shall be known to. The next pair of
games, on one opening with both colours, is given to the two from whom most is
learned about all those who are not known well enough (`pairing.py`): a game
between equals says the most, one between players far apart nearly nothing, and
a weak link in the chain to the anchors is worth more than another game at its
end. So neighbours in strength meet more often, and the chain has no weak link.
What a game costs each player is told beforehand, not timed, so that the same
list is played on a slow or a busy machine.

Anchors hold the scale and have no interval of their own. So that they are
played as carefully as the rest, each has to be known to its interval as if it
alone were no anchor; what the games say of it then is told beside the rating
that it was given.

Who plays next is read from the games in the folder, so a list that was
interrupted goes on, and one whose intervals were made narrower goes on too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

from tabiya.arena.campaign import Campaign, Plan
from tabiya.arena.pairing import Knowledge
from tabiya.arena.ratings import Rated
from tabiya.arena.runner import Fixture, entrants
from tabiya.arena.store import Store, StoredGame
from tabiya.arena.taken import Taken, take_in
from tabiya.arena.tally import PlayedResult
from tabiya.arena.tournament import rating_list, tournament_result
from tabiya.errors import UserError
from tabiya.player import OpenPlayer
from tabiya.scale.executor import Executor
from tabiya.scale.local import LOCAL

FEWEST = 20
"""Games below which no interval is believed: a few that all ended alike look surer than they are."""


@dataclass(frozen=True, kw_only=True)
class Contender:
    """One player of the list, and how well it shall be known."""

    name: str
    within: float
    """The reach of its 95 % interval to either side, in Elo."""
    anchor: float | None = None
    guess: float = 1500.0
    """Where to look for opponents before its games say more."""
    effort: float = 1.0
    """What a game costs it, in seconds or any other measure that all share: dear games are played less."""

    def __post_init__(self) -> None:
        if not self.within > 0:
            raise UserError(f"the interval of {self.name} must be wider than 0, got {self.within:g}")
        if not self.effort > 0:
            raise UserError(f"the effort of {self.name} must be more than 0, got {self.effort:g}")


@dataclass(frozen=True)
class LadderStatus:
    """Where a list stands, for whoever watches."""

    games: int
    open: int
    """Players that are not known well enough yet."""
    last: str


class Standing:
    """What the games say so far."""

    def __init__(self, contenders: Sequence[Contender], results: Sequence[PlayedResult]) -> None:
        self.contenders = contenders
        self._played = {name for game in results for name in (game.white, game.black)}
        self.anchors = {
            one.name: one.anchor for one in contenders if one.anchor is not None and one.name in self._played
        }
        self._list = rating_list(list(results), self.anchors)
        self._own = {name: self._as_if_free(name, results) for name in self.anchors}
        self.games = Counter(name for game in results for name in (game.white, game.black))

    def _as_if_free(self, name: str, results: Sequence[PlayedResult]) -> Rated | None:
        others = {other: rating for other, rating in self.anchors.items() if other != name}
        # The only anchor has nothing to be measured against but those whom it measures.
        return rating_list(list(results), others)[name] if others else None

    def line(self, name: str) -> Rated | None:
        """A player's rating; for an anchor that which the other anchors would give it."""
        if name not in self._played:
            return None
        return self._own[name] if name in self._own else self._list[name]

    def reach(self, name: str) -> float:
        """How far the interval reaches to the wider side; infinite where there is no rating."""
        if name in self._own and self._own[name] is None:
            return 0.0
        line = self.line(name)
        if line is None or line.rating is None or line.group or self.games[name] < FEWEST:
            return float("inf")
        low, high = line.rating_95
        return float("inf") if low is None or high is None else max(line.rating - low, high - line.rating)

    def rating(self, contender: Contender) -> float:
        """A number to choose opponents by: the rating, else the guess within what is known."""
        if contender.anchor is not None:
            return contender.anchor
        line = self.line(contender.name)
        if line is None or (line.group and line.rating is not None):
            return contender.guess
        if line.rating is not None:
            return line.rating
        low, high = line.rating_95
        guess = contender.guess if low is None else max(contender.guess, low)
        return guess if high is None else min(guess, high)

    def lacking(self) -> list[Contender]:
        """Those who are not known well enough, the farthest from it first."""
        short = [one for one in self.contenders if self.reach(one.name) > one.within]
        return sorted(short, key=lambda one: (-self.reach(one.name) / one.within, self.games[one.name]))


def next_pairing(
    standing: Standing, meetings: Mapping[frozenset[int], int], most: int
) -> tuple[int, int] | None:
    """The two who play the next pair of games; None if everybody is known well enough or has played enough.

    `meetings` are the pairs of games played or begun, `most` how many a pairing may have.
    """
    contenders = standing.contenders
    lacking = standing.lacking()
    ratings = [standing.rating(one) for one in contenders]
    fixed = [index for index, one in enumerate(contenders) if one.name in standing.anchors]
    knowledge = Knowledge(ratings, fixed, meetings, [one.effort for one in contenders])
    free = [
        (a, b)
        for a, b in combinations(range(len(contenders)), 2)
        if meetings.get(frozenset((a, b)), 0) < most
    ]
    # Who has no rating at all yet plays before those whose rating is only not sharp.
    for unknown in [one for one in lacking if standing.reach(one.name) == float("inf")]:
        at = contenders.index(unknown)
        if own := [pair for pair in free if at in pair]:
            best = knowledge.best(own, {at: 1.0})
            return best if best[0] == at else (best[1], best[0])
    if not lacking or not free:
        return None
    return knowledge.best(free, {contenders.index(one): one.within**-2 for one in lacking})


def run_ladder(
    plan: Plan,
    contenders: Sequence[Contender],
    folder: Path,
    open_player: OpenPlayer,
    *,
    take: Sequence[Path] = (),
    aliases: Mapping[str, str] | None = None,
    executor: Executor = LOCAL,
    watch: Callable[[LadderStatus], None] = lambda _: None,
) -> dict[str, Any]:
    """Play a list until it is sharp, or go on with it, and give its result as it stands in result.json.

    `plan.games` are the most that two players play against each other. The
    games of the files in `take` are taken into the folder first; `aliases`
    are other names that players of the list have there.
    """
    names = [entrant.name for entrant in entrants(plan.players)]
    if len(names) < 2:
        raise UserError(f"a tournament needs at least 2 players, got {len(names)}")
    if names != [one.name for one in contenders]:
        raise UserError(f"the list is of {', '.join(names)}, not of {', '.join(c.name for c in contenders)}")
    with Store(folder, plan.settings("tournament", form="ladder")) as store:
        campaign = Campaign(plan, [], store, open_player, executor, openings=(plan.games + 1) // 2)
        taken = [take_in(path, store, names, aliases or {}, plan.rules.pace.words()) for path in take]
        lacking = len(names)

        def tell(game: StoredGame) -> bool:
            watch(LadderStatus(len(store.games), lacking, f"{game.white} - {game.black} {game.result}"))
            return True

        def draw() -> Iterator[Fixture]:
            nonlocal lacking
            yield from _second_halves(store, names)
            begun = _meetings(store, names)
            number = 1 + max((number // 2 for number in store.games), default=-1)
            while True:
                standing = Standing(contenders, campaign.played())
                lacking = len(standing.lacking())
                pairing = next_pairing(standing, begun, (plan.games + 1) // 2)
                if pairing is None:
                    return
                one, other = pairing
                opening = begun[frozenset(pairing)]
                begun[frozenset(pairing)] += 1
                yield Fixture(2 * number, opening, one, other)
                yield Fixture(2 * number + 1, opening, other, one)
                number += 1

        if Standing(contenders, campaign.played()).lacking() or any(_second_halves(store, names)):
            campaign.draw(draw(), tell)
        result = ladder_result(plan, campaign, contenders, taken)
        store.finish(store.games, result)
        return result


def ladder_result(
    plan: Plan, campaign: Campaign, contenders: Sequence[Contender], taken: Sequence[Taken]
) -> dict[str, Any]:
    """The tournament's result, with what every player was to be known to, and what an anchor's games say."""
    standing = Standing(contenders, campaign.played())
    result = tournament_result(plan, campaign, "ladder", standing.anchors)
    wanted = {one.name: one for one in contenders}
    for line in result["ratings"]["players"]:
        own = standing.line(line["name"])
        reach = standing.reach(line["name"])
        line["within"] = wanted[line["name"]].within
        line["sharp"] = reach <= line["within"]
        if line["anchor"] and own is not None and own.rating is not None:
            line["as_if_free"] = own.summary()["rating"]
            line["as_if_free_95"] = own.summary()["rating_95"]
    short = [one.name for one in standing.lacking()]
    known = f"not known well enough: {', '.join(short)}" if short else "all are known to their intervals"
    result["verdict"] = f"{result['verdict']}; {known}"
    result["taken"] = [one.summary() for one in taken] or campaign.store.earlier_result().get("taken") or []
    return result


def _meetings(store: Store, names: Sequence[str]) -> Counter[frozenset[int]]:
    """How many pairs of games any two have played, those that were taken in among them."""
    place = {name: index for index, name in enumerate(names)}
    pairs = {
        (number // 2, frozenset((place[game.white], place[game.black])))
        for number, game in store.games.items()
    }
    return Counter(who for _, who in pairs)


def _second_halves(store: Store, names: Sequence[str]) -> Iterator[Fixture]:
    """The games whose partner was played before an interruption, on the opening that it had."""
    place = {name: index for index, name in enumerate(names)}
    met: Counter[frozenset[int]] = Counter()
    for pair in sorted({number // 2 for number in store.games}):
        played = [store.games[number] for number in (2 * pair, 2 * pair + 1) if number in store.games]
        game = played[0]
        white, black = place[game.white], place[game.black]
        opening = met[frozenset((white, black))]
        met[frozenset((white, black))] += 1
        if len(played) == 1 and "Taken" not in game.tags:
            yield Fixture(4 * pair + 1 - game.number, opening, black, white)
