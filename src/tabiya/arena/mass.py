"""Hundreds of games at once between players that answer many positions together.

A network without search spends most of a single answer on waiting: asked for
hundreds of positions at a time it plays thousands of games in the minutes that
a hundred would take one by one. So all games go on side by side, and each
player answers every position in which it is to move with one call of its
`play_batch`; a player without one is asked position by position.

There is no clock here. Everything else is as in `game.py`, `match.py` and
`store.py`: openings in pairs with both colours, the endings of the rules, the
adjudication, the blame for what breaks, the folder that a killed match goes on
from, and a sequential test that judges pairs in the order of their numbers.
Players without chance would repeat a game on an opening that comes again, so
no opening does: a book with too few is refused before the first game.
"""

from __future__ import annotations

import random
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tabiya._core import Board
from tabiya.arena.adjudication import Adjudicator
from tabiya.arena.books import Book, Opening
from tabiya.arena.campaign import Plan, counted
from tabiya.arena.elo import Score
from tabiya.arena.evaluation import BatchPlayer
from tabiya.arena.match import MatchStatus, match_fixtures, verdict
from tabiya.arena.pgn import game_to_pgn
from tabiya.arena.provenance import provenance
from tabiya.arena.record import Ending, GameRecord, PlayedMove, Result
from tabiya.arena.runner import Event, Fixture, entrants, sow
from tabiya.arena.sprt import Sprt
from tabiya.arena.store import Store
from tabiya.arena.tally import Tally, score_of
from tabiya.data.scale import centipawns
from tabiya.errors import UserError
from tabiya.player import Decision, Limit, OpenPlayer, Player, PlayerError, PlayerFailure
from tabiya.protocols.scores import shown_score

AT_ONCE = 256
"""Games side by side: enough to fill a batch, few enough that a test which decides wastes little."""


def distinct_openings(book: Book, count: int, seed: int) -> list[Opening]:
    """Up to `count` openings in the book's shuffled order, no two of which lead to one position."""
    order = list(range(len(book)))
    random.Random(seed).shuffle(order)
    found: dict[int, Opening] = {}
    for entry in order:
        if len(found) == count:
            break
        opening = book.replay(book.entries[entry])
        found.setdefault(opening.board().key(), opening)
    return list(found.values())


def run_mass_match(
    plan: Plan,
    folder: Path,
    open_player: OpenPlayer,
    *,
    sprt: Sprt | None = None,
    identity: Mapping[str, Any] | None = None,
    at_once: int = AT_ONCE,
    watch: Callable[[MatchStatus], None] = lambda _: None,
) -> dict[str, Any]:
    """Play the match in its folder, or go on with it; the result is that of result.json.

    `identity` says who the players are beyond their names (the checksums of
    their networks), so that games of others are not taken for theirs.
    """
    if len(plan.players) != 2:
        raise UserError(f"a match has 2 players, got {len(plan.players)}")
    needed = (plan.games + 1) // 2
    openings = distinct_openings(plan.book, needed, plan.seed)
    if len(openings) < needed:
        raise UserError(
            f"{plan.games} games need {needed} different openings, one for each pair, and {plan.book.path} "
            f"has {len(openings)}: give a larger book, or play at most {2 * len(openings)} games"
        )
    settings = plan.settings(
        "mass-match", sprt=None if sprt is None else asdict(sprt), identity=dict(identity or {})
    )
    event = Event(
        entrants=entrants(plan.players),
        openings=openings,
        rules=plan.rules,
        open_player=open_player,
        seed=plan.seed,
    )
    with Store(folder, settings) as store:
        judge = _Judge(sprt, event.entrants[0].name, store, plan.games)

        def finished(record: GameRecord) -> bool:
            store.append(
                game_to_pgn(
                    record,
                    event=f"Tabiya {' '.join(folder.name.split())}",
                    date=datetime.now(UTC).strftime("%Y.%m.%d"),
                    pace=("-", plan.rules.pace.words()),
                )
            )
            return go_on()

        def go_on() -> bool:
            decided = judge.decided()
            watch(MatchStatus(len(store.games), plan.games, judge.score_so_far(), judge.llr))
            return not decided

        missing = [each for each in match_fixtures(plan.games) if each.number not in store.games]
        if go_on() and missing:
            play_together(event, missing, finished, at_once=at_once)
        kept = [number for number in store.games if number < judge.end()]
        result = _result(plan, event, store, kept, sprt, settings)
        store.finish(kept, result)
        return result


