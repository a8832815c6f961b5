"""Training the embedding of patterns: a position and a changed copy of it shall lie close, others apart.

No labels: of every position two versions are made (mirrored or not, light
pieces missing, the maps shaken and thinned), and the embedding learns to tell
which two belong together (InfoNCE). The network is the one whose weights
`tabiya.lens.patterns` computes with; a test holds the two equal.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812 - torch's own custom
from numpy.typing import NDArray
from torch import Tensor, nn

from tabiya.lens.patterns import WEIGHTS, Maps, inputs


@dataclass(frozen=True, kw_only=True)
class PatternTraining:
    """How the embedding is made."""

    width: int = 32
    steps: int = 600
    batch: int = 256
    rate: float = 1e-3
    temperature: float = 0.2
    missing: float = 0.15
    """Chance that a piece below the median weight is left out of a version."""
    shaken: float = 0.4
    """How far the maps' numbers are stretched, as the spread of their logarithms."""
    thinned: float = 0.2
    """Share of a pair map's numbers that a version lacks."""
    seed: int = 0


class PatternNetwork(nn.Module):
    """Pieces, square map and pair map to a point of length 1."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.pieces = nn.ModuleList(
            [nn.Conv2d(12, 32, 3, padding=1), nn.Conv2d(32, 32, 3, padding=1), nn.Linear(32 * 64, 64)]
        )
        self.squares = nn.ModuleList(
            [nn.Conv2d(1, 8, 3, padding=1), nn.Conv2d(8, 8, 3, padding=1), nn.Linear(8 * 64, 32)]
        )
        self.pairs = nn.ModuleList([nn.Linear(4096, 64)])
        self.merge = nn.ModuleList([nn.Linear(64 + 32 + 64, 64), nn.Linear(64, width)])

    def forward(self, pieces: Tensor, squares: Tensor, pairs: Tensor) -> Tensor:
        seen = []
        for layers, x in ((self.pieces, pieces), (self.squares, squares)):
            x = F.relu(layers[1](F.relu(layers[0](x))))
            seen.append(F.relu(layers[2](x.flatten(1))))
        seen.append(F.relu(self.pairs[0](pairs)))
        merged = F.relu(self.merge[0](torch.cat(seen, 1)))
        return F.normalize(self.merge[1](merged), dim=1)


def version(
    pieces: Tensor, squares: Tensor, pairs: Tensor, config: PatternTraining, chance: torch.Generator
) -> tuple[Tensor, Tensor, Tensor]:
    """One changed copy of each position of a batch."""
    count, device = len(pieces), pieces.device

    def random(*shape: int) -> Tensor:
        return torch.rand(*shape, generator=chance).to(device)

    def spread(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=chance).to(device)

    mirror = random(count) < 0.5
    files = torch.arange(7, -1, -1, device=device)
    other = torch.arange(64, device=device) ^ 7
    turned = pairs.view(count, 64, 64)[:, other][:, :, other].flatten(1)
    pieces = torch.where(mirror[:, None, None, None], pieces[..., files], pieces)
    squares = torch.where(mirror[:, None, None, None], squares[..., files], squares)
    pairs = torch.where(mirror[:, None], turned, pairs)
    light = squares <= squares.flatten(1).median(1).values[:, None, None, None]
    kings = pieces[:, [5, 11]].sum(1, keepdim=True) > 0
    gone = light & ~kings & (random(count, 1, 8, 8) < config.missing)
    pieces = pieces * ~gone
    squares = squares * (config.shaken * spread(*squares.shape)).exp()
    pairs = pairs * (config.shaken * spread(*pairs.shape)).exp() * (random(*pairs.shape) >= config.thinned)
    return pieces, squares, pairs


def train(
    maps: Maps,
    config: PatternTraining,
    device: torch.device,
    advance: Callable[[], None] = lambda: None,
) -> tuple[dict[str, NDArray[np.float32]], dict[str, float]]:
    """The embedding's weights, and its figures: the loss and how often the right copy is the nearest."""
    torch.manual_seed(config.seed)
    network = PatternNetwork(config.width).to(device)
    optimizer = torch.optim.AdamW(network.parameters(), lr=config.rate, weight_decay=1e-4)
    chance = torch.Generator().manual_seed(config.seed)
    tensors = [torch.from_numpy(np.ascontiguousarray(each)).to(device) for each in inputs(maps)]
    size = min(config.batch, len(maps))
    loss, found = torch.zeros(()), 0.0
    for _ in range(config.steps):
        drawn = torch.randperm(len(maps), generator=chance)[:size].to(device)
        some = [each[drawn] for each in tensors]
        first, second = (network(*version(some[0], some[1], some[2], config, chance)) for _ in range(2))
        likeness = first @ second.T / config.temperature
        target = torch.arange(size, device=device)
        loss = (F.cross_entropy(likeness, target) + F.cross_entropy(likeness.T, target)) / 2
        optimizer.zero_grad(set_to_none=True)
        torch.autograd.backward(loss)
        optimizer.step()
        found = float((likeness.argmax(1) == target).float().mean())
        advance()
    return weights_of(network), {"loss": float(loss.detach()), "found": found, "batch": float(size)}


def weights_of(network: PatternNetwork) -> dict[str, NDArray[np.float32]]:
    """As `tabiya.lens.patterns` takes them."""
    state = network.state_dict()
    assert set(state) == set(WEIGHTS)
    return {name: np.asarray(state[name].detach().cpu().numpy(), np.float32) for name in WEIGHTS}
