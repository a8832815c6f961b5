"""Between the two passes: the likeliest three moves of the first become the slots of the second."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from tabiya.minds.transformer.shape import SLOTS


class Slots(NamedTuple):
    """The moves to reconsider, the likeliest first."""

    columns: Tensor
    """int64 [B, 3]: where in the row of legal moves each stands."""
    moves: Tensor
    """int32 [B, 3]: 1 + the move's number, as a token; 0 where there are fewer legal moves."""
    probability: Tensor
    """[B, 3]: what the first pass gave each, among the legal moves."""
    again: Tensor
    """int32 [B, 3]: how often the position after it stood before."""


def likeliest(policy: Tensor, legal: Tensor | None, again: Tensor | None) -> Slots:
    """The slots that follow from a first pass: `policy` [B, 1968], `legal` int16 [B, W] filled with −1.

    `again` [B, n] as in `TokenTable`; None: nothing is known of the past.
    """
    assert legal is not None
    numbers = legal.long()
    logits = policy.detach().float().gather(1, numbers.clamp(min=0)).masked_fill(numbers < 0, -1e4)
    probability, columns = logits.softmax(1).topk(SLOTS, 1)
    moves = numbers.gather(1, columns)
    times = torch.zeros_like(moves, dtype=torch.int32)
    if again is not None:
        known = again.int()
        hit = (columns[:, :, None] == (known >> 2)[:, None]) & (known >= 0)[:, None]
        times = (hit * (known & 3)[:, None]).amax(2).int()
    there = moves >= 0
    return Slots(columns, torch.where(there, moves + 1, 0).int(), probability * there, times)


def with_slots(tokens: Tensor, slots: Slots) -> Tensor:
    """Tokens of a second pass."""
    return torch.cat([tokens[:, :81], slots.moves.to(tokens.dtype)], 1)
