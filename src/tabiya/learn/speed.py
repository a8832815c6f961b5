"""How fast training steps run, timed alike for every mind."""

from __future__ import annotations

import time
from collections.abc import Callable

import torch


def positions_per_second(step: Callable[[], None], steps: int, positions: int, device: torch.device) -> float:
    """The rate of so many steps of so many positions each; the device's work counts to its end."""
    _settle(device)
    began = time.perf_counter()
    for _ in range(steps):
        step()
    _settle(device)
    return steps * positions / (time.perf_counter() - began)


def _settle(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize()
