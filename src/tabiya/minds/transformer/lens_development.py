"""The lens's measures of one checkpoint: pieces, heads, look-ahead, and what it plays.

All of it on fixed positions and puzzles, so that the checkpoints of a run can
be laid side by side (`tabiya.lens.development`): how far the policy and the
outlook shift when a piece of each kind is blanked, what each head is worth,
how the squares of a line's later moves fare under patching, how many puzzles'
first moves are found and how much probability goes to illegal moves.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tabiya._core import encode_planes, legal_indices
from tabiya.arena.puzzles import Puzzle
from tabiya.lens.corruption import Judge
from tabiya.lens.lookahead import summary
from tabiya.minds.transformer.attention import Cut
from tabiya.minds.transformer.lens_lookahead import Lookahead
from tabiya.minds.transformer.network import Transformer
from tabiya.minds.transformer.onnx_inputs import read_tokens
from tabiya.minds.transformer.shape import COLOURS

KINDS = ("pawn", "knight", "bishop", "rook", "queen", "king")
PIECES = tuple(f"{side} {kind}" for side in ("own", "other's") for kind in KINDS)
"""In the order of the planes."""


class Development:
    """Measures networks by the same positions [N, 32] and puzzles."""

    def __init__(
        self,
        positions: NDArray[np.uint8],
        puzzles: Sequence[Puzzle],
        device: torch.device,
        patched: int = 50,
        batch: int = 256,
    ) -> None:
        self.positions, self.puzzles = np.ascontiguousarray(positions), list(puzzles)
        self.device, self.patched, self.batch = device, patched, batch

    def measure(self, network: Transformer) -> dict[str, Any]:
        """Every measure of one network."""
        network = network.to(self.device).eval().compute("plain")
        found: dict[str, Any] = {}
        found |= self._pieces(network)
        found["heads"] = self._heads(network)
        found |= self._puzzles(network)
        return found

    def _view(self, network: Transformer, packed: NDArray[np.uint8]) -> tuple[Tensor, Tensor]:
        """Tokens, and a mask of legal moves."""
        shape = network.shape
        tokens = torch.from_numpy(read_tokens(packed, shape.flipped)).to(self.device)
        offsets, numbers = legal_indices(packed, "uci", shape.view)
        legal = np.zeros((len(packed), 1968), np.bool_)
        legal[np.repeat(np.arange(len(packed)), np.diff(offsets)), numbers] = True
        return tokens, torch.from_numpy(legal).to(self.device)

    @torch.no_grad()
    def _answers(
        self, network: Transformer, tokens: Tensor, legal: Tensor, **masks: Any
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Policy among the legal moves, expected score, probability of illegal moves."""
        outputs = network(tokens, **masks)
        logits = outputs.policy.float()
        illegal = (logits.softmax(1) * ~legal).sum(1)
        policy = logits.masked_fill(~legal, -torch.inf).softmax(1)
        wdl = outputs.wdl.float().softmax(1)
        return policy, wdl[:, 0] + wdl[:, 1] / 2, illegal

    def _pieces(self, network: Transformer) -> dict[str, Any]:
        """Shifts of policy and outlook by the kind of piece that is blanked, the mover's and the other's."""
        tv: dict[str, list[float]] = {name: [] for name in PIECES}
        outlook: dict[str, list[float]] = {name: [] for name in tv}
        illegal: list[float] = []
        for one in self.positions:
            packed = one.reshape(1, 32)
            tokens, legal = self._view(network, packed)
            pieces = encode_planes(packed, "mover")[0, :12].reshape(12, 64)
            kinds, squares = np.nonzero(pieces)
            turned = bool(packed[0, 24] & 1) and not network.shape.flipped
            rows = 1 + (squares ^ 56 if turned else squares)
            mask = torch.ones(len(rows) + 1, network.shape.rows, device=self.device)
            at = torch.arange(1, len(rows) + 1, device=self.device)
            mask[at, torch.from_numpy(rows).to(self.device)] = 0.0
            if network.shape.rows > COLOURS.start:
                mask[at, torch.from_numpy(rows + COLOURS.start - 1).to(self.device)] = 0.0
            count = len(mask)
            policy, expected, off = self._answers(
                network, tokens.expand(count, -1), legal.expand(count, -1), rows=mask
            )
            illegal.append(float(off[0]))
            shift = ((policy[1:] - policy[:1]).abs().sum(1) / 2).tolist()
            change = (expected[0] - expected[1:]).tolist()
            for kind, moved, lost in zip(kinds.tolist(), shift, change, strict=True):
                name = PIECES[kind]
                tv[name].append(moved)
                outlook[name].append(lost)
        mean = {name: round(float(np.mean(each)), 5) for name, each in tv.items() if each}
        lost_mean = {name: round(float(np.mean(each)), 5) for name, each in outlook.items() if each}
        return {
            "piece_tv": mean,
            "piece_outlook": lost_mean,
            "illegal": round(float(np.mean(illegal)), 5) if illegal else None,
        }

    def _heads(self, network: Transformer) -> list[list[float]]:
        """[layers][heads]: total variation of the policy, on average, if a head gives nothing."""
        shape = network.shape
        tokens, legal = self._view(network, self.positions)
        nothing = torch.zeros(1, shape.rows, shape.rows, device=self.device)
        found = np.zeros((shape.layers, shape.heads))
        for start in range(0, len(tokens), self.batch):
            some, allowed = tokens[start : start + self.batch], legal[start : start + self.batch]
            whole = self._answers(network, some, allowed)[0]
            for layer in range(shape.layers):
                for head in range(shape.heads):
                    where = torch.zeros(shape.layers, shape.heads, device=self.device)
                    where[layer, head] = 1.0
                    cut = Cut(nothing, where, torch.zeros((), device=self.device))
                    policy = self._answers(network, some, allowed, cut=cut)[0]
                    found[layer, head] += float((policy - whole).abs().sum()) / 2
        return [[round(each / max(1, len(tokens)), 5) for each in row] for row in found.tolist()]

    def _puzzles(self, network: Transformer) -> dict[str, Any]:
        experiment = Lookahead(network, self.device, Judge())
        records: list[dict[str, Any]] = []
        solved = 0
        for puzzle in self.puzzles:
            board, right = puzzle.solver_positions()[0]
            packed = np.frombuffer(board.packed(), np.uint8).reshape(1, 32)
            tokens, legal = self._view(network, packed)
            policy = self._answers(network, tokens, legal)[0]
            numbers = legal_indices(packed, "uci", network.shape.view)[1]
            chosen = board.legal_moves()[int(np.flatnonzero(numbers == int(policy.argmax()))[0])]
            solved += chosen == right
            measured = sum("skipped" not in each for each in records)
            if chosen == right and measured < self.patched:
                records.append(experiment.measure(puzzle, heads=False))
        looked = summary(records)
        best = looked.get("strongest_layer_of_3rd")
        row = looked["layers"][best - 1] if best else None
        return {
            "first_moves": round(solved / max(1, len(self.puzzles)), 4),
            "puzzles": len(self.puzzles),
            "lookahead": None
            if row is None
            else {
                "puzzles": looked["puzzles"],
                "layer": best,
                **{group: row[group] for group in ("1st", "2nd", "3rd", "other (largest)")},
                "3rd less largest other": row["3rd less largest other"],
            },
        }
