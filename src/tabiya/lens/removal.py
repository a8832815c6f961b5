"""Occlusion for any player at all: take a piece from the board, ask again.

A mind that searches reads a real position, so nothing can be blanked but what
may be missing: a piece other than a king, the castling rights, the right to
capture en passant. Where the rules forbid what is left, it is not asked.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import chess
import numpy as np

from tabiya._core import Board
from tabiya.data.scale import MOVE_MATE, win_probability
from tabiya.data.worth import label_worth
from tabiya.lens.interface import SQUARES, THOUGHT, Answers, Subject
from tabiya.player import Decision, Limit
from tabiya.protocols.scores import mate_in

CASTLING, EN_PASSANT = "castling", "en passant"
SECONDS = 0.5
"""A thought longer than this is shortened, where nobody asked for it."""
LEAST_NODES = 500


def without(board: Board, parts: Sequence[str]) -> Board | None:
    """The position without these parts; None where that is no position to move in.

    The moves that led to it are forgotten, and rights that hung on a piece go with it.
    """
    if not parts:
        return board
    outside = chess.Board(board.fen())
    for part in parts:
        if part == CASTLING:
            outside.castling_rights = chess.BB_EMPTY
        elif part == EN_PASSANT:
            outside.ep_square = None
        else:
            piece = outside.remove_piece_at(chess.parse_square(part))
            if piece is not None and piece.piece_type == chess.KING:
                return None
    outside.castling_rights = outside.clean_castling_rights()
    if not can_still_take_en_passant(outside):
        outside.ep_square = None
    try:
        changed = Board(outside.fen())
    except ValueError:
        return None
    return changed if changed.legal_moves() else None


def can_still_take_en_passant(board: chess.Board) -> bool:
    """python-chess asks for a pawn that captures, and not for the one to be captured."""
    if board.ep_square is None:
        return False
    passed = board.ep_square + (-8 if board.turn == chess.WHITE else 8)
    return board.piece_type_at(passed) == chess.PAWN and board.has_legal_en_passant()


def removable(board: Board) -> tuple[str, ...]:
    """The parts of a position that may be taken away, one by one."""
    pieces = [square for square in SQUARES if (board.piece_at(square) or "k") not in "Kk"]
    _, _, castling, passant = board.fen().split()[:4]
    return (*pieces, *([CASTLING] if castling != "-" else []), *([EN_PASSANT] if passant != "-" else []))


def expected_score(decision: Decision) -> float:
    """The mover's expected score in [0, 1], from whatever the decision says of it."""
    if decision.wdl is not None:
        return decision.wdl[0] + decision.wdl[1] / 2
    if decision.score is None:
        return math.nan
    if mate_in(decision.score) is not None:
        return 1.0 if decision.score > 0 else 0.0
    return float(win_probability(decision.score))


def worth_of(decision: Decision) -> float:
    """What the mover has, in [0, 1], on the scale that still tells one win, or one loss, from another."""
    if decision.score is None:
        return expected_score(decision)
    return float(label_worth(np.asarray([round(decision.score)]), MOVE_MATE)[0])


@dataclass
class RemovalSubject(Subject):
    """A player that is asked about the board with something taken from it."""

    def __post_init__(self) -> None:
        self.parts = removable(self.board)
        self.weighs = False
        self.blanked = "taken from the board"
        self._whole: Decision | None = None

    def whole(self) -> Decision:
        """Its decision about the whole board.

        A player to whom the usual number of nodes is a long thought gets fewer, for this question and
        all others: some seventy will follow.
        """
        if self._whole is None:
            decision = self.decide(self.board)
            if self.limit == THOUGHT and decision.seconds > SECONDS:
                assert THOUGHT.nodes is not None
                nodes = max(LEAST_NODES, int(THOUGHT.nodes * SECONDS / decision.seconds))
                self.limit = Limit(nodes=nodes)
                self.notes.append(f"it thinks slowly: each question got {nodes:,} nodes")
                decision = self.decide(self.board)
            self._whole = decision
        return self._whole

    def decide(self, board: Board) -> Decision:
        # As if it had seen nothing before: its memory of the last question must not colour this one.
        self.player.new_game()
        return self.player.play(board, self.limit)

    def blank(self, sets: Sequence[Sequence[str]]) -> Answers:
        whole, moves = self.whole(), tuple(self.board.legal_moves())
        p = np.zeros((len(sets), len(moves)))
        choices: list[str | None] = []
        expected, regret = np.full(len(sets), np.nan), np.zeros(len(sets))
        for row, parts in enumerate(sets):
            changed = without(self.board, parts)
            if changed is None:
                choices.append(None)
                p[row], regret[row] = np.nan, np.nan
                continue
            decision = self.decide(changed) if parts else whole
            choices.append(decision.move)
            expected[row] = expected_score(decision)
            if decision.move in moves:
                p[row, moves.index(decision.move)] = 1.0
            if decision.move != whole.move:
                regret[row] = self._regret(changed, whole.move, worth_of(decision))
        return Answers(moves, p, tuple(choices), expected, regret)

    def _regret(self, board: Board, move: str, best: float) -> float:
        """How much worse a move is than the best one; not a number if it cannot be played."""
        if not board.is_legal(move):
            return math.nan
        after = board.copy()
        after.push(move)
        ending = after.outcome(claim=True)
        if ending is not None:
            worth = 0.5 if ending[0] == "1/2-1/2" else 1.0
        else:
            worth = 1.0 - worth_of(self.decide(after))
        # A mind that says nothing of what a position is worth only says that it would rather not.
        return 1.0 if math.isnan(best - worth) else max(0.0, best - worth)
