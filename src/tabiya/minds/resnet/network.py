"""The residual network: planes in, policy, Q of every move and value out, in one pass.

The tower is AlphaZero's with squeeze-and-excitation, or one in which squares look
at each other (`attentive.py`); every head sees the same features. Moves are
numbered in the 8×8×73 space from the mover's side.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from tabiya.errors import UserError
from tabiya.minds.resnet.attacks import PLANES as ATTACK_PLANES
from tabiya.minds.resnet.attacks import Attacks
from tabiya.minds.resnet.attentive import AttentiveTower
from tabiya.minds.resnet.lines import LinesOfSight
from tabiya.minds.resnet.mixing import Mix
from tabiya.minds.resnet.pairs import Pairs
from tabiya.minds.resnet.relays import Relay

MOVE_PLANES = 73
MOVES = 64 * MOVE_PLANES
_VALUE_SIZES = ("value_channels", "value_hidden", "value_bins")


@dataclass(frozen=True, kw_only=True)
class ResNetShape:
    """Sizes of the network; `main` as it stands here."""

    tower: Literal["convolutions", "attention"] = "convolutions"
    """What a block does: two convolutions, or attention led by what the position suggests."""
    blocks: int = 12
    channels: int = 128
    planes: int = 21
    """18, or 21 with en passant and repetition."""
    attacks: bool = False
    """Beside them, planes that say who attacks what; the network makes them itself."""
    squeeze: int = 32
    """Channels of the squeeze in squeeze-and-excitation; 0: none. Of convolutions alone."""
    mixing_every: int = 0
    """After every so many blocks of convolutions all squares look at each other (attention); 0: never."""
    mixing_heads: int = 4
    """Heads of that attention, or of the one in every block."""
    relays_every: int = 0
    """After every so many blocks squares hear from those that attack them or that they attack; 0: never."""
    relay_channels: int = 16
    """Numbers that a square tells in each relation."""
    hidden: int = 512
    """In a tower of attention: numbers that each square makes for itself inside a block."""
    suggestion: tuple[int, int, int] = (16, 96, 64)
    """There, too: numbers that a square tells the summary, that the summary has, that a head gets."""
    rounds: int = 1
    """There, too: how often its blocks are gone through, one after the other."""
    value_channels: int = 32
    value_hidden: int = 128
    value_bins: int = 64
    """Classes into which the teacher's win probability is divided."""
    move_head: Literal["planes", "pairs"] = "planes"
    """How moves get their logits: a convolution to 73 planes, or products of origin and target squares."""
    own_q_head: bool = True
    """Q from a head of its own; otherwise the policy's logits are read as Q's logits too."""

    def __post_init__(self) -> None:
        if self.planes not in (18, 21):
            raise UserError(f"the network reads 18 or 21 planes, got {self.planes}")
        for name in (*("blocks", "channels", "relay_channels", "hidden", "rounds"), *_VALUE_SIZES):
            if getattr(self, name) < 1:
                raise UserError(f"{name} must be at least 1, got {getattr(self, name)}")
        if min(self.suggestion) < 1:
            raise UserError(f"suggestion must have three sizes of at least 1, got {list(self.suggestion)}")
        if self.rounds > 1 and self.tower != "attention":
            raise UserError("only a tower of attention is gone through in rounds")
        for name in ("squeeze", "mixing_every", "relays_every"):
            if getattr(self, name) < 0:
                raise UserError(f"{name} must not be negative, got {getattr(self, name)}")
        if (self.mixing_every or self.tower == "attention") and self.channels % self.mixing_heads:
            raise UserError(
                f"channels must be a multiple of mixing_heads, got {self.channels} and {self.mixing_heads}"
            )


class Excite(nn.Module):
    """Squeeze-and-excitation: each channel is scaled and shifted by what the whole board shows."""

    def __init__(self, channels: int, squeeze: int) -> None:
        super().__init__()
        self.down = nn.Linear(channels, squeeze)
        self.up = nn.Linear(squeeze, 2 * channels)
        # It shifts nothing at first, or a block would not begin as the identity.
        nn.init.zeros_(self.up.weight[channels:])
        nn.init.zeros_(self.up.bias[channels:])

    def forward(self, x: Tensor) -> Tensor:
        both: Tensor = self.up(torch.relu(self.down(x.mean((2, 3)))))
        scale, shift = both[:, :, None, None].chunk(2, 1)
        return x * torch.sigmoid(scale) + shift


