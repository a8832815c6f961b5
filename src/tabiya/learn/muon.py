"""Muon: steps whose matrices are made orthogonal, for everything that multiplies; AdamW for the rest.

The momentum of a weight matrix is replaced by the nearest orthogonal matrix,
found by a few Newton-Schulz iterations, so that every direction of the matrix
learns at the same pace. A convolution counts as the matrix [out, in · kernel].
Steps are scaled to the size that AdamW's would have, so both kinds share one
learning rate. Everything is arithmetic on the device: a CUDA graph can hold it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor

COEFFICIENTS = (3.4445, -4.7750, 2.0315)
"""Of the quintic whose repetition drives singular values to about 1, chosen by its authors for speed."""
ITERATIONS = 5
MATCH = 0.2
"""The root mean square of AdamW's steps, as a share of the learning rate."""


class Muon(torch.optim.Optimizer):
    """One optimizer for two kinds of parameters: groups with `matrices=True` are made orthogonal."""

    def __init__(
        self,
        groups: Iterable[dict[str, Any]],
        lr: float | Tensor,
        momentum: float = 0.95,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
    ) -> None:
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "betas": betas,
            "eps": eps,
            "weight_decay": 0.0,
            "matrices": False,
        }
        super().__init__(list(groups), defaults)

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> float | None:  # type: ignore[override]
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            parameters = [p for p in group["params"] if p.grad is not None]
            if not parameters:
                continue
            torch._foreach_mul_(parameters, 1 - group["lr"] * group["weight_decay"])
            if group["matrices"]:
                self._orthogonal_step(parameters, group)
            else:
                self._adam_step(parameters, group)
        return loss

    def _orthogonal_step(self, parameters: list[Tensor], group: dict[str, Any]) -> None:
        momenta = [self._memory(p, "momentum") for p in parameters]
        grads = _grads(parameters)
        torch._foreach_lerp_(momenta, grads, 1 - group["momentum"])
        # Nesterov: the step looks where the momentum will be after it.
        ahead = torch._foreach_lerp(grads, momenta, group["momentum"])
        by_shape: dict[tuple[int, int], list[int]] = defaultdict(list)
        for number, p in enumerate(parameters):
            by_shape[(p.shape[0], p[0].numel())].append(number)
        for shape, numbers in by_shape.items():
            stacked = torch.stack([ahead[number].reshape(shape) for number in numbers])
            steps = orthogonal(stacked) * (MATCH * max(shape) ** 0.5)
            for number, step in zip(numbers, steps, strict=True):
                parameter = parameters[number]
                parameter.sub_(step.reshape(parameter.shape).to(parameter.dtype) * group["lr"])

    def _adam_step(self, parameters: list[Tensor], group: dict[str, Any]) -> None:
        first = [self._memory(p, "exp_avg") for p in parameters]
        second = [self._memory(p, "exp_avg_sq") for p in parameters]
        counts = [self._count(p) for p in parameters]
        grads = _grads(parameters)
        beta1, beta2 = group["betas"]
        torch._foreach_add_(counts, 1)
        torch._foreach_lerp_(first, grads, 1 - beta1)
        torch._foreach_mul_(second, beta2)
        torch._foreach_addcmul_(second, grads, grads, 1 - beta2)
        roots = torch._foreach_sqrt(second)
        # Both averages start at nothing; what they lack is the same for all, who have stepped together.
        torch._foreach_div_(roots, (1 - beta2 ** counts[0]) ** 0.5)
        torch._foreach_add_(roots, group["eps"])
        steps = torch._foreach_div(first, roots)
        torch._foreach_mul_(steps, group["lr"] / (1 - beta1 ** counts[0]))
        torch._foreach_sub_(parameters, steps)

    def _memory(self, parameter: Tensor, name: str) -> Tensor:
        state = self.state[parameter]
        if name not in state:
            state[name] = torch.zeros_like(parameter)
        memory: Tensor = state[name]
        return memory

    def _count(self, parameter: Tensor) -> Tensor:
        state = self.state[parameter]
        if "step" not in state:
            state["step"] = torch.zeros((), device=parameter.device)
        count: Tensor = state["step"]
        return count


def _grads(parameters: list[Tensor]) -> list[Tensor]:
    return [p.grad for p in parameters if p.grad is not None]


def orthogonal(matrices: Tensor) -> Tensor:
    """[N, A, B]: matrices with the same singular vectors whose singular values are all near 1."""
    a, b, c = COEFFICIENTS
    tall = matrices.shape[1] > matrices.shape[2]
    x = matrices.bfloat16() if matrices.is_cuda else matrices.float()
    x = x.mT if tall else x
    x = x / (x.norm(dim=(1, 2), keepdim=True) + 1e-7)
    for _ in range(ITERATIONS):
        gram = x @ x.mT
        x = a * x + (b * gram + c * gram @ gram) @ x
    made: Tensor = x.mT if tall else x
    return made
