"""One game at the page: its board, who sits where, its clock, what was thought, how it ended.

Nothing here waits or thinks; `rooms` does that. A seat without a mind is the
person's. `to_json` is what the page shows, `kept` what it stores to bring the
game back after the server was started anew.
"""

from __future__ import annotations

import datetime
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import chess.pgn

from tabiya._core import Board
from tabiya.data.scale import win_probability
from tabiya.player import Decision, would_take_draw
from tabiya.protocols.move_input import understand
from tabiya.protocols.python_chess import to_python_chess
from tabiya.web import limits, wishes
from tabiya.web.catalogue import OPENING_PLIES, Choice, read_choice
from tabiya.web.clock import Clock, read_clock
from tabiya.web.positions import START_FEN, line, read_start, replayed, view
from tabiya.web.refusal import Refusal

REASONS = ("resignation", "draw agreed", "time forfeit", "a game too long")
"""Ends that the board does not show; a game brought back may claim one of these alone."""

_RESULTS = ("*", "1-0", "0-1", "1/2-1/2")
_KEPT = ("id", "fen", "moves", "white", "black", "clock", "result", "reason", "shares", "pace")


class Game:
    """Whose turn it is, what was played, and how it stands."""

    def __init__(
        self, board: Board, seats: dict[bool, Choice | None], clock: Clock | None = None, pace: float = 0.0
    ) -> None:
        self.id = secrets.token_urlsafe(16)
        self.board, self.seats, self.clock, self.pace = board, seats, clock, pace
        self.version = 0
        self.result, self.reason = "*", ""
        self.paused = False
        self.note = ""
        """The last thing a mind had to say beside its moves, such as that it declines a draw."""
        self.shares: list[float | None] = [None] * len(board.moves)
        """After each half-move: White's expected points as the mover saw them, where a mind moved."""
        self.last: dict[bool, Decision] = {}
        self._line: list[dict[str, str]] | None = None
        self.settle()

    @property
    def to_move(self) -> Choice | None:
        """The mind whose turn it is; None: the person's, or nobody's."""
        return None if self.over else self.seats[self.board.white_to_move]

    @property
    def over(self) -> bool:
        return self.result != "*"

    @property
    def watched(self) -> bool:
        """Whether two minds play and the person looks on."""
        return all(self.seats.values())

    @property
    def opening(self) -> bool:
        """Whether a mind without search shall vary its moves."""
        return self.board.start_fen == START_FEN and len(self.board.moves) < OPENING_PLIES

    def person(self) -> bool:
        """The person's colour, True for White."""
        return self.seats[True] is None

    def settle(self) -> None:
        """End the game if the rules, the clock or the house end it."""
        if self.over:
            return
        outcome = self.board.outcome()
        fallen = self.clock.fallen() if self.clock else None
        if outcome is not None:
            self.end(*outcome)
        elif fallen is not None:
            self.end(_lost(fallen), "time forfeit")
        elif len(self.board.moves) >= limits.LONGEST_GAME:
            self.end("1/2-1/2", "a game too long")

    def end(self, result: str, reason: str) -> None:
        self.result, self.reason = result, reason
        if self.clock:
            self.clock.stop()

    def person_moves(self, text: str, ply: int | None) -> None:
        """A move of the person's, as UCI or as typed; `ply` tells a stale page from a fresh one."""
        if self.over:
            raise Refusal("the game is over", 409)
        if self.to_move is not None:
            raise Refusal("it is not your turn", 409)
        if ply is not None and ply != len(self.board.moves):
            raise Refusal("the game has moved on meanwhile", 409)
        try:
            move = text if text in self.board.legal_moves() else understand(self.board, text)
        except ValueError as error:
            # At the terminal there are commands beside moves; here there are none.
            sentence = str(error).replace(" nor a command; `help` lists them", "")
            raise Refusal(sentence.replace("is neither a move", "is not a move")) from None
        self.paused = False
        self.push(move, None)

    def push(self, move: str, decision: Decision | None) -> None:
        """Play a move; `decision` is the mind's whose move it is."""
        white = self.board.white_to_move
        self.settle()
        if self.over:
            return
        self.board.push(move)
        self.shares.append(None if decision is None else white_share(decision, white))
        if decision is not None:
            self.last[white] = decision
        if self.clock:
            self.clock.press(white)
        self.note = ""
        self.settle()

    def take_back(self) -> None:
        """To the person's last turn; an ended game goes on from there."""
        if self.watched:
            raise Refusal("there is nothing to take back in a game between two minds", 409)
        person = self.person()
        back = 1 if self.board.white_to_move is not person else 2
        if len(self.board.moves) < back:
            raise Refusal("there is nothing to take back", 409)
        for _ in range(back):
            self.board.pop()
            self.shares.pop()
        self.result, self.reason, self.note, self.paused = "*", "", "taken back", False
        if self.clock:
            self.clock.start(self.board.white_to_move)
        self.settle()

    def resign(self) -> None:
        self._refuse_if_over()
        self.end(_lost(self.person()), "resignation")

    def offer_draw(self) -> None:
        """The mind takes it if its last opinion was that it does not stand better."""
        self._refuse_if_over()
        opponent = not self.person()
        choice = self.seats[opponent]
        assert choice is not None
        if would_take_draw(self.last.get(opponent)):
            self.end("1/2-1/2", "draw agreed")
        else:
            self.note = f"{choice.title} declines the draw"

    def _refuse_if_over(self) -> None:
        if self.over:
            raise Refusal("the game is over", 409)
        if self.watched:
            raise Refusal("it is not your game", 409)

    def name_of(self, white: bool) -> str:
        choice = self.seats[white]
        return "You" if choice is None else choice.title

    def pgn(self) -> str:
        game = chess.pgn.Game.from_board(to_python_chess(self.board))
        game.headers["Event"] = "A game at the page"
        game.headers["Site"] = "Tabiya"
        game.headers["Date"] = datetime.date.today().strftime("%Y.%m.%d")
        game.headers["White"], game.headers["Black"] = self.name_of(True), self.name_of(False)
        game.headers["Result"] = self.result
        if self.reason:
            game.end().comment = self.reason
        return f"{game}\n"

    def to_json(self) -> dict[str, Any]:
        """All that the page shows."""
        if self._line is None or [each["move"] for each in self._line] != self.board.moves:
            self._line = line(self.board)
        position = view(self.board)
        if self.over:
            position["legal"] = {}
        mover = self.to_move
        return {
            "id": self.id,
            "version": self.version,
            "start_fen": self.board.start_fen,
            "moves": self._line,
            "shares": self.shares,
            "position": position,
            "white": {"title": self.name_of(True), "mind": _name(self.seats[True])},
            "black": {"title": self.name_of(False), "mind": _name(self.seats[False])},
            "your_turn": not self.over and mover is None,
            "thinking": mover is not None and not self.paused,
            "paused": self.paused,
            "result": self.result,
            "reason": self.reason,
            "note": self.note,
            "clock": self._clock(),
            "last": {
                "white" if side else "black": shown_decision(decision) for side, decision in self.last.items()
            },
            "kept": self.kept(),
        }

    def _clock(self) -> dict[str, Any] | None:
        if self.clock is None:
            return None
        running = {True: "white", False: "black", None: None}[self.clock.running]
        return self.clock.to_json() | {"running": running}

    def kept(self) -> dict[str, Any]:
        """What brings this game back."""
        kept: dict[str, Any] = {
            "id": self.id,
            "fen": self.board.start_fen,
            "moves": self.board.moves,
            "white": _choice(self.seats[True]),
            "black": _choice(self.seats[False]),
            "result": self.result,
            "reason": self.reason,
            "shares": self.shares,
            "pace": self.pace,
        }
        return kept | ({"clock": self.clock.to_json()} if self.clock else {})