class _Judge:
    """Counts the games as they come; with a test, whole pairs in the order of their numbers."""

    def __init__(self, sprt: Sprt | None, first: str, store: Store, games: int) -> None:
        self._sprt, self._store, self._games = sprt, store, games
        self._all, self._in_order = Tally(first), Tally(first)
        self._seen: set[int] = set()
        self._pairs = 0
        self._verdict = "continue"
        self.llr: float | None = None

    def decided(self) -> bool:
        games = self._store.games
        for number in sorted(games.keys() - self._seen):
            self._seen.add(number)
            self._all.add(counted(games[number]))
        while self._sprt is not None and self._verdict == "continue":
            pair = [games.get(2 * self._pairs), games.get(2 * self._pairs + 1)]
            if None in pair:
                break
            for game in pair:
                assert game is not None
                self._in_order.add(counted(game))
            self._pairs += 1
            self.llr = self._sprt.ratio(self._in_order.score())
            self._verdict = self._sprt.verdict(self.llr)
        return self._verdict != "continue"

    def score_so_far(self) -> Score:
        return self._all.score()

    def end(self) -> int:
        """The number of games that count."""
        return 2 * self._pairs if self._verdict != "continue" else self._games


def _result(
    plan: Plan,
    event: Event,
    store: Store,
    kept: list[int],
    sprt: Sprt | None,
    settings: dict[str, Any],
) -> dict[str, Any]:
    first, second = (entrant.name for entrant in event.entrants)
    games = [store.games[number] for number in sorted(kept)]
    score = score_of(first, map(counted, games))
    as_white = score_of(first, [counted(game) for game in games if game.white == first])
    faults: dict[str, Counter[str]] = {}
    for game in games:
        how = game.tags.get("Termination", "normal")
        if how in ("abandoned", "rules infraction"):
            faults.setdefault(game.white if game.result == "0-1" else game.black, Counter())[how] += 1
    return {
        "kind": "mass-match",
        "question": plan.question or f"How strong is {first} against {second}?",
        "expected": plan.expected or None,
        "players": [first, second],
        **score.summary(),
        "as_white": [as_white.wins, as_white.draws, as_white.losses],
        "endings": dict(sorted(Counter(game.tags.get("GameEnd", "?") for game in games).items())),
        "faults": {name: dict(sorted(kinds.items())) for name, kinds in sorted(faults.items())},
        **({} if sprt is None else {"sprt": sprt.summary(score)}),
        "verdict": verdict(first, second, score, sprt),
        "pgn": str(store.pgn),
        "settings": settings,
        **provenance(),
    }


def play_together(
    event: Event,
    fixtures: Iterable[Fixture],
    finished: Callable[[GameRecord], bool],
    *,
    at_once: int = AT_ONCE,
) -> None:
    """Play the fixtures side by side; `finished` is told of each game and says whether to go on.

    Each player is opened once, and whatever keeps it from opening ends
    everything before the first game.
    """
    if event.rules.pace.clock is not None:
        raise UserError("games that are played together have no clock: give a limit for each move, or none")
    if at_once < 1:
        raise UserError(f"the games played at once must be at least 1, got {at_once}")
    waiting = deque(fixtures)
    players: list[Player] = []
    try:
        for entrant in event.entrants:
            players.append(event.open_player(entrant.spec))
            sow(players[-1], f"{event.seed} {entrant.name}")
        tables: list[_Table] = []
        while waiting or tables:
            while waiting and len(tables) < at_once:
                tables.append(_Table(waiting.popleft(), event))
            for index, player in enumerate(players):
                _move(player, [table for table in tables if table.to_move() == index])
            for table in tables:
                if table.end is not None and not finished(table.record()):
                    return
            tables = [table for table in tables if table.end is None]
    finally:
        for player in players:
            player.close()


