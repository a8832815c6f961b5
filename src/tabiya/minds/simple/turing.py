"""`turing`: Turing's paper machine, the first chess program, executed by hand in 1952.

It looks at every move of its own and every reply; from there on only at
"considerable" moves, until the position is "dead":

- a recapture on the square where the last move captured,
- the capture of an undefended piece,
- the capture of a piece by one of less value,
- a move that mates.

The value of a dead position is its ratio of material; of a live one, the best
among its considerable moves and, unless all moves are considerable, its own
value as if it were dead. Among moves of equal value the position-play decides
(`turing_value`), and after that the order of the moves' names: the machine is
deterministic. Moves that cannot matter are not looked at (alpha-beta, which
came later), and this changes no choice.

The paper says nothing of draws and of hurry: a stalemate, a third repetition
and fifty moves count as equal material, a quicker mate is the better one, and
when its time is up it plays the best of the moves it has finished.
"""

from __future__ import annotations

import math
import threading
import time

import chess

from tabiya._core import Board
from tabiya.minds.simple.settings import apply, find_option, whole_number
from tabiya.minds.simple.turing_value import (
    PIECE_VALUES,
    CheckingSquares,
    gives_mate,
    material_ratio,
    position_play,
)
from tabiya.player import Decision, Limit, Player, PlayerName, PlayerOption, ScoredMove
from tabiya.protocols.python_chess import to_python_chess
from tabiya.protocols.scores import mate_score

MATE = 1e6
"""Beyond any ratio of material; a mate further away counts a little less."""

_EQUAL = 1.0
_OPTIONS = (PlayerOption("Depth", "spin", "2", low=1, high=6),)


def open_player(name: PlayerName) -> Player:
    player = Turing()
    apply(name, player.set_option)
    return player


class _OutOfTimeError(Exception):
    """Thought was cut short; the move under way has no value yet."""


class Turing(Player):
    """`Depth` is the number of plies on which all moves are considerable: 2 on paper."""

    name = "turing"

    def __init__(self, depth: int = 2) -> None:
        self._depth = depth
        self._stopped = threading.Event()

    def play(self, board: Board, limit: Limit) -> Decision:
        self._stopped.clear()
        began = time.perf_counter()
        seconds = None if limit.infinite else limit.seconds_for_move(board.white_to_move)
        search = _Search(
            board=to_python_chess(board),
            deadline=math.inf if seconds is None else began + seconds,
            nodes=math.inf if limit.nodes is None or limit.infinite else limit.nodes,
            stopped=self._stopped,
        )
        drawn = {
            move
            for move in board.legal_moves()
            if board.repetitions_after(move) >= 2 or _fifty_moves_after(board, move)
        }
        depth = limit.depth or self._depth
        ranked = search.rank(depth, drawn)
        best = ranked[0]
        return Decision(
            move=best[2],
            score=_mate_score(best[0]),
            # No chance is involved: of the moves of equal value the first is always played.
            moves=tuple(ScoredMove(each[2], p=1.0 if each is best else 0.0) for each in ranked),
            nodes=search.seen,
            depth=depth,
            seconds=time.perf_counter() - began,
            pv=(best[2],),
        )

    def stop(self) -> None:
        self._stopped.set()

    def options(self) -> tuple[PlayerOption, ...]:
        return _OPTIONS

    def set_option(self, name: str, value: str) -> None:
        self._depth = whole_number(find_option(_OPTIONS, self.name, name), value)