class Block(nn.Module):
    """Two convolutions and the way around them."""

    def __init__(self, channels: int, squeeze: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.first_norm = nn.BatchNorm2d(channels)
        self.second = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.second_norm = nn.BatchNorm2d(channels)
        self.excite = Excite(channels, squeeze) if squeeze else nn.Identity()
        # A block begins as the identity, so that a deep tower trains from the first step.
        nn.init.zeros_(self.second_norm.weight)

    def forward(self, x: Tensor) -> Tensor:
        y = torch.relu(self.first_norm(self.first(x)))
        return torch.relu(x + self.excite(self.second_norm(self.second(y))))


class ResNet(nn.Module):
    """Planes [B, C, 8, 8] to (policy [B, 4672], q [B, 4672], wdl [B, 3], value bins [B, K]), all logits."""

    def __init__(self, shape: ResNetShape) -> None:
        super().__init__()
        self.shape = shape
        width = shape.channels
        self.sight = LinesOfSight() if shape.attacks or shape.relays_every else None
        self.attacks = Attacks()
        seen = shape.planes + (ATTACK_PLANES if shape.attacks else 0)
        self.stem = nn.Conv2d(seen, width, 3, padding=1, bias=False)
        self.stem_norm = nn.BatchNorm2d(width)
        self.tower = _attentive(shape) if shape.tower == "attention" else None
        blocks = shape.blocks if self.tower is None else 0
        self.blocks = nn.Sequential(*(Block(width, shape.squeeze) for _ in range(blocks)))
        mixes = blocks // shape.mixing_every if shape.mixing_every else 0
        self.mixes = nn.ModuleList(Mix(width, shape.mixing_heads) for _ in range(mixes))
        relays = blocks // shape.relays_every if shape.relays_every else 0
        self.relays = nn.ModuleList(Relay(width, shape.relay_channels) for _ in range(relays))
        # Squares that have looked at all others need not look at their neighbours once more.
        reach = 3 if self.tower is None else 1
        self.move = nn.Conv2d(width, width, reach, padding=reach // 2, bias=False)
        self.move_norm = nn.BatchNorm2d(width)
        self.policy = _move_head(shape)
        self.q = _move_head(shape) if shape.own_q_head else None
        self.value = nn.Conv2d(width, shape.value_channels, 1, bias=False)
        self.value_norm = nn.BatchNorm2d(shape.value_channels)
        self.value_hidden = nn.Linear(64 * shape.value_channels, shape.value_hidden)
        self.wdl = nn.Linear(shape.value_hidden, 3)
        self.bins = nn.Linear(shape.value_hidden, shape.value_bins)

    def forward(self, planes: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        x = self.features(planes)
        policy, q = self.moves(x)
        return policy, q, *self.values(x)

    def features(self, planes: Tensor) -> Tensor:
        """What the tower makes of the planes: [B, channels, 8, 8]."""
        shape, seen, relations = self.shape, planes, None
        if self.sight is not None:
            pieces = planes[:, :12].reshape(-1, 12, 64)
            lines = self.sight(pieces.sum(1))
            if shape.attacks:
                seen = torch.cat([planes, self.attacks(pieces, lines)], 1)
            if shape.relays_every:
                relations = self.attacks.relations(pieces, lines)
        x = torch.relu(self.stem_norm(self.stem(seen)))
        if self.tower is not None:
            return self.tower(x, relations)  # type: ignore[no-any-return]
        for number, block in enumerate(self.blocks, 1):
            x = block(x)
            if self.relays and number % shape.relays_every == 0:
                x = self.relays[number // shape.relays_every - 1](x, relations)
            if self.mixes and number % shape.mixing_every == 0:
                x = self.mixes[number // shape.mixing_every - 1](x)
        return x

    def fuse(self) -> None:
        """Compute a tower of attention by its kernels on a CUDA device; the answers stay what they are."""
        if self.tower is not None:
            self.tower.fuse()

    def moves(self, features: Tensor) -> tuple[Tensor, Tensor]:
        """Policy and Q logits of every move."""
        x = torch.relu(self.move_norm(self.move(features)))
        policy: Tensor = self.policy(x)
        return policy, policy if self.q is None else self.q(x)

    def learning(self, planes: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """As a call, with the moves in the head's own order: see `places`."""
        x = self.features(planes)
        y = torch.relu(self.move_norm(self.move(x)))
        policy = _raw(self.policy, y)
        return policy, policy if self.q is None else _raw(self.q, y), *self.values(x)

    @property
    def places(self) -> Tensor | None:
        """int64 [4672]: where `learning` has each move; None: where its number says."""
        return self.policy.index.long() if isinstance(self.policy, Pairs) else None

    def values(self, features: Tensor) -> tuple[Tensor, Tensor]:
        """Logits of win, draw, loss and of the value's bins."""
        x = torch.relu(self.value_norm(self.value(features))).flatten(1)
        x = torch.relu(self.value_hidden(x))
        return self.wdl(x), self.bins(x)


class Planes(nn.Conv2d):
    """Features [B, width, 8, 8] to logits [B, 4672], each square's moves from its own features."""

    def __init__(self, width: int) -> None:
        super().__init__(width, MOVE_PLANES, 1)

    def forward(self, features: Tensor) -> Tensor:
        # [B, 73, 8, 8] to the numbering from·73 + plane.
        return super().forward(features).permute(0, 2, 3, 1).flatten(1)


def _attentive(shape: ResNetShape) -> AttentiveTower:
    relays = shape.relays_every, shape.relay_channels
    return AttentiveTower(
        shape.channels, shape.blocks, shape.mixing_heads, shape.hidden, relays, shape.suggestion, shape.rounds
    )


def _move_head(shape: ResNetShape) -> nn.Module:
    return Pairs(shape.channels) if shape.move_head == "pairs" else Planes(shape.channels)


def _raw(head: nn.Module, features: Tensor) -> Tensor:
    logits: Tensor = head.raw(features) if isinstance(head, Pairs) else head(features)
    return logits


def parameter_count(network: nn.Module) -> int:
    return sum(parameter.numel() for parameter in network.parameters())
