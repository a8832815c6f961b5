"""What a trained network is like inside: neurons that nothing comes of, active features, pictures of weights.

Measured where the network was trained, on positions that it did not learn
from, and kept as a small file beside it (`NAME.inside.json`), so that the
report needs neither torch nor the data.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tabiya.minds.nnue.data import Features
from tabiya.minds.nnue.loss import NnueLoss, log_odds, losses
from tabiya.minds.nnue.network import NnueNetwork
from tabiya.minds.nnue.quantised import finest_weight
from tabiya.minds.nnue.sources import Samples

LOOKED_AT = 1 << 15
"""Positions on which neurons are watched."""
PART = 4096
PICTURED = 8
"""Neurons whose weights are pictured: those that the second layer hears most of."""
SELDOM = 0.001
"""A neuron active in fewer views than this is seldom."""
BINS = 20

OWN_KING, E1, D1 = 5, 4, 3
PIECES = (0, 1, 2, 3, 4, 5, 8, 9, 10, 11, 12, 13)
"""As packed positions have them: the own pawn, knight, bishop, rook, queen, king, then the other side's."""


@dataclass
class _Watched:
    """Sums over views."""

    views: int
    active: Tensor
    full: Tensor
    total: Tensor
    squares: Tensor
    features: Tensor

    @classmethod
    def nothing(cls, network: NnueNetwork) -> _Watched:
        device, l1 = network.weight.device, network.shape.l1
        active, full, total, squares = torch.zeros(4, l1, dtype=torch.float64, device=device).unbind()
        features = torch.zeros(network.size + 1, dtype=torch.int64, device=device)
        return cls(0, active, full, total, squares, features)


@torch.no_grad()
def look_inside(network: NnueNetwork, held_out: Mapping[str, Samples]) -> dict[str, Any]:
    """The figures and pictures of a network with averaged weights."""
    was, network.bf16 = network.bf16, False
    watched = _watch(network, _sample(held_out))
    network.bf16 = was
    active, full = watched.active / watched.views, watched.full / watched.views
    mean = watched.total / watched.views
    spread = (watched.squares / watched.views - mean.square()).clamp(min=0).sqrt()
    l1, read = network.shape.l1, network.l2.weight.abs()
    heard_at_all = ((read * (1 << finest_weight(network))).round() > 0).any(0)
    unheard = ~(heard_at_all[:l1] | heard_at_all[l1:])
    silent, constant = active == 0, full == 1
    heard = spread * (read.sum(0)[:l1] + read.sum(0)[l1:])
    loudest = torch.argsort(heard, descending=True)[:PICTURED]
    counts = watched.features[: network.size]
    return {
        "views": watched.views,
        "neurons": {
            "l1": l1,
            "silent": int(silent.sum()),
            "constant": int(constant.sum()),
            "unheard": int(unheard.sum()),
            "unused": int((silent | constant | unheard).sum()),
            "seldom": int(((active > 0) & (active < SELDOM)).sum()),
            "active_share": float(active.mean()),
            "histogram": torch.histc(active.float().cpu(), BINS, 0, 1).int().tolist(),
        },
        "features": {
            "size": network.size,
            "dead": int(network.features.dead().sum()),
            "seen": int((counts > 0).sum()),
            "active": float(counts.sum()) / watched.views,
            "active_share": float(counts.sum()) / watched.views / network.size,
            **_room(network, counts > 0),
        },
        "weights": {
            "neurons": loudest.tolist(),
            "active": [round(float(active[number]), 4) for number in loudest],
            "boards": _boards(network, loudest).round(3).tolist(),
        },
    }


def _room(network: NnueNetwork, seen: Tensor) -> dict[str, float]:
    """How large a weight may be, which is less where more features could be active, and how many are."""
    weights = network.weight[: network.size][seen].abs()
    at_the_end = float((weights >= 0.999 * network.limits.first).float().mean()) if weights.numel() else 0.0
    return {"largest_weight": round(network.limits.first, 3), "at_the_end": at_the_end}


