"""One game between two players: the clock, the rules, and who is to blame when it breaks.

Whatever a player does wrong (an illegal move, a crash, a silence, a fallen
flag) loses it this game, with the reason on record, and harms nothing else.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from tabiya._core import Board
from tabiya.arena.adjudication import Adjudication, Adjudicator, Tablebases
from tabiya.arena.books import Opening
from tabiya.arena.record import Ending, GameRecord, PlayedMove, Result
from tabiya.data.scale import centipawns
from tabiya.errors import UserError
from tabiya.player import Decision, Limit, Player, PlayerError
from tabiya.protocols.scores import shown_score

_CLOCK = re.compile(r"(?:(\d+)/)?(\d+(?:\.\d+)?)(?:\+(\d+(?:\.\d+)?))?")


@dataclass(frozen=True, kw_only=True)
class Pace:
    """How much thought the players may spend: a clock for the game, or a limit for every move."""

    clock: float | None = None
    """Seconds at the start; None: no clock."""
    increment: float = 0.0
    """Seconds gained with each move."""
    moves: int | None = None
    """Moves after which the starting time is added again."""
    movetime: float | None = None
    nodes: int | None = None
    depth: int | None = None

    def __post_init__(self) -> None:
        if self.clock is not None and self.movetime is not None:
            raise UserError("a game has a clock or a time for each move, not both")
        if self.clock is not None and self.clock <= 0:
            raise UserError("a clock must start with more than 0 seconds")
        if self.moves is not None and self.moves < 1:
            raise UserError("a time control must cover at least 1 move")
        try:
            self.limit(None, None, 0)
        except ValueError as error:
            raise UserError(str(error)) from None

    @classmethod
    def parse_clock(cls, text: str, nodes: int | None = None, depth: int | None = None) -> Pace:
        """`10+0.1`, `60`, or with a number of moves `40/60+0.5`; seconds throughout."""
        found = _CLOCK.fullmatch(text.strip())
        if found is None:
            raise UserError(
                f"a time control reads seconds+increment or moves/seconds+increment, got {text!r}"
            )
        return cls(
            clock=float(found[2]),
            increment=float(found[3] or 0),
            moves=int(found[1]) if found[1] else None,
            nodes=nodes,
            depth=depth,
        )

    def limit(self, white: float | None, black: float | None, made: int) -> Limit:
        """The limit of a move, given both clocks and how many moves the mover has made."""
        return Limit(
            white_clock=white,
            black_clock=black,
            white_increment=self.increment,
            black_increment=self.increment,
            moves_to_go=None if self.moves is None else self.moves - made % self.moves,
            movetime=self.movetime,
            nodes=self.nodes,
            depth=self.depth,
        )

    def time_control(self) -> str:
        """As PGN's TimeControl tag has it; "-" without a clock."""
        if self.clock is None:
            return "-"
        moves = "" if self.moves is None else f"{self.moves}/"
        return f"{moves}{self.clock:g}" + (f"+{self.increment:g}" if self.increment else "")

    def words(self) -> str:
        """For people."""
        parts = [] if self.clock is None else [f"{self.time_control()} s"]
        if self.movetime is not None:
            parts.append(f"{self.movetime * 1000:g} ms a move")
        if self.nodes is not None:
            parts.append(f"{self.nodes} nodes a move")
        if self.depth is not None:
            parts.append(f"depth {self.depth}")
        return ", ".join(parts) or "no limit"


@dataclass(frozen=True, kw_only=True)
class GameRules:
    """All that two players must agree on before a game."""

    pace: Pace
    margin: float = 0.05
    """Seconds a clock may run below zero before the flag falls: the arena's own doings take time too."""
    adjudication: Adjudication = field(default_factory=Adjudication)
    tablebases: Tablebases | None = None


@dataclass
class _Seat:
    """One side of the board."""

    player: Player
    name: str
    clock: float | None
    made: int = 0


class GameAbandoned(Exception):  # noqa: N818 - nothing went wrong: the match as a whole was told to stop
    """The game was broken off from outside and does not count."""


