"""What the network is taught: a move, the worth of every move, and the worth of the position.

    α · CE(policy) + β · MSE(Q over all legal moves) + γ · value

and, where every move has a label, what the policy's moves would lose against the
best one on average: the cross-entropy minds which of two good moves is named,
this only that none of them is bad. Illegal moves never enter: the logits of the
legal ones are picked out before any softmax.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import torch
import torch.nn.functional as F  # noqa: N812 - torch's own custom
from torch import Tensor

from tabiya.errors import UserError
from tabiya.learn.distributed import mean, weighted_mean
from tabiya.learn.feed import Table

Outputs: TypeAlias = tuple[Tensor, Tensor, Tensor, Tensor]
"""Logits of moves, of their Q, of win, draw and loss, and of the value's bins."""


@dataclass(frozen=True, kw_only=True)
class LossWeights:
    """α, β, γ and how targets are made."""

    policy: float = 1.0
    q: float = 0.4
    value: float = 0.25
    policy_temperature: float = 0.04
    """Where every move has a label, the policy's target is softmax(Q / this); 0: the best move alone."""
    regret: float = 0.0
    """Weight of the worth that the policy's moves lose against the best, averaged by its probabilities."""
    opinion: float = 1.0
    """While another network teaches (`taught_by`): weight of its opinions beside the labels."""
    played: float = 1.0
    """Weight of moves played in games beside labels, in the policy's cross-entropy."""
    bins_sigma: float = 0.75
    """Width, in bins, of the Gaussian by which a value is spread over the bins."""

    def __post_init__(self) -> None:
        if self.policy_temperature < 0 or self.bins_sigma <= 0:
            raise UserError("policy_temperature must not be negative, bins_sigma must be positive")
        if min(self.regret, self.played, self.opinion) < 0:
            raise UserError("regret, played and opinion must not be negative")


def bin_targets(value: Tensor, bins: int, sigma: float) -> Tensor:
    """Win probabilities [B] as distributions over equal bins of [0, 1], each a truncated Gaussian."""
    edges = torch.linspace(0, 1, bins + 1, device=value.device)
    below = 0.5 * (1 + torch.erf((edges - value[:, None]) * (bins / (sigma * 2**0.5))))
    mass = below.diff(dim=1)
    return mass / mass.sum(1, keepdim=True)


def expected_value(bin_logits: Tensor) -> Tensor:
    """The win probability that bin logits [B, K] stand for."""
    bins = bin_logits.shape[1]
    centres = (torch.arange(bins, device=bin_logits.device) + 0.5) / bins
    return (bin_logits.float().softmax(1) * centres).sum(1)


def losses(
    outputs: Outputs,
    parts: list[Table],
    weights: LossWeights,
    places: Tensor | None = None,
) -> dict[str, Tensor]:
    """The total as `loss`, and what it is made of, for a batch whose rows are the parts in turn.

    `places` says where in the outputs each move stands; None: where its number says.
    """
    counts = [len(part) for part in parts]
    rows = sum(part.whole for part in parts)
    total = outputs[0].new_zeros((), dtype=torch.float32)
    figures: dict[str, Tensor] = {}
    # Split and not sliced: the gradients of slices would each be as large as the whole.
    pieces = zip(*(torch.split(output, counts) for output in outputs), strict=True)
    for part, (policy, q, wdl, bins) in zip(parts, pieces, strict=True):
        named: dict[str, Tensor] = {}
        if part.legal is not None:
            named |= _move_losses(policy, q, part, weights, places)
        if part.value is not None:
            named["bins"] = _bins_loss(bins.float(), part.value.float(), weights) * weights.value
        if part.result is not None:
            known = part.result >= 0
            cross = F.cross_entropy(wdl.float(), part.result.clamp(min=0).long(), reduction="none")
            named["wdl"] = weighted_mean(cross, known.float()) * weights.value
        for name, loss in named.items():
            if name not in _FIGURES:
                total = total + part.whole / rows * loss
            figures[f"{part.kind}_{name}"] = loss.detach()
    return {"loss": total, **figures}


_FIGURES = ("policy_top1", "policy_lost")
"""What is reported and not learned from."""


def legal_columns(legal: Tensor, places: Tensor | None) -> tuple[Tensor, Tensor]:
    """Where in the outputs the legal moves of each row stand, and which of those are moves at all."""
    numbers = legal.long()
    columns = numbers.clamp(min=0)
    return columns if places is None else places[columns], numbers >= 0


def _move_losses(
    policy: Tensor, q: Tensor, part: Table, weights: LossWeights, places: Tensor | None
) -> dict[str, Tensor]:
    assert part.legal is not None
    columns, real = legal_columns(part.legal, places)
    picked = policy.gather(1, columns).float().masked_fill(~real, -1e4)
    log_p = picked.log_softmax(1)
    if part.leaning is not None:
        soft = part.leaning.float().masked_fill(~real, -1e4).softmax(1)
        right = (log_p.argmax(1) == soft.argmax(1)).float()
        return {
            "policy": mean(_divergence(soft, log_p), part.whole) * weights.policy,
            "policy_top1": mean(right, part.whole),
        }
    if part.q is None:
        assert part.target is not None
        target = part.target.long()
        found = (target >= 0).float()
        if part.weight is not None:
            found = found * part.weight.float()
        cross = -log_p.gather(1, target.clamp(min=0)[:, None])[:, 0]
        right = (log_p.argmax(1) == target).float()
        loss = weighted_mean(cross, found) * weights.policy * weights.played
        return {"policy": loss, "policy_top1": mean(right, part.whole)}
    worth = part.q.float().nan_to_num(0.0)
    if weights.policy_temperature > 0:
        soft = (worth / weights.policy_temperature).masked_fill(~real, -1e4).softmax(1)
    else:
        soft = F.one_hot(worth.masked_fill(~real, -1.0).argmax(1), real.shape[1]).float()
    divergence = _divergence(soft, log_p)
    predicted = q.gather(1, columns).float().sigmoid()
    squared = ((predicted - worth) ** 2 * real).sum(1) / real.sum(1).clamp(min=1)
    best = worth.masked_fill(~real, -1.0).max(1).values
    chosen = worth.gather(1, log_p.argmax(1, keepdim=True))[:, 0]
    named = {
        "policy": mean(divergence, part.whole) * weights.policy,
        "q": mean(squared, part.whole) * weights.q,
        "policy_top1": mean((chosen >= best - 1e-4).float(), part.whole),
        "policy_lost": mean(best - chosen, part.whole),
    }
    if weights.regret:
        lost = (log_p.exp() * (best[:, None] - worth) * real).sum(1)
        named["regret"] = mean(lost, part.whole) * weights.regret
    return named


def _bins_loss(logits: Tensor, value: Tensor, weights: LossWeights) -> Tensor:
    known = ~value.isnan()
    target = bin_targets(value.nan_to_num(0.5), logits.shape[1], weights.bins_sigma)
    return weighted_mean(_divergence(target, logits.log_softmax(1)), known.float())


def _divergence(target: Tensor, log_p: Tensor) -> Tensor:
    """The cross-entropy less the target's own entropy: its zero is a perfect match."""
    return (target * (target.clamp(min=1e-9).log() - log_p)).sum(1)
