"""A block in which squares hear from those that they have to do with: who attacks them, whom they attack.

A convolution hands on what neighbours know. In chess, neighbours are those who
attack each other, however far apart, and who does is known (`attacks.py`). So
every square makes a few numbers for each relation, each square adds up what
comes to it, and what it makes of that is added to what passes by. It begins as
the identity, like every block of the tower.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from tabiya.minds.resnet.attacks import RELATIONS


class Relay(nn.Module):
    """Features [B, C, 8, 8] and relations [B, 6, 64, 64] to features of the same shape."""

    def __init__(self, channels: int, told: int) -> None:
        super().__init__()
        self.told = told
        self.tell = nn.Conv2d(channels, RELATIONS * told, 1, bias=False)
        self.join = nn.Conv2d(RELATIONS * told, channels, 1, bias=False)
        self.norm = nn.BatchNorm2d(channels)
        nn.init.zeros_(self.norm.weight)

    def forward(self, x: Tensor, relations: Tensor) -> Tensor:
        told = self.tell(x).reshape(-1, RELATIONS, self.told, 64)
        heard = torch.relu(told @ relations.to(told.dtype)).reshape(-1, RELATIONS * self.told, 8, 8)
        joined: Tensor = self.norm(self.join(heard))
        return torch.relu(x + joined)
