"""Two players, N games, one honest number.

Games come in pairs on one opening with the colours reversed. A match is kept
in a folder (`store.py`) and goes on where it stopped when the same command is
given again. With a sequential test the games are judged pair by pair in the
order of their numbers, whatever order they finished in, and the match ends
with the first pair that decides; games beyond it are not kept. So neither the
number of games at once nor an interruption changes the result of players that
are deterministic.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tabiya.arena.campaign import Campaign, Plan, counted
from tabiya.arena.elo import Score
from tabiya.arena.provenance import provenance
from tabiya.arena.runner import Entrant, Fixture
from tabiya.arena.sprt import Sprt
from tabiya.arena.store import Store, StoredGame
from tabiya.arena.tally import Tally, score_of
from tabiya.errors import UserError
from tabiya.player import OpenPlayer
from tabiya.scale.executor import Executor
from tabiya.scale.local import LOCAL


@dataclass(frozen=True)
class MatchStatus:
    """Where a match stands, for whoever watches."""

    games: int
    total: int
    score: Score
    llr: float | None = None


def match_fixtures(games: int) -> list[Fixture]:
    """Pairs on one opening each: first with the first player White, then with the second."""
    return [Fixture(n, n // 2, n % 2, 1 - n % 2) for n in range(games)]


def match_settings(plan: Plan, sprt: Sprt | None) -> dict[str, Any]:
    return plan.settings("match", sprt=None if sprt is None else asdict(sprt))


def run_match(
    plan: Plan,
    folder: Path,
    open_player: OpenPlayer,
    *,
    sprt: Sprt | None = None,
    pgn: Path | None = None,
    executor: Executor = LOCAL,
    watch: Callable[[MatchStatus], None] = lambda _: None,
) -> dict[str, Any]:
    """Play a match, or go on with it, and give its result as it stands in result.json."""
    if len(plan.players) != 2:
        raise UserError(f"a match has 2 players, got {len(plan.players)}")
    fixtures = match_fixtures(plan.games)
    with Store(folder, match_settings(plan, sprt), pgn) as store:
        campaign = Campaign(plan, fixtures, store, open_player, executor)
        first = campaign.entrants[0]
        test = _Sequential(sprt, first, store, plan.games)
        tally = Tally(first.name)
        for number in sorted(store.games):
            tally.add(counted(store.games[number]))

        def go_on(game: StoredGame | None = None) -> bool:
            if game is not None:
                tally.add(counted(game))
            decided = test.decided()
            watch(MatchStatus(len(store.games), plan.games, tally.score(), test.llr))
            return not decided

        if go_on():
            campaign.play(go_on)
        kept = [number for number in store.games if number < test.end()]
        result = _result(plan, campaign, kept, sprt, pgn=store.pgn)
        store.finish(kept, result)
        return result


class _Sequential:
    """The sequential test over whole pairs in the order of their numbers."""

    def __init__(self, sprt: Sprt | None, first: Entrant, store: Store, games: int) -> None:
        self._sprt, self._store, self._games = sprt, store, games
        self._tally = Tally(first.name)
        self._pairs = 0
        self._verdict = "continue"
        self.llr: float | None = None

    def decided(self) -> bool:
        """Take in the pairs that have become whole, until one decides."""
        games = self._store.games
        while self._sprt is not None and self._verdict == "continue":
            first, second = games.get(2 * self._pairs), games.get(2 * self._pairs + 1)
            if first is None or second is None:
                break
            self._tally.add(counted(first))
            self._tally.add(counted(second))
            self._pairs += 1
            self.llr = self._sprt.ratio(self._tally.score())
            self._verdict = self._sprt.verdict(self.llr)
        return self._verdict != "continue"

    def end(self) -> int:
        """The number of games that count."""
        return 2 * self._pairs if self._verdict != "continue" else self._games


def _result(plan: Plan, campaign: Campaign, kept: list[int], sprt: Sprt | None, pgn: Path) -> dict[str, Any]:
    first, second = (entrant.name for entrant in campaign.entrants)
    score = score_of(first, campaign.played(kept))
    as_white = score_of(first, [game for game in campaign.played(kept) if game.white == first])
    figures: dict[str, Any] = {
        "kind": "match",
        "question": plan.question or f"How strong is {first} against {second}?",
        "expected": plan.expected or None,
        "players": [first, second],
        "engines": campaign.own_names or None,
        **score.summary(),
        "as_white": [as_white.wins, as_white.draws, as_white.losses],
        **campaign.endings(kept),
    }
    if sprt is not None:
        figures["sprt"] = sprt.summary(score)
    figures |= {
        "verdict": verdict(first, second, score, sprt),
        "pgn": str(pgn),
        "settings": match_settings(plan, sprt),
        **provenance(),
    }
    return figures


def verdict(first: str, second: str, score: Score, sprt: Sprt | None = None) -> str:
    """What may be said after these games, in one sentence."""
    if sprt is not None:
        ratio = sprt.ratio(score)
        decided = {
            "H0": f"{first} is not ahead of {second} by {sprt.elo1:g} Elo (H0 accepted)",
            "H1": f"{first} is ahead of {second} by more than {sprt.elo0:g} Elo (H1 accepted)",
            "continue": f"the games decide nothing yet between {first} and {second}",
        }[sprt.verdict(ratio)]
        return f"{decided}, LLR {ratio:.2f}; the Elo of a sequential test is no measurement"
    low, high = score.share_95()
    if low > 0.5:
        return f"{first} is stronger than {second}: {score.sentence()}"
    if high < 0.5:
        return f"{second} is stronger than {first}: {first} has {score.sentence()}"
    return f"neither {first} nor {second} is shown to be stronger: {first} has {score.sentence()}"
