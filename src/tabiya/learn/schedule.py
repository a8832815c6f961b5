"""What changes with the step: the learning rate, and the averaged copy of the weights.

Both depend on nothing but the step and what they are handed, so a run that
was stopped and resumed follows the same curve as one that was not.

    >>> [round(learning_rate(step, steps=8, peak=1.0, warmup_steps=2), 2) for step in range(9)]
    [0.33, 0.67, 1.0, 0.93, 0.75, 0.5, 0.25, 0.07, 0.0]
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Literal, NamedTuple, TypeAlias

import torch

from tabiya.errors import UserError

Kind: TypeAlias = Literal["cosine", "linear", "constant"]

UPDATES = "updates"
"""The name under which an average's number of updates stands among its tensors."""


def learning_rate(
    step: int,
    *,
    steps: int,
    peak: float,
    warmup_steps: int = 0,
    final_fraction: float = 0.0,
    kind: Kind = "cosine",
    cooldown: float = 0.2,
) -> float:
    """The rate for step number `step` of 0 … `steps` - 1, between 0 and `peak`.

    It rises in a line, never from zero, to reach `peak` at `warmup_steps`
    (counted inside `steps`), then falls to `final_fraction * peak` at `steps`,
    where it stays. "constant" keeps the peak and falls in a line over the last
    `cooldown` share of the steps.
    """
    if not 0 <= warmup_steps < steps:
        raise UserError(
            f"warmup_steps must be at least 0 and less than the {steps} steps of the run, not {warmup_steps}"
        )
    if step < warmup_steps:
        return peak * (step + 1) / (warmup_steps + 1)
    start = warmup_steps
    if kind == "constant":
        start = max(start, steps - round(cooldown * steps))
    # Without a cool-down `start` is `steps`: the fall is then left out altogether.
    done = 0.0 if start >= steps else min(max((step - start) / (steps - start), 0.0), 1.0)
    if kind == "cosine":
        done = (1.0 - math.cos(math.pi * done)) / 2.0
    return peak * (1.0 - (1.0 - final_fraction) * done)


def plain_name(name: str) -> str:
    """A tensor's name as the model had it before `torch.compile` wrapped any part of it."""
    return name.replace("_orig_mod.", "")


def named_state(model: torch.nn.Module) -> dict[str, torch.Tensor]:
    """The parameters and buffers that make up a model, by plain name; writing to them changes it."""
    return {plain_name(name): tensor for name, tensor in model.state_dict().items()}


def check_fit(given: Mapping[str, torch.Tensor], wanted: Mapping[str, torch.Tensor], what: str) -> None:
    """`UserError` unless both have the same names, shapes and types: nothing is loaded in part."""
    problems = {
        "lacks": sorted(wanted.keys() - given.keys()),
        "has an unknown": sorted(given.keys() - wanted.keys()),
        "has another shape or type of": [
            name
            for name in sorted(wanted.keys() & given.keys())
            if (given[name].shape, given[name].dtype) != (wanted[name].shape, wanted[name].dtype)
        ],
    }
    for problem, names in problems.items():
        if names:
            others = f" and {len(names) - 1} more" if len(names) > 1 else ""
            raise UserError(f"{what} does not fit this network: it {problem} '{names[0]}'{others}")


class _Pairs(NamedTuple):
    """The average's tensors beside those they follow."""

    average: list[torch.Tensor]
    current: list[torch.Tensor]
    counters: list[tuple[torch.Tensor, torch.Tensor]]


class Ema:
    """An exponential moving average of a model's parameters and buffers.

    The decay warms up as min(decay, (1 + t) / (10 + t)), t being the updates so
    far, so that the average forgets its start soon: after t updates it spans some
    t / 9 of them at most, and a decay of 0.9995 is reached after 18,000. What is
    not floating point (counters) is copied.
    """

    def __init__(self, model: torch.nn.Module, decay: float = 0.999) -> None:
        if not 0.0 <= decay < 1.0:
            raise UserError(f"the average's decay must be at least 0 and less than 1, not {decay}")
        self.decay = decay
        self.updates = 0
        self._average = {name: tensor.detach().clone() for name, tensor in named_state(model).items()}
        if UPDATES in self._average:
            raise ValueError(f"a model's tensor may not be called '{UPDATES}'")
        device = next(iter(self._average.values())).device if self._average else torch.device("cpu")
        self._weight = torch.zeros((), device=device)
        self._followed: tuple[torch.nn.Module, _Pairs] | None = None

    def update(self, model: torch.nn.Module) -> None:
        """Take one more step of the model into the average."""
        self.advance()
        self.absorb(model)

    def advance(self) -> None:
        """Count one more update and set its weight; what is left, `absorb`, a CUDA graph can hold."""
        self._weight.fill_(1.0 - min(self.decay, (1 + self.updates) / (10 + self.updates)))
        self.updates += 1

    def absorb(self, model: torch.nn.Module) -> None:
        """Move the average towards the model by the weight that `advance` has set."""
        if self._followed is None or self._followed[0] is not model:
            # Looking up every tensor by name takes longer than adding it, so it is done once.
            self._followed = (model, self._pairs(named_state(model)))
        pairs = self._followed[1]
        with torch.no_grad():
            ahead = torch._foreach_sub(pairs.current, pairs.average)
            torch._foreach_mul_(ahead, self._weight)
            torch._foreach_add_(pairs.average, ahead)
            for average, current in pairs.counters:
                average.copy_(current)

    def _pairs(self, current: Mapping[str, torch.Tensor]) -> _Pairs:
        smooth = [name for name, average in self._average.items() if average.is_floating_point()]
        rest = [name for name in self._average if name not in set(smooth)]
        return _Pairs(
            [self._average[name] for name in smooth],
            [current[name] for name in smooth],
            [(self._average[name], current[name]) for name in rest],
        )

    def copy_to(self, model: torch.nn.Module) -> None:
        """Write the average into a model of the same shape."""
        target = named_state(model)
        check_fit(self._average, target, "the average")
        with torch.no_grad():
            for name, tensor in target.items():
                tensor.copy_(self._average[name])

    def state(self) -> dict[str, torch.Tensor]:
        """The average by name, and under "updates" how many steps it has seen."""
        return {**self._average, UPDATES: torch.tensor(self.updates, dtype=torch.int64)}

    def load(self, state: Mapping[str, torch.Tensor]) -> None:
        """Continue from what `state` gave."""
        check_fit(state, self.state(), "the checkpoint's average")
        with torch.no_grad():
            for name, tensor in self._average.items():
                tensor.copy_(state[name])
        self.updates = int(state[UPDATES])
