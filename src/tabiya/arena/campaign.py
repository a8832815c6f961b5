"""A plan of games, played into a folder: what a match and a tournament do alike."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tabiya.arena.books import BUILT_IN, Book
from tabiya.arena.game import GameRules
from tabiya.arena.pgn import game_to_pgn
from tabiya.arena.record import GameRecord
from tabiya.arena.runner import Event, Fixture, entrants, play_all
from tabiya.arena.store import Store, StoredGame
from tabiya.arena.tally import PlayedResult
from tabiya.errors import UserError
from tabiya.player import OpenPlayer
from tabiya.scale.executor import Executor
from tabiya.scale.local import LOCAL


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What a match and a tournament are told alike."""

    players: tuple[str, ...]
    games: int
    """Of the match, or of each pairing of a tournament."""
    rules: GameRules
    book: Book = field(default_factory=Book.built_in)
    seed: int = 0
    concurrency: int | None = 1
    """Games at once; None: as many as whoever carries them out likes."""
    syzygy: str | None = None
    """The folder that `rules.tablebases` were opened from, for the record."""
    question: str = ""
    """What the games are to find out."""
    expected: str = ""
    """What was expected before the first game."""

    def __post_init__(self) -> None:
        if self.games < 1:
            raise UserError(f"there must be at least 1 game, got {self.games}")

    def settings(self, kind: str, **more: Any) -> dict[str, Any]:
        """All that decides the result, as it stands in settings.json."""
        book = "built-in" if self.book.path == BUILT_IN else self.book.path.name
        return {
            "kind": kind,
            "players": list(self.players),
            "games": self.games,
            "pace": {name: value for name, value in asdict(self.rules.pace).items() if value},
            "margin": self.rules.margin,
            "book": {"name": book, "plies": self.book.plies, "sha256": self.book.sha256},
            "seed": self.seed,
            "adjudication": asdict(self.rules.adjudication) | {"syzygy": self.syzygy},
            "question": self.question,
            "expected": self.expected,
            **more,
        }

    def folder(self, settings: dict[str, Any], parent: Path) -> Path:
        """Where the games go if nothing is said: a name that the same settings find again."""
        short = (entrant.name.rpartition("/")[2] for entrant in entrants(self.players)[:3])
        words = [re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-")[:24] for name in short]
        digest = hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:8]
        return parent / "-".join([settings["kind"], *words, digest])


class Campaign:
    """The games of a plan, played into a store; what a match and a tournament do alike."""

    def __init__(
        self,
        plan: Plan,
        fixtures: Iterable[Fixture],
        store: Store,
        open_player: OpenPlayer,
        executor: Executor = LOCAL,
        openings: int = 1,
    ) -> None:
        """`openings`: how many to have ready where the fixtures are only drawn while playing."""
        self.plan = plan
        self.fixtures = list(fixtures)
        self.store = store
        self._executor = executor
        self.entrants = entrants(plan.players)
        self.own_names: dict[str, str] = store.earlier_result().get("engines") or {}
        """What the players call themselves."""
        count = max(openings, 1 + max((fixture.opening for fixture in self.fixtures), default=0))
        self._event = Event(
            entrants=self.entrants,
            openings=plan.book.openings(count, plan.seed),
            rules=plan.rules,
            open_player=open_player,
            seed=plan.seed,
            concurrency=plan.concurrency,
        )

    def play(self, go_on: Callable[[StoredGame], bool]) -> None:
        """Play what is not in the store yet; `go_on` hears of each game and may end it all."""
        missing = [fixture for fixture in self.fixtures if fixture.number not in self.store.games]
        if missing:
            self.draw(missing, go_on)

    def draw(self, fixtures: Iterable[Fixture], go_on: Callable[[StoredGame], bool]) -> None:
        """Play these; each is drawn when somebody is free to play it, after the games before it were kept."""
        play_all(
            self._event,
            fixtures,
            lambda record: go_on(self.store.append(self._pgn(record))),
            self._opened,
            self._executor,
        )

    def _opened(self, index: int, name: str) -> None:
        self.own_names[self.entrants[index].name] = name

    def _pgn(self, record: GameRecord) -> str:
        return game_to_pgn(
            record,
            event=f"Tabiya {' '.join(self.store.folder.name.split())}",
            date=datetime.now(UTC).strftime("%Y.%m.%d"),
            pace=(self.plan.rules.pace.time_control(), self.plan.rules.pace.words()),
        )

    def played(self, numbers: Iterable[int] | None = None) -> list[PlayedResult]:
        """The results so far, in the order of the games' numbers."""
        chosen = sorted(self.store.games if numbers is None else numbers)
        return [counted(self.store.games[number]) for number in chosen]

    def endings(self, numbers: Iterable[int]) -> dict[str, Any]:
        """How the games ended, and what each player lost by breaking, by an illegal move or by time."""
        games = [self.store.games[number] for number in numbers]
        how = Counter(game.tags.get("Termination", "normal") for game in games)
        faults: dict[str, Counter[str]] = {}
        for game in games:
            kind = game.tags.get("Termination", "normal")
            if kind in ("abandoned", "rules infraction", "time forfeit"):
                loser = game.white if game.result == "0-1" else game.black
                faults.setdefault(loser, Counter())[kind] += 1
        return {
            "endings": dict(sorted(how.items())),
            "faults": {name: dict(sorted(kinds.items())) for name, kinds in sorted(faults.items())},
        }


def counted(game: StoredGame) -> PlayedResult:
    """A game of the store as it counts: its number says which pair it belongs to."""
    return PlayedResult(game.white, game.black, game.result, game.number // 2)