def play_game(
    white: Player,
    black: Player,
    opening: Opening,
    rules: GameRules,
    *,
    number: int = 0,
    names: tuple[str, str] | None = None,
    abandoned: Callable[[], bool] = lambda: False,
) -> GameRecord:
    """Play a game to its end; `names` stand in the record in place of the players' own.

    `abandoned` is asked before every move; once it says yes, `GameAbandoned` is raised.
    """
    names = names or (white.name, black.name)
    seats = {
        True: _Seat(white, names[0], rules.pace.clock),
        False: _Seat(black, names[1], rules.pace.clock),
    }
    moves: list[PlayedMove] = []
    result, ending, reason = _play(seats, opening.board(), rules, moves, abandoned)
    return GameRecord(
        number=number,
        white=names[0],
        black=names[1],
        opening=opening,
        moves=tuple(moves),
        result=result,
        ending=ending,
        reason=reason,
    )


def _play(
    seats: dict[bool, _Seat],
    board: Board,
    rules: GameRules,
    moves: list[PlayedMove],
    abandoned: Callable[[], bool],
) -> tuple[Result, Ending, str]:
    for side, seat in seats.items():
        try:
            seat.player.new_game()
        except Exception as error:
            return _lost(side), "abandoned", _blame(seat, error)
    adjudicator = Adjudicator(rules.adjudication, rules.tablebases)
    draw_offered = False
    while (outcome := board.outcome()) is None:
        if abandoned():
            raise GameAbandoned
        side = board.white_to_move
        seat = seats[side]
        limit = rules.pace.limit(seats[True].clock, seats[False].clock, seat.made)
        began = time.perf_counter()
        try:
            # A copy: a player that scribbles on its board shall not change the game.
            decision = seat.player.play(board.copy(), limit)
            seconds = time.perf_counter() - began
            # A mind that speaks of wins, draws and losses alone is adjudicated by those.
            score = shown_score(decision, centipawns)
        except Exception as error:
            if abandoned():
                raise GameAbandoned from None
            return _lost(side), "abandoned", _blame(seat, error)
        if seat.clock is not None and seat.player.timed and seconds > seat.clock + rules.margin:
            return _lost(side), "time forfeit", f"{seat.name} ran out of time"
        if decision.wants == "resign":
            return _lost(side), "normal", f"{seat.name} resigned"
        if not _is_legal(board, decision.move):
            return _lost(side), "rules infraction", f"{seat.name} played the illegal move {decision.move}"
        moves.append(_played(board, decision, score, seconds))
        board.push(decision.move)
        _press_clock(seat, rules.pace, seconds)
        if board.outcome() is None:
            verdict = adjudicator.after(board, score)
            if verdict is not None:
                return verdict[0], "adjudication", f"adjudicated: {verdict[1]}"
            if decision.wants == "draw" and draw_offered:
                return "1/2-1/2", "normal", "draw agreed"
        draw_offered = decision.wants == "draw"
    return _result(outcome[0]), "normal", outcome[1]


def _press_clock(seat: _Seat, pace: Pace, seconds: float) -> None:
    seat.made += 1
    if seat.clock is None or pace.clock is None or not seat.player.timed:
        return
    seat.clock = max(0.0, seat.clock - seconds) + pace.increment
    if pace.moves is not None and seat.made % pace.moves == 0:
        seat.clock += pace.clock


def _played(board: Board, decision: Decision, score: float | None, seconds: float) -> PlayedMove:
    return PlayedMove(decision.move, board.san(decision.move), score, decision.depth, decision.nodes, seconds)


def _is_legal(board: Board, move: object) -> bool:
    return isinstance(move, str) and board.is_legal(move)


def _blame(seat: _Seat, error: Exception) -> str:
    """The reason for the record: a player's own words, or what kind of mistake its program made."""
    if isinstance(error, PlayerError):
        return str(error)
    return f"{seat.name} failed: {type(error).__name__}: {error}"


def _lost(white: bool) -> Result:
    return "0-1" if white else "1-0"


def _result(text: str) -> Result:
    if text == "1-0":
        return "1-0"
    return "0-1" if text == "0-1" else "1/2-1/2"
