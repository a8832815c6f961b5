"""A tower whose squares look at each other: attention in every block, led by what the position suggests.

A convolution hands on what neighbours know; here each square chooses whom it
hears. What a pair of squares has to do with each other depends on the whole
position, so every block first makes a small summary of the board and from it,
for each head, a number for each of the 64 × 64 pairs (after Leela's networks,
which call it smolgen). Beside the heads that choose there may be some that the
rules direct: a square hears from those that attack it, that it attacks, and
that it sees (`attacks.py`). Every block begins as the identity.

All blocks may be gone through in several rounds: the same weights think again
about what they made of the board, which costs time and hardly any room. Each
later round has norms of its own, and begins as the identity, too.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F  # noqa: N812 - torch's own custom
from torch import Tensor, nn

from tabiya.minds.resnet.attacks import RELATIONS

SQUARES = 64


class Suggestion(nn.Module):
    """Squares [B, 64, C] to what the board suggests to each head, [B, heads, basis]."""

    def __init__(self, channels: int, heads: int, told: int, hidden: int, basis: int) -> None:
        super().__init__()
        self.heads, self.basis = heads, basis
        self.tell = nn.Linear(channels, told, bias=False)
        self.summary = nn.Linear(SQUARES * told, hidden)
        self.summary_norm = nn.LayerNorm(hidden)
        self.each = nn.Linear(hidden, heads * basis)
        self.each_norm = nn.LayerNorm(basis)

    def forward(self, squares: Tensor) -> Tensor:
        summary = self.summary_norm(F.silu(self.summary(self.tell(squares).flatten(1))))
        each: Tensor = self.each_norm(F.silu(self.each(summary)).reshape(-1, self.heads, self.basis))
        return each


class Again(nn.Module):
    """What a block has of its own in a later round: its norms, and how much of what it makes is added."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(channels)
        self.own_norm = nn.LayerNorm(channels)
        self.heard = nn.Parameter(torch.zeros(channels))
        self.made = nn.Parameter(torch.zeros(channels))


class AttentiveBlock(nn.Module):
    """Squares [B, 64, C] to squares: whom each hears, then what each makes of it for itself."""

    def __init__(
        self,
        channels: int,
        heads: int,
        hidden: int,
        relayed: int,
        suggestion: tuple[int, int, int],
        rounds: int = 1,
    ) -> None:
        """`relayed`: numbers that a square tells in each of the rules' relations; 0: none."""
        super().__init__()
        self.heads, self.relayed, self.scale = heads, relayed, (channels // heads) ** -0.5
        self.norm = nn.LayerNorm(channels)
        self.suggestion = Suggestion(channels, heads, *suggestion)
        self.look = nn.Linear(channels, 3 * channels, bias=False)
        self.tell = nn.Linear(channels, RELATIONS * relayed, bias=False) if relayed else None
        self.join = nn.Linear(channels + RELATIONS * relayed, channels, bias=False)
        self.own_norm = nn.LayerNorm(channels)
        self.up = nn.Linear(channels, hidden)
        self.down = nn.Linear(hidden, channels)
        self.again = nn.ModuleList(Again(channels) for _ in range(rounds - 1))
        self.fused = False
        """Whether attention is computed by `attention_kernel.py`."""
        nn.init.zeros_(self.join.weight)
        nn.init.zeros_(self.down.weight)
        nn.init.zeros_(self.down.bias)

    def forward(self, x: Tensor, pairs: nn.Linear, relations: Tensor | None, number: int = 0) -> Tensor:
        """`number`: the round, from 0."""
        if not number:
            x = x + self._heard(self.norm(x), pairs, relations)
            return x + self._made(self.own_norm(x))
        again = self.again[number - 1]
        assert isinstance(again, Again)
        x = x + again.heard * self._heard(again.norm(x), pairs, relations)
        last: Tensor = x + again.made * self._made(again.own_norm(x))
        return last

    def _heard(self, squares: Tensor, pairs: nn.Linear, relations: Tensor | None) -> Tensor:
        bias = pairs(self.suggestion(squares)).unflatten(-1, (SQUARES, SQUARES))
        heard = self._attended(self.look(squares).unflatten(-1, (3, self.heads, -1)), bias).flatten(2)
        if self.tell is not None and relations is not None:
            told = self.tell(squares).unflatten(-1, (RELATIONS, self.relayed)).transpose(1, 2)
            relayed = torch.relu(relations.to(told.dtype) @ told).transpose(1, 2)
            heard = torch.cat([heard, relayed.flatten(2)], 2)
        joined: Tensor = self.join(heard)
        return joined

    def _made(self, squares: Tensor) -> Tensor:
        made: Tensor = self.down(torch.relu(self.up(squares)).square())
        return made

    def _attended(self, looks: Tensor, bias: Tensor) -> Tensor:
        """[B, 64, 3, heads, C / heads] and [B, heads, 64, 64] to [B, 64, heads, C / heads]."""
        if self.fused:
            from tabiya.minds.resnet.attention_kernel import biased_attention

            return biased_attention(looks, bias.to(looks.dtype), self.scale)
        query, key, value = (looks[:, :, each].transpose(1, 2) for each in range(3))
        weights = (query @ key.transpose(2, 3) * self.scale + bias).softmax(3)
        attended: Tensor = (weights.to(value.dtype) @ value).transpose(1, 2)
        return attended


class AttentiveTower(nn.Module):
    """Features [B, C, 8, 8] and relations [B, 6, 64, 64], if any are heard, to features of the same shape."""

    def __init__(
        self,
        channels: int,
        blocks: int,
        heads: int,
        hidden: int,
        relays: tuple[int, int],
        suggestion: tuple[int, int, int],
        rounds: int = 1,
    ) -> None:
        """`relays`: in every so many blocks the rules direct some heads too; the numbers told there."""
        super().__init__()
        every, told = relays
        self.places = nn.Parameter(torch.zeros(SQUARES, channels))
        """What a square is by its place alone."""
        self.rounds = rounds
        self.pairs = nn.Linear(suggestion[2], SQUARES * SQUARES, bias=False)
        """From a suggestion to pairs of squares: one for all blocks."""
        self.blocks = nn.ModuleList(
            AttentiveBlock(
                channels, heads, hidden, told if every and number % every == 0 else 0, suggestion, rounds
            )
            for number in range(1, blocks + 1)
        )
        self.last_norm = nn.LayerNorm(channels)
        nn.init.normal_(self.places, std=0.1)
        nn.init.zeros_(self.pairs.weight)

    def forward(self, features: Tensor, relations: Tensor | None) -> Tensor:
        x = features.flatten(2).transpose(1, 2)
        x = x + self.places.to(x.dtype)
        for number in range(self.rounds):
            for block in self.blocks:
                x = block(x, self.pairs, relations, number)
        made: Tensor = self.last_norm(x).transpose(1, 2).unflatten(2, (8, 8))
        return made

    def fuse(self) -> None:
        """Compute attention by a kernel from now on; the answers stay what they are."""
        for block in self.blocks:
            assert isinstance(block, AttentiveBlock)
            block.fused = True
