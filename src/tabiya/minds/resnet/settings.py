"""The settings of the ResNet player: those of every player without search, and the weight of Q."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tabiya.searchless.settings import DRAWING, JUDGING, Allowed, Choice, Real, SearchlessSettings


@dataclass(frozen=True, kw_only=True)
class Settings(SearchlessSettings):
    """How the player turns what the network says into a move."""

    MIND = "resnet"
    ALLOWED: ClassVar[Allowed] = {
        "mode": Choice("policy", "q", "mix", "second", "value"),
        **DRAWING,
        "mix": Real(0.0, 1.0),
        "repetition": Choice("any", "weigh", "third", "allow"),
        **JUDGING,
        "value": Choice("all", "bins", "wdl"),
    }

    mode: str = "policy"
    """What is trusted: policy, q or a mix of both (one forward pass), second (the policy and the values of
    what its three likeliest moves lead to), or value (one pass per successor)."""

    mix: float = 0.5
    """In mode mix: the weight of q against the policy, in [0, 1]."""

    repetition: str = "any"
    """Which repetitions a better side refuses: any, any but weighed with q, only the third, or none."""

    value: str = "all"
    """The head that the expected score comes from; all: the bins and, in mode value, every other that has
    something to say of a successor."""
