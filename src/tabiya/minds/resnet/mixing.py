"""A block in which every square looks at every other, which takes convolutions many blocks.

Attention over the 64 squares with a learned bias for each pair of them, added
to what passes by. It begins as the identity, like every block of the tower.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn


class Mix(nn.Module):
    """Features [B, C, 8, 8] to features of the same shape."""

    def __init__(self, channels: int, heads: int) -> None:
        super().__init__()
        self.heads, self.scale = heads, (channels // heads) ** -0.5
        self.look = nn.Conv2d(channels, 3 * channels, 1)
        self.bias = nn.Parameter(torch.zeros(heads, 64, 64))
        self.join = nn.Conv2d(channels, channels, 1, bias=False)
        self.norm = nn.BatchNorm2d(channels)
        nn.init.zeros_(self.norm.weight)

    def forward(self, x: Tensor) -> Tensor:
        batch, channels = x.shape[:2]
        parts = self.look(x).flatten(2).reshape(batch, 3, self.heads, channels // self.heads, 64)
        query, key, value = parts.unbind(1)
        weights = query.transpose(2, 3) @ key * self.scale + self.bias
        seen = value @ weights.softmax(3).transpose(2, 3)
        joined: Tensor = self.norm(self.join(seen.reshape(batch, channels, 8, 8)))
        return torch.relu(x + joined)
