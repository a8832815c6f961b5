"""A rating list for many players, by maximum likelihood.

The model (`bradley_terry.py`) is the one behind an Elo number: the expected
score is the logistic of the distance in rating, with White's advantage
fitted, and a draw is half a win and half a loss. A model with a draw rate of
its own (Davidson's, say) would rate by wins and losses alone and stretch the
scale where players draw much; this one gives a list of two players the same
distance that `elo.py` gives their match, and keeps to the scale on which the
anchors' ratings were published.

The 95 % intervals come from the Fisher information. They hold for each rating
by itself: against the anchors where there are some, against the list's
average where there are none. What they leave out, that anchors may disagree,
shows in `spread`: the rating that each anchor alone would give.

Ratings exist only between players who are tied by results in both directions.
A player who won or lost everything gets a bound in place of a rating, players
who share no such tie with the rest are a list of their own, and a sentence
says so.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from tabiya.arena.bradley_terry import Fit, Pairing, fit
from tabiya.arena.elo import SIGMAS_95, Score, score_from_elo
from tabiya.errors import UserError

MOST_PLAYERS = 3000
"""Beyond this the equations no longer fit into memory and patience."""

Table: TypeAlias = dict[str, dict[str, Score]]
"""What each player scored against each other."""


@dataclass(frozen=True)
class Game:
    """One result: 1, ½ or 0 for White."""

    white: str
    black: str
    points: float


@dataclass(frozen=True, kw_only=True)
class Opposition:
    """What a player scored against one opponent, and the rating that this alone would give."""

    name: str
    score: Score
    expected_share: float | None
    rating: float | None
    rating_95: tuple[float | None, float | None]

    def summary(self) -> dict[str, Any]:
        return {
            "opponent": self.name,
            "games": self.score.games,
            "score_share": round(self.score.share, 4),
            "expected_share": None if self.expected_share is None else round(self.expected_share, 4),
            "rating": _rounded(self.rating),
            "rating_95": [_rounded(end) for end in self.rating_95],
        }


@dataclass(frozen=True, kw_only=True)
class Rated:
    """One line of the list."""

    name: str
    score: Score
    rating: float | None
    """None where only a bound exists."""
    rating_95: tuple[float | None, float | None]
    anchored: bool = False
    group: int = 0
    """0 is the main list; others cannot be compared with it."""
    against: tuple[Opposition, ...] = ()

    def summary(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "rating": _rounded(self.rating),
            "rating_95": [_rounded(end) for end in self.rating_95],
            "anchor": self.anchored,
            "group": self.group,
            "games": self.score.games,
            "wins": self.score.wins,
            "draws": self.score.draws,
            "losses": self.score.losses,
            "score_share": round(self.score.share, 4),
            "against": [one.summary() for one in self.against],
        }


@dataclass(frozen=True)
class RatingList:
    """The players, best first, and what has to be said beside them."""

    players: tuple[Rated, ...]
    white_advantage: float
    white_advantage_95: tuple[float, float]
    notes: tuple[str, ...] = field(default=())

    def __getitem__(self, name: str) -> Rated:
        return next(player for player in self.players if player.name == name)

    def spread(self, name: str) -> tuple[float, float] | None:
        """The lowest and highest rating that a single anchor gives a player; None with fewer than two."""
        anchors = {player.name for player in self.players if player.anchored}
        alone = [one.rating for one in self[name].against if one.name in anchors and one.rating is not None]
        return (min(alone), max(alone)) if len(alone) > 1 else None

    def summary(self) -> dict[str, Any]:
        lines = []
        for player in self.players:
            spread = self.spread(player.name)
            lines.append(player.summary() | {"anchor_spread": spread and [round(end, 2) for end in spread]})
        return {
            "players": lines,
            "white_advantage": round(self.white_advantage, 2),
            "white_advantage_95": [round(end, 2) for end in self.white_advantage_95],
            "notes": list(self.notes),
        }


def rate(games: Iterable[Game], anchors: Mapping[str, float] | None = None) -> RatingList:
    """The rating list of these games; without anchors the average of the list is 0."""
    pairings = _pairings(games)
    table = cross_table(pairings)
    names, anchors = sorted(table), dict(anchors or {})
    for name in anchors:
        if name not in table:
            players = ", ".join(names[:20]) or "there are none"
            raise UserError(f"the anchor {name!r} is none of the players: {players}")
    if len(names) > MOST_PLAYERS:
        raise UserError(f"a rating list holds at most {MOST_PLAYERS} players, these games have {len(names)}")
    groups = _tied_groups(names, table, anchors)
    fits = [_fit_group(group, pairings, anchors) for group in groups]
    main = fits[0] if fits else Fit({}, {})
    notes: list[str] = []
    lines: list[Rated] = []
    for number, group in enumerate(groups):
        if number and len(group) == 1:
            lines.append(_bounded(group[0], table, main, number, notes))
            continue
        if number:
            notes.append(
                f"{', '.join(group)}: no results tie them to the others in both directions, "
                "so their ratings stand among themselves, around 0"
            )
        lines += [_rated(name, table, fits[number], name in anchors, number) for name in group]
    reach = SIGMAS_95 * main.white_error
    advantage = main.white_advantage
    return RatingList(
        tuple(sorted(lines, key=_standing)), advantage, (advantage - reach, advantage + reach), tuple(notes)
    )


def _rated(name: str, table: Table, fitted: Fit, anchored: bool, group: int) -> Rated:
    rating = fitted.ratings.get(name, 0.0)
    reach = SIGMAS_95 * fitted.errors.get(name, 0.0)
    return Rated(
        name=name,
        score=_total(name, table),
        rating=rating,
        rating_95=(rating - reach, rating + reach),
        anchored=anchored,
        group=group,
        against=_against(name, table, fitted.ratings),
    )


def _standing(player: Rated) -> tuple[int, int, float, str]:
    """The unbeaten first, then the rated, then those who lost everything; lists of their own at the end."""
    low, high = player.rating_95
    if player.rating is not None:
        return (1 if player.group == 0 else 3, player.group, -player.rating, player.name)
    tier = 0 if low is not None else 2 if high is not None else 4
    return (tier, 0, -player.score.share, player.name)


def _pairings(games: Iterable[Game]) -> list[Pairing]:
    counts: dict[tuple[str, str], list[int]] = {}
    for game in games:
        if game.white == game.black:
            raise UserError(f"{game.white!r} plays itself: a rating list needs two names for that")
        counts.setdefault((game.white, game.black), [0, 0, 0])[round(2 * game.points)] += 1
    return [Pairing(white, black, *reversed(cell)) for (white, black), cell in sorted(counts.items())]


def _fit_group(group: Sequence[str], pairings: Sequence[Pairing], anchors: Mapping[str, float]) -> Fit:
    members = set(group)
    inside = [pairing for pairing in pairings if {pairing.white, pairing.black} <= members]
    return fit(inside, {name: value for name, value in anchors.items() if name in members})


def cross_table(pairings: Iterable[Pairing]) -> Table:
    """What each player scored against each other, both colours together."""
    table: Table = {}
    for pairing in pairings:
        cells = (
            (pairing.white, pairing.black, pairing.wins, pairing.losses),
            (pairing.black, pairing.white, pairing.losses, pairing.wins),
        )
        for one, other, wins, losses in cells:
            row = table.setdefault(one, {})
            before = row.get(other, Score())
            row[other] = Score(
                wins=before.wins + wins, draws=before.draws + pairing.draws, losses=before.losses + losses
            )
    return table


def _total(name: str, table: Table) -> Score:
    cells = table.get(name, {}).values()
    return Score(
        wins=sum(cell.wins for cell in cells),
        draws=sum(cell.draws for cell in cells),
        losses=sum(cell.losses for cell in cells),
    )


def _tied_groups(names: Sequence[str], table: Table, anchors: Mapping[str, float]) -> list[list[str]]:
    """The players sorted into sets within which everyone has scored, by some chain, against everyone.

    Anchors are tied to each other by their ratings. The main set comes first:
    the one with the anchors, else the one with the most players and games.
    """
    scored = {
        one: {other for other, cell in table[one].items() if cell.share > 0}
        | (set(anchors) if one in anchors else set())
        for one in names
    }
    reach = {name: _reachable(name, scored) for name in names}
    groups: list[list[str]] = []
    for name in names:
        for group in groups:
            if group[0] in reach[name] and name in reach[group[0]]:
                group.append(name)
                break
        else:
            groups.append([name])
    groups.sort(
        key=lambda g: (not anchors.keys() & set(g), -len(g), -sum(_total(n, table).games for n in g), g)
    )
    return groups


def _reachable(start: str, scored: Mapping[str, set[str]]) -> set[str]:
    seen, waiting = {start}, [start]
    while waiting:
        for other in scored[waiting.pop()] - seen:
            seen.add(other)
            waiting.append(other)
    return seen


def _against(name: str, table: Table, ratings: Mapping[str, float]) -> tuple[Opposition, ...]:
    lines = []
    for other, score in table.get(name, {}).items():
        base = ratings.get(other)
        own = ratings.get(name)
        elo, (low, high) = score.elo(), score.elo_95()
        lines.append(
            Opposition(
                name=other,
                score=score,
                expected_share=None if base is None or own is None else score_from_elo(own - base),
                rating=None if base is None or elo is None else base + elo,
                rating_95=tuple(None if base is None or end is None else base + end for end in (low, high)),  # type: ignore[arg-type]
            )
        )
    return tuple(lines)


def _bounded(name: str, table: Table, fitted: Fit, group: int, notes: list[str]) -> Rated:
    """A player who won or lost all that could tie it to the list: how good it must be, or can be, at 95 %."""
    score = _total(name, table)
    cells = [(fitted.ratings[other], cell) for other, cell in table[name].items() if other in fitted.ratings]
    won = all(cell.share == 1 for _, cell in cells)
    lost = all(cell.share == 0 for _, cell in cells)
    bound: float | None = None
    if cells and (won or lost):
        bound = _bound(cells, won)
        notes.append(
            f"{name} {'won' if won else 'lost'} every game against the players of the list: "
            f"no finite rating, {'above' if won else 'below'} {bound:.0f} (95 %)"
        )
    else:
        notes.append(f"{name}: no results tie it to the list in both directions, so it has no rating")
    ends = (bound, None) if won else (None, bound)
    return Rated(
        name=name,
        score=score,
        rating=None,
        rating_95=ends,
        group=group,
        against=_against(name, table, fitted.ratings),
    )


def _bound(cells: Sequence[tuple[float, Score]], won: bool) -> float:
    """The rating at which results as one-sided as these have a chance of 5 %."""
    sign = 1 if won else -1

    def log_chance(rating: float) -> float:
        return sum(cell.games * math.log(score_from_elo(sign * (rating - base))) for base, cell in cells)

    middle = sum(base for base, _ in cells) / len(cells)
    low, high = middle - 4000, middle + 4000
    for _ in range(80):
        centre = (low + high) / 2
        if (log_chance(centre) < math.log(0.05)) == won:
            low = centre
        else:
            high = centre
    return (low + high) / 2


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 2)