def begun(wish: dict[str, Any], pools: Mapping[str, Path]) -> Game:
    """A new game: `start` (a FEN, a PGN or nothing), `white` and `black` (a mind, or null for the person)."""
    wishes.refuse_others(wish, ("start", "white", "black", "clock", "pace"), "the new game")
    board = read_start(wishes.text(wish, "start", limits.LARGEST_BODY))
    game = Game(board, _seats(wish, pools), read_clock(wishes.table(wish, "clock")), _pace(wish))
    if game.over and not board.legal_moves():
        raise Refusal(f"there is nothing to play in that position: {game.reason}")
    return game


def brought_back(wish: dict[str, Any], pools: Mapping[str, Path]) -> Game:
    """A game as a page kept it."""
    wishes.refuse_others(wish, _KEPT, "the kept game")
    board = replayed(wishes.text(wish, "fen", limits.LONGEST_FEN), wishes.moves(wish))
    game = Game(board, _seats(wish, pools), read_clock(wishes.table(wish, "clock")), _pace(wish))
    game.id = wishes.game_id(wishes.text(wish, "id"))
    result, reason = wishes.text(wish, "result"), wishes.text(wish, "reason")
    if not game.over and result in _RESULTS[1:] and reason in REASONS:
        game.end(result, reason)
    shares = wish.get("shares")
    if isinstance(shares, list) and len(shares) == len(board.moves):
        game.shares = [
            float(each) if type(each) in (int, float) and 0 <= each <= 1 else None for each in shares
        ]
    game.paused = game.watched
    return game


def _pace(wish: dict[str, Any]) -> float:
    return wishes.number(wish, "pace", 0.0, 10.0) or 0.0


def _seats(wish: dict[str, Any], pools: Mapping[str, Path]) -> dict[bool, Choice | None]:
    seats: dict[bool, Choice | None] = {}
    for white, name in ((True, "white"), (False, "black")):
        given = wishes.table(wish, name)
        seats[white] = None if given is None else read_choice(given, pools)
    if not any(seats.values()):
        raise Refusal("one side at least must be a mind")
    return seats


def _lost(white: bool) -> str:
    return "0-1" if white else "1-0"


def _name(choice: Choice | None) -> str | None:
    return None if choice is None else choice.mind.name


def _choice(choice: Choice | None) -> dict[str, Any] | None:
    return None if choice is None else choice.to_json()


def expected_points(decision: Decision) -> float | None:
    """The mover's expected points in [0, 1], from win, draw and loss or from the score."""
    if decision.wdl is not None:
        return decision.wdl[0] + decision.wdl[1] / 2
    return None if decision.score is None else float(win_probability(decision.score))


def white_share(decision: Decision, white: bool) -> float | None:
    points = expected_points(decision)
    return None if points is None else round(points if white else 1 - points, 4)


def shown_decision(decision: Decision) -> dict[str, Any]:
    return {
        "move": decision.move,
        "wdl": None if decision.wdl is None else [round(each, 4) for each in decision.wdl],
        "score": decision.score,
        "nodes": decision.nodes,
        "depth": decision.depth,
        "ms": round(1000 * decision.seconds, 1),
    }
