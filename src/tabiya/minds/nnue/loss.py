"""What the network is taught: a teacher's evaluations, or that played moves are better than random ones.

Both methods see the network's output as log-odds: output times `OUTPUT`
centipawns, divided by the k of `tabiya.data.scale`.

- "evaluations": |p − t| to an exponent, p the network's win probability and t
  the teacher's, mixed with the game's result where that is asked for.
- "pqr": P was played to Q, R is where a random move would have led, f is for
  the side to move. Q is bad for whoever answers, R less so: f(R) > f(Q); and
  nothing was won or lost by playing: f(P) = −f(Q).
- "triplet": the same by distances: −f(Q) is to lie nearer to f(P) than −f(R)
  does, by a margin. Distances know no sign: f and −f are as good, and a
  network that begins with nothing may end with either.
- "signed-triplet": the same, but −f(R) is to lie below f(P), not above it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import torch
import torch.nn.functional as F  # noqa: N812 - torch's own custom
from torch import Tensor

from tabiya.data.scale import scale_value
from tabiya.errors import UserError
from tabiya.minds.nnue.network import OUTPUT

Method: TypeAlias = Literal["evaluations", "pqr", "triplet", "signed-triplet"]


@dataclass(frozen=True, kw_only=True)
class NnueLoss:
    """Which method, and its numbers."""

    method: Method = "evaluations"
    scale: str | float = "fitted"
    """Centipawns to win probability: a name of `tabiya.data.scale`, or its k in centipawns."""
    exponent: float = 2.5
    """Of the distance between the win probabilities."""
    result: float = 0.0
    """The game's part in the target, where its result is known; the rest is the teacher's."""
    balance: float = 1.0
    """PQR: the weight of f(P) = −f(Q)."""
    margin: float = 0.2
    """Triplets: by how much, in log-odds, the played move must lie nearer."""

    def __post_init__(self) -> None:
        scale_value(self.scale)
        if self.exponent < 1:
            raise UserError(f"exponent must be at least 1, got {self.exponent}")
        if not 0 <= self.result <= 1:
            raise UserError(f"result must lie between 0 and 1, got {self.result}")
        if self.balance < 0 or self.margin < 0:
            raise UserError("balance and margin must not be negative")

    @property
    def positions(self) -> int:
        """Positions of a sample: one, or P, Q and R."""
        return 1 if self.method == "evaluations" else 3


def log_odds(outputs: Tensor, settings: NnueLoss) -> Tensor:
    """Outputs as log-odds of winning."""
    return outputs * (OUTPUT / scale_value(settings.scale))


def losses(outputs: Tensor, value: Tensor, result: Tensor, settings: NnueLoss) -> Tensor:
    """The loss of each sample [N], from outputs [N] or, for triplets, [N, 3].

    `value` is the teacher's win probability for the side to move, not-a-number
    where there is none; `result` is 2, 1 or 0 for its win, draw or loss, −1 unknown.
    """
    odds = log_odds(outputs.float(), settings)
    if settings.method == "evaluations":
        return (torch.sigmoid(odds) - target(value, result, settings)).abs().pow(settings.exponent)
    before, played, other = odds.reshape(-1, 3).unbind(1)
    if settings.method == "pqr":
        same = before + played
        return F.softplus(played - other) + settings.balance * (F.softplus(same) + F.softplus(-same))
    near, far = (before + played).abs(), before + other
    if settings.method == "triplet":
        far = far.abs()
    return F.relu(near - far + settings.margin)


def target(value: Tensor, result: Tensor, settings: NnueLoss) -> Tensor:
    """The win probability to learn; where one of both is not known, the other alone."""
    scored = result.float() / 2
    share = torch.where(result < 0, 0.0, torch.where(value.isnan(), 1.0, settings.result))
    return share * scored + (1 - share) * value.nan_to_num(0.5)
