"""What every mind is to the rest: a Player that takes a Board and a Limit and gives a Decision.

The arena, the protocols, the page and the lens know players through these
types alone, so a new mind is one folder and nothing else changes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol, Self, TypeAlias, TypeVar
from urllib.parse import parse_qsl

from tabiya._core import Board
from tabiya.errors import UserError


class PlayerError(UserError):
    """A player could not be opened or could not move; the message is one sentence."""


class PlayerFailure(PlayerError):  # noqa: N818 - it names what happened in the game
    """A player broke during a game (crashed, hung, answered nonsense): it loses that game.

    The message is the reason as it stands in the PGN, such as
    "stockfish crashed" or "fruit played the illegal move e1e9".
    """


@dataclass(frozen=True, kw_only=True)
class Limit:
    """How much thought one move may take. A mind ignores what it has no use for."""

    white_clock: float | None = None
    """Seconds left on White's clock."""

    black_clock: float | None = None
    """Seconds left on Black's clock."""

    white_increment: float = 0.0
    """Seconds White gains with each move."""

    black_increment: float = 0.0
    """Seconds Black gains with each move."""

    moves_to_go: int | None = None
    """Moves until the clock is topped up; None: sudden death."""

    movetime: float | None = None
    """Exactly this many seconds for the move."""

    nodes: int | None = None
    """Positions to look at."""

    depth: int | None = None
    """Plies to look ahead."""

    infinite: bool = False
    """Think until `Player.stop` is called."""

    def __post_init__(self) -> None:
        for name in ("white_clock", "black_clock", "white_increment", "black_increment", "movetime"):
            value = getattr(self, name)
            if value is not None and value < 0:
                raise ValueError(f"a limit's {name} must not be negative, got {value}")
        for name in ("nodes", "depth", "moves_to_go"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ValueError(f"a limit's {name} must be at least 1, got {value}")

    def clock(self, white_to_move: bool) -> tuple[float | None, float]:
        """The mover's clock and increment in seconds."""
        if white_to_move:
            return self.white_clock, self.white_increment
        return self.black_clock, self.black_increment

    def seconds_for_move(self, white_to_move: bool, expected_moves: int = 30) -> float | None:
        """A plain share of the clock for one move; None where time is no limit."""
        if self.movetime is not None:
            return self.movetime
        clock, increment = self.clock(white_to_move)
        if clock is None:
            return None
        share = clock / (self.moves_to_go or expected_moves) + increment
        return max(0.001, min(share, 0.9 * clock))


@dataclass(frozen=True)
class ScoredMove:
    """One candidate: its UCI string with a probability, a score, or both."""

    move: str
    p: float | None = None
    """Probability in [0, 1] that the mind would play it."""
    score: float | None = None
    """The mind's own score for it, in centipawns from the mover's side."""


@dataclass(frozen=True, kw_only=True)
class Decision:
    """A move and what the mind can say for it."""

    move: str
    wdl: tuple[float, float, float] | None = None
    """Win, draw, loss for the side to move, summing to 1; None if the mind has no opinion."""
    score: float | None = None
    """Centipawns for the side to move, where the mind has them; a mate in n is ±(30000 − n)."""
    moves: tuple[ScoredMove, ...] = ()
    """The candidates, best first."""
    nodes: int = 0
    """Positions evaluated; for a network without search, forward passes."""
    depth: int | None = None
    seconds: float = 0.0
    pv: tuple[str, ...] = ()
    wants: str | None = None
    """"draw" or "resign" if the player asks for it beside its move."""


@dataclass(frozen=True, kw_only=True)
class Report:
    """One line of play, told by a player that is still thinking."""

    depth: int
    pv: tuple[str, ...]
    line: int = 1
    """1 for the best line, 2 for the second best, and so on."""
    seldepth: int | None = None
    """The deepest ply that was looked at."""
    score: float | None = None
    """As in a `Decision`."""
    wdl: tuple[float, float, float] | None = None
    nodes: int = 0
    seconds: float = 0.0
    hashfull: int | None = None
    """How full the player's memory of positions is, in thousandths."""


@dataclass(frozen=True)
class PlayerOption:
    """A setting that a player offers to chess programs."""

    name: str
    kind: str
    """"spin", "check", "string", "combo", or "button" for something to be done at once."""
    default: str
    low: int | None = None
    high: int | None = None
    choices: tuple[str, ...] = ()


class Player(ABC):
    """One who chooses moves."""

    name: str = "player"

    note: str = ""
    """A sentence that whoever uses the player should know, such as what stands in for a missing network."""

    report: Callable[[Report], None] | None = None
    """Who wants to hear of lines while the player thinks; called from the thread that searches.

    Players that answer at once never call it.
    """

    timed: bool = True
    """Whether a game's clock counts for it; not for a player that keeps to a limit of its own."""

    @abstractmethod
    def play(self, board: Board, limit: Limit) -> Decision:
        """Choose a move for the side to move; the game must not be over.

        The board is the caller's: it is not changed.
        """

    def new_game(self) -> None:  # noqa: B027 - most minds keep nothing between games
        """Forget whatever was remembered of the last game."""

    def stop(self) -> None:  # noqa: B027 - minds that answer at once have nothing to stop
        """Ask a running `play`, from any thread, to answer with its best move so far."""

    def close(self) -> None:  # noqa: B027 - only players that hold a process or a file need it
        """Give back processes and files."""

    def options(self) -> tuple[PlayerOption, ...]:
        """The settings that `set_option` takes."""
        return ()

    def set_option(self, name: str, value: str) -> None:
        """Change one setting; a ValueError's sentence says what was wrong."""
        raise ValueError(f"{self.name} has no option {name!r}")

    def __enter__(self) -> Player:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()


OpenPlayer: TypeAlias = Callable[[str], Player]
"""Opens the player that a name stands for; the faces hand one to the arena (see `tabiya.roster`)."""


class Changeable(Protocol):
    """Settings of which one can be changed by its name."""

    def changed(self, name: str, text: str) -> Self:
        """The same settings with one of them read from `text`; a ValueError says what was wrong."""


ChangeableT = TypeVar("ChangeableT", bound=Changeable)


@dataclass(frozen=True)
class PlayerName:
    """The written name of a player, taken apart: `kind:where#part?option=value&…`.

    >>> PlayerName.parse("uci:/usr/games/stockfish?UCI_Elo=1500").options
    {'UCI_Elo': '1500'}
    """

    kind: str
    where: str = ""
    """Path after the colon: an engine, a run folder, a genome file."""
    part: str = ""
    """What follows a '#' in the path, such as a genome's number."""
    options: dict[str, str] = field(default_factory=dict)

    @classmethod
    def parse(cls, text: str) -> PlayerName:
        head, _, query = text.partition("?")
        kind, _, where = head.partition(":")
        where, _, part = where.partition("#")
        if not kind:
            raise PlayerError(f"a player's name is missing in {text!r}")
        try:
            options = dict(parse_qsl(query, keep_blank_values=True, strict_parsing=bool(query)))
        except ValueError as error:
            raise PlayerError(f"options of {text!r} must read name=value&name=value") from error
        return cls(kind, where, part, options)

    def applied_to(self, settings: ChangeableT) -> ChangeableT:
        """The settings with every option of the name, of a player that has no parts to choose from."""
        if self.part:
            raise PlayerError(f"{self.kind} has no parts to choose from, got #{self.part}")
        for option, value in self.options.items():
            try:
                settings = settings.changed(option, value)
            except ValueError as error:
                raise PlayerError(str(error)) from error
        return settings


def would_take_draw(decision: Decision | None) -> bool:
    """A player takes a draw if its last opinion was that it does not stand better."""
    if decision is None:
        return False
    if decision.wdl is not None:
        return decision.wdl[0] + decision.wdl[1] / 2 <= 0.5
    return decision.score is not None and decision.score <= 0
