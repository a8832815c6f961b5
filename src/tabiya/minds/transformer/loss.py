"""What the network is taught: a move, its consequences for the rights, the worth of the position.

    policy + rights + value (game result and teacher's verdict) + refinement

Illegal moves are left out of the softmax, or must be learned to be unlikely:
that is a switch. The second pass is taught to choose among its three moves as
the teacher would.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F  # noqa: N812 - torch's own custom
from torch import Tensor

from tabiya.errors import UserError
from tabiya.learn.distributed import mean, weighted_mean
from tabiya.learn.token_tables import TokenTable
from tabiya.minds.transformer.network import Outputs
from tabiya.minds.transformer.refinement import Slots
from tabiya.minds.transformer.rights import rights_after


@dataclass(frozen=True, kw_only=True)
class LossWeights:
    """How much each part counts, and how targets are made."""

    policy: float = 1.0
    value: float = 0.5
    rights: float = 0.1
    refinement: float = 0.5
    mask_illegal: bool = True
    """Illegal moves are left out before the softmax; otherwise the network must learn what is legal."""
    policy_temperature: float = 0.04
    """Where every move has a label, the policy's target is softmax(worth / this); 0: the best move alone."""
    bins_sigma: float = 0.75
    """Width, in bins, of the Gaussian by which a value is spread over the bins."""

    def __post_init__(self) -> None:
        if self.policy_temperature < 0 or self.bins_sigma <= 0:
            raise UserError("policy_temperature must not be negative, bins_sigma must be positive")
        for name in ("policy", "value", "rights", "refinement"):
            if getattr(self, name) < 0:
                raise UserError(f"the loss weight {name} must not be negative, got {getattr(self, name)}")


SEEN = ("top1", "illegal", "right")
"""Endings of figures that are reported and not learned from."""


def bin_targets(value: Tensor, bins: int, sigma: float) -> Tensor:
    """Win probabilities [B] as distributions over equal bins of [0, 1], each a truncated Gaussian."""
    edges = torch.linspace(0, 1, bins + 1, device=value.device)
    below = 0.5 * (1 + torch.erf((edges - value[:, None]) * (bins / (sigma * 2**0.5))))
    mass = below.diff(dim=1)
    return mass / mass.sum(1, keepdim=True)


def target_of(part: TokenTable, weights: LossWeights) -> Tensor:
    """[n, W]: how likely each legal move should be; rows of zeros where nothing is known."""
    assert part.legal is not None
    real = part.legal >= 0
    if part.q is None:
        assert part.target is not None
        columns = torch.arange(part.legal.shape[1], device=part.legal.device)
        return (part.target[:, None] == columns).float()
    worth = part.q.float().nan_to_num(0.0)
    if weights.policy_temperature > 0:
        return (worth / weights.policy_temperature).masked_fill(~real, -1e4).softmax(1)
    return F.one_hot(worth.masked_fill(~real, -1.0).argmax(1), real.shape[1]).float()


def first_pass(
    outputs: Outputs, tokens: Tensor, part: TokenTable, weights: LossWeights, squares: Tensor
) -> dict[str, Tensor]:
    """The losses of one part of a batch by name, each with its weight, and what is only seen."""
    named: dict[str, Tensor] = {}
    if part.legal is not None:
        named |= _moves(outputs, tokens, part, weights, squares)
    if part.value is not None:
        known = ~part.value.isnan()
        target = bin_targets(
            part.value.float().nan_to_num(0.5), outputs.value_bins.shape[1], weights.bins_sigma
        )
        # The cross-entropy less the target's own entropy: its zero is a perfect answer.
        divergence = _divergence(target, outputs.value_bins.float().log_softmax(1))
        named["bins"] = weighted_mean(divergence, known.float()) * weights.value
    if part.result is not None:
        known = part.result >= 0
        cross = F.cross_entropy(outputs.wdl.float(), part.result.clamp(min=0).long(), reduction="none")
        named["wdl"] = weighted_mean(cross, known.float()) * weights.value
    return named


def _moves(
    outputs: Outputs, tokens: Tensor, part: TokenTable, weights: LossWeights, squares: Tensor
) -> dict[str, Tensor]:
    assert part.legal is not None
    legal = part.legal.long()
    real = legal >= 0
    logits = outputs.policy.float()
    picked = logits.gather(1, legal.clamp(min=0)).masked_fill(~real, -1e4)
    log_p = picked.log_softmax(1)
    inside = picked.logsumexp(1) - logits.logsumexp(1)
    target = target_of(part, weights)
    known = target.sum(1)
    counts = known if part.weight is None else known * part.weight.float()
    divergence = _divergence(target, log_p)
    if not weights.mask_illegal:
        # Over all moves: the same, and the legal ones' share of the whole.
        divergence = divergence - inside * known
    right = (log_p.argmax(1) == target.argmax(1)).float()
    if part.q is not None:
        worth = part.q.float().nan_to_num(0.0).masked_fill(~real, -1.0)
        chosen = worth.gather(1, log_p.argmax(1, keepdim=True))[:, 0]
        right = (chosen >= worth.max(1).values - 1e-4).float()
    named = {
        "policy": weighted_mean(divergence, counts) * weights.policy,
        "policy_top1": weighted_mean(right, known),
        "policy_illegal": mean(1 - inside.exp(), part.whole),
    }
    if outputs.rights is not None:
        best = legal.gather(1, target.argmax(1, keepdim=True))[:, 0].clamp(min=0)
        after = rights_after(tokens, best, squares)
        rights = outputs.rights.float()
        cross = F.binary_cross_entropy_with_logits(rights, after, reduction="none").sum(1)
        named["rights"] = weighted_mean(cross, known) * weights.rights
        named["rights_right"] = weighted_mean(((rights > 0) == (after > 0.5)).all(1).float(), known)
    return named


def second_pass(refined: Tensor, slots: Slots, part: TokenTable, weights: LossWeights) -> dict[str, Tensor]:
    """The loss of the three reconsidered moves, where the right one is among them."""
    wanted = target_of(part, weights).gather(1, slots.columns)
    there = slots.moves > 0
    mass = (wanted * there).sum(1)
    target = wanted * there / mass.clamp(min=1e-9)[:, None]
    log_p = refined.float().masked_fill(~there, -1e4).log_softmax(1)
    known = (mass > 1e-6).float()
    right = (log_p.argmax(1) == target.argmax(1)).float()
    first = (target.argmax(1) == 0).float()
    return {
        "refined": weighted_mean(_divergence(target, log_p), known) * weights.refinement,
        "refined_top1": weighted_mean(right, known),
        "unrefined_top1": weighted_mean(first, known),
    }


def summed(named: dict[str, Tensor], share: float, kind: str) -> tuple[Tensor | float, dict[str, Tensor]]:
    """What a part adds to the total, and its figures under the part's name."""
    total: Tensor | float = 0.0
    for name, loss in named.items():
        if not name.endswith(SEEN):
            total = total + share * loss
    return total, {f"{kind}_{name}": loss.detach() for name, loss in named.items()}


def _divergence(target: Tensor, log_p: Tensor) -> Tensor:
    return (target * (target.clamp(min=1e-9).log() - log_p)).sum(1)
