"""The look-ahead experiment on one network: which squares carry the moves that a puzzle's line still needs.

For each puzzle that the network solves, with three half-moves or more to come,
a corrupted twin is looked for in which it no longer finds the move; then every
square after every block is patched with the twin's, and every head. One line
of JSON a puzzle, appended when it is whole, so that a stopped run goes on
where it was. What the lines add up to is `tabiya.lens.lookahead`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from tabiya._core import Board, legal_indices
from tabiya.arena.puzzles import Puzzle
from tabiya.lens.corruption import COSTS, Judge, Twin, twins
from tabiya.lens.interface import SQUARES
from tabiya.minds.transformer.lens import parts_of
from tabiya.minds.transformer.lens_patching import Place, log_odds, patched, record
from tabiya.minds.transformer.network import Transformer
from tabiya.minds.transformer.onnx_inputs import read_tokens

LEAST_FALL = 1.0
"""By how much a twin must lower the right move's log-odds."""
DIGITS = 4


class Lookahead:
    """One network, ready for puzzles."""

    def __init__(
        self, network: Transformer, device: torch.device, judge: Judge | None, batch: int = 512
    ) -> None:
        self.network = network.to(device).eval().compute("plain")
        self.device, self.judge, self.batch = device, judge, batch

    def measure(self, puzzle: Puzzle, heads: bool = True) -> dict[str, Any]:
        """The puzzle's record; under "skipped" why there is none."""
        found: dict[str, Any] = {"puzzle": puzzle.name, "rating": puzzle.rating}
        if len(puzzle.moves) < 4:
            return found | {"skipped": "its line is over after one move"}
        board, right = puzzle.solver_positions()[0]
        line = puzzle.moves[1:4]
        targets = [move[2:4] for move in line]
        if targets[0] == targets[2]:
            return found | {"skipped": "first and third move land on one square"}
        legal, number = self._legal(board, right)
        clean = self._tokens([board.fen()], [board])
        with torch.no_grad():
            policy = self.network(clean).policy.float()
        if legal[int(policy.index_select(1, legal).argmax())] != number:
            return found | {"skipped": "not solved"}
        whole = float(log_odds(policy, legal, number)[0])
        twin = self._spoilt(
            board, right, {move[at : at + 2] for move in line for at in (0, 2)}, legal, number
        )
        if twin is None:
            return found | {"skipped": "no twin spoils it"}
        spoilt, fallen = twin
        kept = record(self.network, self._tokens([spoilt.fen]))
        rows = parts_of(self.network.shape, board.white_to_move)
        layers = self.network.shape.layers
        places = [Place(layer, tuple(rows[square])) for layer in range(layers) for square in SQUARES]
        by_head = [
            Place(layer, head=head) for layer in range(layers) for head in range(self.network.shape.heads)
        ]
        wanted = places + (by_head if heads else [])
        effect = whole - log_odds(patched(self.network, clean, kept, wanted, self.batch), legal, number)
        effects = np.round(effect.cpu().numpy(), DIGITS)
        squares = effects[: len(places)].reshape(layers, 64)
        return found | {
            "fen": board.fen(),
            "line": list(line),
            "targets": targets,
            "twin": spoilt.fen,
            "kind": spoilt.kind,
            "changed": list(spoilt.squares),
            "log_odds": round(whole, DIGITS),
            "twin_log_odds": round(fallen, DIGITS),
            "squares": squares.tolist(),
            "heads": effects[len(places) :].reshape(layers, -1).tolist() if heads else None,
        }

    def _tokens(self, fens: Sequence[str], boards: Sequence[Board] | None = None) -> Tensor:
        made = boards or [Board(fen) for fen in fens]
        packed = np.frombuffer(b"".join(board.packed() for board in made), np.uint8).reshape(-1, 32)
        return torch.from_numpy(read_tokens(packed, self.network.shape.flipped)).to(self.device)

    def _legal(self, board: Board, move: str) -> tuple[Tensor, int]:
        """The numbers of the legal moves, and that of this one."""
        packed = np.frombuffer(board.packed(), np.uint8).reshape(1, 32)
        numbers = legal_indices(packed, "uci", self.network.shape.view)[1]
        place = board.legal_moves().index(move)
        return torch.from_numpy(numbers.astype(np.int64)).to(self.device), int(numbers[place])

    @torch.no_grad()
    def _spoilt(
        self, board: Board, right: str, untouched: set[str], legal: Tensor, number: int
    ) -> tuple[Twin, float] | None:
        """The twin in which the move falls furthest, what is less plausible held back; and how likely it is.

        The network must choose another move there, and the judge must find the
        line spoilt. Log-odds are those among the legal moves of the clean
        position, as in everything that is compared with them.
        """
        made = twins(board, right, untouched)
        if not made:
            return None
        boards = [Board(twin.fen) for twin in made]
        tokens = self._tokens([], boards)
        policies = [
            self.network(tokens[at : at + self.batch]).policy.float()
            for at in range(0, len(made), self.batch)
        ]
        policy = torch.cat(policies)
        odds = log_odds(policy, legal, number).cpu().numpy()
        clean = float(log_odds(self.network(self._tokens([], [board])).policy.float(), legal, number)[0])
        costs = np.array([COSTS[twin.kind] for twin in made])
        for at in np.argsort(odds + costs, kind="stable").tolist():
            if clean - odds[at] < LEAST_FALL:
                continue
            own, same = self._legal(boards[at], right)
            if own[int(policy[at].index_select(0, own).argmax())] == same:
                continue
            if self.judge is None or self.judge.spoilt(board, boards[at], right):
                return made[at], float(odds[at])
        return None