class _Search:
    """One decision: values of the root moves, from the machine's side throughout."""

    def __init__(self, board: chess.Board, deadline: float, nodes: float, stopped: threading.Event) -> None:
        self._root = board
        self._machine = board.turn
        self._deadline = deadline
        self._nodes = nodes
        self._stopped = stopped
        self.seen = 0

    def rank(self, depth: int, drawn: set[str]) -> list[tuple[float, float, str]]:
        """The moves of the best value found, best position-play first, as (value, position-play, move).

        Never empty: however short the time, one move is valued as if the game were dead after it.
        """
        best = -math.inf
        equals: list[tuple[float, float, str]] = []
        for move in sorted(self._root.legal_moves, key=lambda move: (-_prize(self._root, move), move.uci())):
            board = self._root.copy(stack=False)
            board.push(move)
            captured_on = move.to_square if self._root.is_capture(move) else None
            try:
                if move.uci() in drawn and not board.is_checkmate():
                    value = _EQUAL
                else:
                    value = self._value(board, 1, depth, captured_on, best, math.inf)
            except _OutOfTimeError:
                if equals:
                    break
                value = material_ratio(board, self._machine)
            if value > best:
                best, equals = value, []
            if value == best:
                equals.append((value, position_play(board, self._root.is_castling(move)), move.uci()))
        return sorted(equals, key=lambda each: (-each[1], each[2]))

    def _value(
        self,
        board: chess.Board,
        ply: int,
        depth: int,
        captured_on: chess.Square | None,
        low: float,
        high: float,
    ) -> float:
        """The value of `board`, reached after `ply` moves, the last capturing on `captured_on`.

        Exact where it lies in [low, high], both ends included, because ties
        at the root must stay ties; outside, a bound on the right side.
        """
        self.seen += 1
        if self.seen > self._nodes or self._stopped.is_set() or time.perf_counter() > self._deadline:
            raise _OutOfTimeError
        own_move = board.turn == self._machine
        moves = list(board.legal_moves)
        if not moves:
            if not board.is_check():
                return _EQUAL
            return ply - MATE if own_move else MATE - ply
        best = -math.inf if own_move else math.inf
        if ply >= depth:
            checking = CheckingSquares.of(board)
            if not all(_considerable(board, move, captured_on, checking) for move in moves):
                best = material_ratio(board, self._machine)
                if best > high if own_move else best < low:
                    return best
            moves = [move for move in moves if _considerable(board, move, captured_on, checking)]
        for move in sorted(moves, key=lambda move: -_prize(board, move)):
            if own_move:
                low = max(low, best)
            else:
                high = min(high, best)
            if low > high:
                break
            taken = move.to_square if board.is_capture(move) else None
            board.push(move)
            value = self._value(board, ply + 1, depth, taken, low, high)
            board.pop()
            best = max(best, value) if own_move else min(best, value)
        return best


def _considerable(
    board: chess.Board,
    move: chess.Move,
    captured_on: chess.Square | None,
    checking: CheckingSquares | None = None,
) -> bool:
    """Whether the paper follows `move` beyond the plies on which it follows every move."""
    if board.is_capture(move):
        if move.to_square == captured_on:
            return True
        prey, prey_square = board.piece_type_at(move.to_square), move.to_square
        if prey is None:
            prey, prey_square = chess.PAWN, chess.square(move.to_square & 7, move.from_square >> 3)
        if not board.attackers_mask(not board.turn, prey_square):
            return True
        hunter = board.piece_type_at(move.from_square)
        if hunter is not None and PIECE_VALUES[prey] > PIECE_VALUES[hunter]:
            return True
    return gives_mate(board, move, checking)


def _prize(board: chess.Board, move: chess.Move) -> float:
    """A guess at a move's worth: the sooner the good ones come, the fewer need be looked at."""
    prey = board.piece_type_at(move.to_square)
    hunter = board.piece_type_at(move.from_square)
    prize = PIECE_VALUES[move.promotion] if move.promotion else 0.0
    if prey is not None and hunter is not None:
        prize += 100.0 + PIECE_VALUES[prey] - PIECE_VALUES[hunter] / 1000
    return prize


def _fifty_moves_after(board: Board, move: str) -> bool:
    pawn = (board.piece_at(move[:2]) or "").lower() == "p"
    return board.halfmove_clock >= 99 and not pawn and not board.is_capture(move)


def _mate_score(value: float) -> float | None:
    """Centipawns exist here only for a mate: a ratio of material is not a number of pawns."""
    plies = MATE - abs(value)
    if plies > 1000:
        return None
    moves = (int(plies) + 1) // 2
    return mate_score(moves if value > 0 else -moves)
