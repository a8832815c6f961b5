"""Packed positions in, answers out: the part of a training step that is compiled as one."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from tabiya.minds.transformer.network import Outputs, Transformer
from tabiya.minds.transformer.refinement import Slots, with_slots
from tabiya.minds.transformer.tokens import tokens_of


class Reader(nn.Module):
    """First passes from packed positions."""

    def __init__(self, network: Transformer) -> None:
        super().__init__()
        self.network = network

    def forward(self, packed: Tensor, mirror: Tensor | None) -> tuple[Tensor, Outputs]:
        """The tokens, and what a first pass makes of them."""
        tokens = tokens_of(packed, self.network.shape.flipped, mirror)
        return tokens, self.network(tokens)


class SecondReader(nn.Module):
    """Second passes from tokens and the moves to reconsider; nothing but those is answered."""

    def __init__(self, network: Transformer) -> None:
        super().__init__()
        self.network = network

    def forward(self, tokens: Tensor, slots: Slots) -> Tensor:
        refined = self.network.refined
        assert refined is not None
        rows = self.network.features(with_slots(tokens, slots), slots.probability, slots.again)
        weighed: Tensor = refined(rows, slots.probability)
        return weighed


def refined_rows(counts: list[int], share: float) -> list[int]:
    """How many rows of each part are looked at again: its first ones, which were drawn at random."""
    return [min(count, round(count * share)) for count in counts]


def split_outputs(outputs: Outputs, counts: list[int]) -> list[Outputs]:
    """The answers to each part of a batch."""
    # Split and not sliced: the gradients of slices would each be as large as the whole.
    columns = [
        [None] * len(counts) if output is None else list(torch.split(output, counts)) for output in outputs
    ]
    return [Outputs(*parts) for parts in zip(*columns, strict=True)]
