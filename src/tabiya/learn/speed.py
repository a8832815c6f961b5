"""How fast training steps run, timed alike for every mind."""

from __future__ import annotations

import time
from collections.abc import Callable

import torch
from torch.profiler import ProfilerActivity, profile

PROFILED = 3
"""Steps that are looked into."""
NAMED = 40
"""Operators that are named."""


def operators(step: Callable[[], None], device: torch.device) -> dict[str, object]:
    """What a step's time goes to, by operator or a GPU's kernel, and for what share of it any was at work."""
    times, took = profiled(step, PROFILED, device)
    return {
        "step_ms": round(took, 2),
        "at_work": round(sum(times.values()) / took, 3),
        "ms": {name: round(times[name], 3) for name in list(times)[:NAMED]},
    }


def profiled(step: Callable[[], None], steps: int, device: torch.device) -> tuple[dict[str, float], float]:
    """Milliseconds of a step in each operator, or a GPU's kernel, longest first; and of the step itself."""
    gpu = device.type == "cuda"
    _settle(device)
    with profile(activities=[ProfilerActivity.CUDA if gpu else ProfilerActivity.CPU]) as watched:
        began = time.perf_counter()
        for _ in range(steps):
            step()
        _settle(device)
        took = time.perf_counter() - began
    times = {
        row.key: (row.self_device_time_total if gpu else row.self_cpu_time_total) / steps / 1000
        for row in watched.key_averages()
    }
    return dict(sorted(times.items(), key=lambda each: -each[1])), took * 1000 / steps


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
