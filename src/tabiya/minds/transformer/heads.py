"""From the last rows to answers: moves, rights after the move, the value, the reconsidered three."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from tabiya import _core
from tabiya.minds.transformer.shape import (
    CLS,
    COLOURS,
    MOVES,
    RIGHTS,
    SLOT_ROWS,
    SLOTS,
    SQUARES,
    TransformerShape,
)

_PIECES = "nbrq"
LEAST = 1e-6
"""The least probability whose logarithm a reconsidered move starts from."""


def squares_of(rows: Tensor, shape: TransformerShape) -> Tensor:
    """[B, 64, width]: what is known of each square, its colour's row added where it has one."""
    squares = rows[:, SQUARES]
    return squares + rows[:, COLOURS] if shape.pieces == "separate" else squares


class ClsMoves(nn.Module):
    """CLS to the 1968 moves of the UCI space."""

    def __init__(self, shape: TransformerShape) -> None:
        super().__init__()
        self.moves = nn.Linear(shape.width, MOVES)

    def forward(self, rows: Tensor) -> Tensor:
        return self.moves(rows[:, CLS])  # type: ignore[no-any-return]


class FromToMoves(nn.Module):
    """Each move from the embeddings of the square it leaves and the square it reaches."""

    pairs: Tensor
    promotions: Tensor
    targets: Tensor

    def __init__(self, shape: TransformerShape) -> None:
        super().__init__()
        self.shape = shape
        self.leave = nn.Linear(shape.width, shape.width)
        self.reach = nn.Linear(shape.width, shape.width)
        self.promote = nn.Linear(shape.width, len(_PIECES))
        moves = _core.uci_moves()
        codes = torch.tensor([_core.uci_to_code(move) for move in moves])
        pairs = (codes & 63) * 64 + ((codes >> 6) & 63)
        # Promotions add a number of their own, that of their last square and piece.
        promoting = torch.tensor([at for at, move in enumerate(moves) if len(move) == 5])
        pieces = torch.tensor([_PIECES.index(moves[at][4]) for at in promoting.tolist()])
        extra = ((codes[promoting] >> 6) & 63) * len(_PIECES) + pieces
        self.register_buffer("pairs", pairs, persistent=False)
        self.register_buffer("promotions", promoting, persistent=False)
        self.register_buffer("targets", extra, persistent=False)

    def forward(self, rows: Tensor) -> Tensor:
        squares = squares_of(rows, self.shape)
        scale = self.shape.width**-0.5
        scores = (self.leave(squares) @ self.reach(squares).transpose(1, 2)) * scale
        logits = scores.flatten(1).index_select(1, self.pairs)
        extra = self.promote(squares).flatten(1).index_select(1, self.targets)
        made: Tensor = logits.index_add(1, self.promotions, extra.to(logits.dtype))
        return made


class Value(nn.Module):
    """Logits of win, draw, loss and of the value's bins."""

    def __init__(self, shape: TransformerShape) -> None:
        super().__init__()
        self.shape = shape
        self.compress = nn.Linear(shape.width, 32) if shape.value == "squares" else None
        self.hidden = nn.Linear(64 * 32 if self.compress is not None else shape.width, shape.value_hidden)
        self.wdl = nn.Linear(shape.value_hidden, 3)
        self.bins = nn.Linear(shape.value_hidden, shape.value_bins)

    def forward(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        if self.compress is None:
            seen = rows[:, CLS]
        else:
            seen = torch.relu(self.compress(squares_of(rows, self.shape))).flatten(1)
        x = torch.relu(self.hidden(seen))
        return self.wdl(x), self.bins(x)


class Rights(nn.Module):
    """CLS to castling (4) and en passant (any, 8 files) after the move, as the one who moves sees them."""

    def __init__(self, shape: TransformerShape) -> None:
        super().__init__()
        self.rights = nn.Linear(shape.width, RIGHTS)

    def forward(self, rows: Tensor) -> Tensor:
        return self.rights(rows[:, CLS])  # type: ignore[no-any-return]


class Refined(nn.Module):
    """The slots' three moves weighed again: what is added to the first pass's logarithms of them."""

    def __init__(self, shape: TransformerShape) -> None:
        super().__init__()
        self.from_slots = shape.refined_from == "slots"
        self.weigh = nn.Linear(shape.width, 1 if self.from_slots else SLOTS)
        # It begins by confirming the first pass.
        nn.init.zeros_(self.weigh.weight)

    def forward(self, rows: Tensor, probability: Tensor) -> Tensor:
        seen = rows[:, SLOT_ROWS] if self.from_slots else rows[:, CLS]
        change: Tensor = self.weigh(seen).flatten(1)
        return change + probability.clamp(min=LEAST).log().to(change.dtype)
