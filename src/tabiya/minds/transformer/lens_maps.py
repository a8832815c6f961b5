"""Square maps and pair maps of many positions, by torch on any device: the lens's measures in bulk.

The same interventions as through the ONNX file, thousands at a time: each
square's rows zeroed, each pair of squares cut apart in all layers and heads,
the rest renormalised. Maps are in the view of the side to move.
"""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tabiya._core import legal_indices, random_positions
from tabiya.lens.interface import SQUARES
from tabiya.minds.transformer.attention import Cut
from tabiya.minds.transformer.lens import cached_batch, parts_of
from tabiya.minds.transformer.network import Transformer
from tabiya.minds.transformer.onnx_inputs import read_tokens


class Maps(NamedTuple):
    """What was measured of one position."""

    chosen: int
    """The likeliest move's place among the legal ones, in the order of their UCI strings."""
    p: float
    squares: NDArray[np.float32]
    """[64]: total variation with each square blanked, the mover's own first rank first."""
    pairs: NDArray[np.float32] | None
    """[64, 64]: by the square that looks, then the one looked at."""


class Mapper:
    """One network on one device."""

    def __init__(self, network: Transformer, device: torch.device, batch: int = 0) -> None:
        self.network = network.to(device).eval().compute("plain")
        self.device = device
        shape = network.shape
        self.batch = batch or (1024 if device.type == "cuda" else cached_batch(shape))
        self._heads = torch.ones(shape.layers, shape.heads, device=device)
        self._renormalise = torch.ones((), device=device)

    @torch.no_grad()
    def measure(self, packed: NDArray[np.uint8], pairs: bool = True) -> Maps:
        """The maps of one packed position [32]."""
        one = np.ascontiguousarray(packed.reshape(1, 32))
        shape, black = self.network.shape, bool(one[0, 24] & 1)
        tokens = torch.from_numpy(read_tokens(one, shape.flipped)).to(self.device)
        numbers = torch.from_numpy(legal_indices(one, "uci", shape.view)[1].astype(np.int64)).to(self.device)
        named = parts_of(shape, not black)
        # The mover's own a1 is Black's a8.
        order = [square if not black else f"{square[0]}{9 - int(square[1])}" for square in SQUARES]
        rows = [named[square] for square in order]
        whole = self._policy(tokens, numbers)
        squares = self._blanked(tokens, numbers, rows, whole)
        found = self._cut(tokens, numbers, rows, whole) if pairs else None
        chosen = int(whole.argmax())
        return Maps(chosen, float(whole[0, chosen]), squares, found)

    def _policy(self, tokens: Tensor, numbers: Tensor, **masks: Any) -> Tensor:
        logits: Tensor = self.network(tokens, **masks).policy.float()
        return logits.index_select(1, numbers).softmax(1)

    def _blanked(
        self, tokens: Tensor, numbers: Tensor, rows: list[list[int]], whole: Tensor
    ) -> NDArray[np.float32]:
        found = []
        for start in range(0, 64, self.batch):
            some = rows[start : start + self.batch]
            mask = torch.ones(len(some), self.network.shape.rows, device=self.device)
            for at, own in enumerate(some):
                mask[at, own] = 0.0
            policy = self._policy(tokens.expand(len(some), -1), numbers, rows=mask)
            found.append((policy - whole).abs().sum(1) / 2)
        return np.asarray(torch.cat(found).cpu().numpy(), np.float32)

    def _cut(
        self, tokens: Tensor, numbers: Tensor, rows: list[list[int]], whole: Tensor
    ) -> NDArray[np.float32]:
        size = self.network.shape.rows
        table = torch.tensor(rows, device=self.device)
        found = []
        for start in range(0, 4096, self.batch):
            at = torch.arange(start, min(start + self.batch, 4096), device=self.device)
            mask = torch.ones(len(at), size, size, device=self.device)
            here = torch.arange(len(at), device=self.device)
            for by in range(table.shape[1]):
                for seen in range(table.shape[1]):
                    mask[here, table[at // 64, by], table[at % 64, seen]] = 0.0
            cut = Cut(mask, self._heads, self._renormalise)
            policy = self._policy(tokens.expand(len(at), -1), numbers, cut=cut)
            found.append((policy - whole).abs().sum(1) / 2)
        return np.asarray(torch.cat(found).reshape(64, 64).cpu().numpy(), np.float32)


def speed(network: Transformer, device: torch.device) -> dict[str, Any]:
    """Seconds for the square map and for all pairs of one position, the second time they are made."""
    mapper = Mapper(network, device)
    packed = random_positions(2, 5)
    found: dict[str, Any] = {"device": str(device)}
    for name, pairs in (("occlusion", False), ("pairs", True)):
        mapper.measure(packed[0], pairs)
        began = time.perf_counter()
        mapper.measure(packed[1], pairs)
        found[name] = round(time.perf_counter() - began, 3)
    return found