def _sample(held_out: Mapping[str, Samples]) -> NDArray[np.uint8]:
    """Positions of all sources alike, P of a triplet."""
    each = -(-LOOKED_AT // max(1, len(held_out)))
    return np.concatenate([some.packed[:each, 0] for some in held_out.values()])


def _watch(network: NnueNetwork, packed: NDArray[np.uint8]) -> _Watched:
    watched, device = _Watched.nothing(network), network.weight.device
    for start in range(0, len(packed), PART):
        part = np.ascontiguousarray(packed[start : start + PART])
        width = network.features.most_active(part, 1)
        rows = torch.from_numpy(network.features.wide_rows(part, width, 1)).to(device)
        values = network.activations(rows).reshape(2 * len(part), -1).double()
        watched.views += len(values)
        watched.active += (values > 0).sum(0)
        watched.full += (values >= 1).sum(0)
        watched.total += values.sum(0)
        watched.squares += values.square().sum(0)
        numbers = rows.reshape(-1).long().clamp(max=network.size)
        watched.features += torch.bincount(numbers, minlength=network.size + 1)
    return watched


def _boards(network: NnueNetwork, neurons: Tensor) -> NDArray[np.float32]:
    """[neurons, 12, 64]: what each piece on each square adds to a neuron, the own king standing on e1.

    For features of single pieces these are the weights themselves; for others the
    sum of all that the piece makes active. On e1 itself the king makes way to d1.
    """
    alone = [_placed({square: OWN_KING}) for square in (E1, D1)]
    placed, base = [], []
    for piece in PIECES:
        for square in range(64):
            king = D1 if square == E1 else E1
            lone = piece == OWN_KING
            placed.append(_placed({square: piece} if lone else {square: piece, king: OWN_KING}))
            base.append(-1 if lone else int(king == D1))
    sums = _sums(network, np.stack([*alone, *placed]), neurons)
    kings, whole = sums[:2], sums[2:]
    without = np.stack([np.zeros_like(kings[0]) if one < 0 else kings[one] for one in base])
    found: NDArray[np.float32] = (whole - without).reshape(len(PIECES), 64, -1).transpose(2, 0, 1)
    return found


def _sums(network: NnueNetwork, packed: NDArray[np.uint8], neurons: Tensor) -> NDArray[np.float32]:
    """The weights that each position makes active, summed, in White's view."""
    chosen = network.weight[: network.size, neurons].cpu().numpy()
    (offsets, numbers), _ = network.features.batch(packed, 1)
    return np.stack([chosen[numbers[start:end]].sum(0) for start, end in pairwise(offsets)]).astype(
        np.float32
    )


def _placed(pieces: dict[int, int]) -> NDArray[np.uint8]:
    """A packed position of these pieces, White to move; no rule of chess is asked."""
    row = np.zeros(32, np.uint8)
    occupied = sum(1 << square for square in pieces)
    row[:8] = np.frombuffer(occupied.to_bytes(8, "little"), np.uint8)
    for number, square in enumerate(sorted(pieces)):
        row[8 + number // 2] |= pieces[square] << (4 * (number % 2))
    row[25], row[28] = 255, 1
    return row


@torch.no_grad()
def evaluation_loss(network: NnueNetwork, held_out: Mapping[str, Samples], loss: NnueLoss) -> float | None:
    """The loss on held-out evaluations, however the network was taught; None where there are none."""
    total, count = 0.0, 0
    for samples in held_out.values():
        for outputs, value, result in _judged(network, samples):
            each = losses(outputs[:, 0], value, result, loss)
            total, count = total + float(each.sum()), count + len(each)
    return total / count if count else None


@torch.no_grad()
def prefers_played(network: NnueNetwork, held_out: Mapping[str, Samples], loss: NnueLoss) -> float | None:
    """How often what was played looks better than what a random move leads to, equals counted by half."""
    right, count = 0.0, 0
    for samples in held_out.values():
        for outputs, _, _ in _judged(network, samples):
            odds = log_odds(outputs, loss)
            right += float((odds[:, 2] > odds[:, 1]).sum() + (odds[:, 2] == odds[:, 1]).sum() / 2)
            count += len(odds)
    return right / count if count else None


def _judged(network: NnueNetwork, samples: Samples) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
    features, device = Features(network.features, [samples]), network.weight.device
    was, network.bf16 = network.bf16, False
    try:
        for start in range(0, len(samples), PART):
            some = samples.chosen(np.arange(start, min(start + PART, len(samples))))
            batch = features.batch(some)
            rows, pieces = batch.rows.to(device), batch.pieces.to(device)
            outputs = network(rows.flatten(0, 1), pieces.flatten()).reshape(pieces.shape)
            yield outputs, batch.value.to(device), batch.result.to(device)
    finally:
        network.bf16 = was