class _Table:
    """One game in progress."""

    def __init__(self, fixture: Fixture, event: Event) -> None:
        self._fixture = fixture
        self._opening = event.openings[fixture.opening]
        self._names = {index: event.entrants[index].name for index in (fixture.white, fixture.black)}
        self._adjudicator = Adjudicator(event.rules.adjudication, event.rules.tablebases)
        self._draw_offered = False
        self._moves: list[PlayedMove] = []
        self.limit: Limit = event.rules.pace.limit(None, None, 0)
        self.board = self._opening.board()
        self.end: tuple[Result, Ending, str] | None = _by_the_rules(self.board)

    def to_move(self) -> int | None:
        """Whose move it is, as a number among the entrants; None where the game is over."""
        if self.end is not None:
            return None
        return self._fixture.white if self.board.white_to_move else self._fixture.black

    def take(self, decision: Decision, seconds: float) -> None:
        """The mover's decision, as `play_game` would take it."""
        board, name = self.board, self._mover()
        try:
            # A mind that speaks of wins, draws and losses alone is adjudicated by those.
            move, score = decision.move, shown_score(decision, centipawns)
        except Exception as error:  # what came back is no decision
            self.broken_by(error)
            return
        if decision.wants == "resign":
            self._lose("normal", f"{name} resigned")
            return
        if not (isinstance(move, str) and board.is_legal(move)):
            self._lose("rules infraction", f"{name} played the illegal move {move}")
            return
        played = PlayedMove(move, board.san(move), score, decision.depth, decision.nodes, seconds)
        self._moves.append(played)
        board.push(move)
        self.end = _by_the_rules(board)
        if self.end is None:
            ruled = self._adjudicator.after(board, score)
            if ruled is not None:
                self.end = ruled[0], "adjudication", f"adjudicated: {ruled[1]}"
            elif decision.wants == "draw" and self._draw_offered:
                self.end = "1/2-1/2", "normal", "draw agreed"
        self._draw_offered = decision.wants == "draw"

    def broken_by(self, error: Exception) -> None:
        """The mover could not answer: it loses, and its own words are the reason."""
        own_words = isinstance(error, PlayerError)
        self._lose(
            "abandoned",
            str(error) if own_words else f"{self._mover()} failed: {type(error).__name__}: {error}",
        )

    def record(self) -> GameRecord:
        """The finished game."""
        assert self.end is not None
        result, ending, reason = self.end
        return GameRecord(
            number=self._fixture.number,
            white=self._names[self._fixture.white],
            black=self._names[self._fixture.black],
            opening=self._opening,
            moves=tuple(self._moves),
            result=result,
            ending=ending,
            reason=reason,
        )

    def _mover(self) -> str:
        mover = self.to_move()
        assert mover is not None
        return self._names[mover]

    def _lose(self, ending: Ending, reason: str) -> None:
        self.end = ("0-1" if self.board.white_to_move else "1-0"), ending, reason


def _by_the_rules(board: Board) -> tuple[Result, Ending, str] | None:
    """How the game is over, draws that can be claimed included; None: it goes on."""
    outcome = board.outcome()
    if outcome is None:
        return None
    result: Result = "1-0" if outcome[0] == "1-0" else "0-1" if outcome[0] == "0-1" else "1/2-1/2"
    return result, "normal", outcome[1]


def _move(player: Player, tables: Sequence[_Table]) -> None:
    """The player's move in each of these games, all of them with one call if it can."""
    if not tables:
        return
    if isinstance(player, BatchPlayer):
        began = time.perf_counter()
        try:
            player.new_game()
            # Copies: a player that scribbles on its board shall not change the game.
            decisions = player.play_batch([table.board.copy() for table in tables], tables[0].limit)
            if len(decisions) != len(tables):
                raise PlayerFailure(f"{player.name} answered {len(tables)} positions {len(decisions)} times")
        except Exception:
            # One position that breaks it must cost one game, not hundreds: below, each is asked alone.
            pass
        else:
            seconds = (time.perf_counter() - began) / len(tables)
            for table, decision in zip(tables, decisions, strict=True):
                table.take(decision, seconds)
            return
    for table in tables:
        began = time.perf_counter()
        try:
            # The games alternate, so whatever is remembered would be of another game.
            player.new_game()
            decision = player.play(table.board.copy(), table.limit)
        except Exception as error:
            table.broken_by(error)
        else:
            table.take(decision, time.perf_counter() - began)
