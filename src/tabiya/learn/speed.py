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
    gpu = device.type == "cuda"
    kinds = [ProfilerActivity.CUDA if gpu else ProfilerActivity.CPU]
    _settle(device)
    with profile(activities=kinds) as watched:
        began = time.perf_counter()
        for _ in range(PROFILED):
            step()
        _settle(device)
        took = (time.perf_counter() - began) * 1e6
    times = {
        row.key: row.self_device_time_total if gpu else row.self_cpu_time_total
        for row in watched.key_averages()
    }
    total = sum(times.values())
    most = sorted(times, key=lambda name: times[name], reverse=True)[:NAMED]
    return {
        "step_ms": round(took / PROFILED / 1000, 2),
        "at_work": round(total / took, 3),
        "ms": {name: round(times[name] / PROFILED / 1000, 3) for name in most},
    }


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
