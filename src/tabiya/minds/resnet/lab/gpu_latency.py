"""How long one pass takes on a GPU, where the shipped player never runs: torch's own time at batch 1.

From a position's planes in memory to logits in memory, the way to the device and back
included, as the time on a CPU is taken. The network has the shape that the
manifest gives and weights of no meaning: no time depends on their values.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tabiya._core import random_positions
from tabiya.arena.provenance import provenance
from tabiya.board.planes import encode
from tabiya.errors import UserError
from tabiya.learn.config import config_from_dict
from tabiya.learn.sidecar import read_sidecar
from tabiya.learn.stepper import Stepper
from tabiya.minds.resnet.network import ResNet, ResNetShape, parameter_count

WARM_UP = 20
HEADS = ("policy", "q", "wdl", "value_bins")
Answer = Callable[[Tensor], Sequence[Tensor]]


def measure_gpu(network: Path, device: str = "cuda", passes: int = 500, seed: int = 0) -> dict[str, Any]:
    """The figures of gpu.json: milliseconds of a pass, plain and, on a GPU, replayed from a captured graph.

    `median_ms` and `p95_ms` are those of the better of the two.
    """
    if device == "cuda" and not torch.cuda.is_available():
        raise UserError("there is no GPU here: torch sees none")
    manifest = read_sidecar(network)
    shape = config_from_dict(manifest["config"].get("shape", {}), ResNetShape, f"the manifest of {network}")
    gpu = device == "cuda"
    tower = ResNet(shape).to(device).to(memory_format=torch.channels_last).eval()
    if gpu:
        tower = tower.half()
    packed = random_positions(passes, seed)
    rows = [encode(row[None], shape.planes) for row in packed]
    times = {"plain": _timed(tower, rows, device)}
    if gpu:
        step = Stepper(lambda inputs: dict(zip(HEADS, tower(inputs[0]), strict=True)), capture=True)
        times["captured"] = _timed(lambda planes: list(step([planes]).values()), rows, device)
    figures = {
        how: {
            "median_ms": round(statistics.median(each), 4),
            "p95_ms": round(float(np.percentile(each, 95)), 4),
        }
        for how, each in times.items()
    }
    best = min(figures, key=lambda how: figures[how]["median_ms"])
    return {
        "kind": "gpu-latency",
        "device": torch.cuda.get_device_name() if gpu else "cpu",
        "batch": 1,
        "passes": passes,
        "precision": "float16" if gpu else "float32",
        "parameters": parameter_count(tower),
        "sha256": manifest["sha256"],
        "name": manifest["name"],
        "how": best,
        **figures[best],
        "ways": figures,
        **provenance(),
    }


@torch.inference_mode()
def _timed(answer: Answer, rows: Sequence[NDArray[np.uint8]], device: str) -> list[float]:
    kind = torch.float16 if device == "cuda" else torch.float32
    times = []
    for number in range(-WARM_UP, len(rows)):
        row = rows[number % len(rows)]
        began = perf_counter()
        inputs = torch.from_numpy(row).to(device).to(kind)
        # Copying to the CPU waits for the device, so the clock stops when the answer is there.
        for output in answer(inputs.contiguous(memory_format=torch.channels_last)):
            output.cpu()
        if number >= 0:
            times.append(1000 * (perf_counter() - began))
    return times
