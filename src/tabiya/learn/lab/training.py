"""Networks trained one after the other in one process, as many as the minutes allow."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import torch

from tabiya.arena.provenance import provenance
from tabiya.data.shards import data_checksum
from tabiya.errors import UserError

Say: TypeAlias = Callable[[str], None]


def refuse_missing_device(device: str) -> None:
    """Before the first trace of an experiment, so that a mistake in its config can still be mended."""
    if device == "cuda" and not torch.cuda.is_available():
        raise UserError('no CUDA device here: set device = "cpu", or train where there is a GPU')


def train_in_turn(
    names: Sequence[str], train_one: Callable[[str, float | None], bool], minutes: float | None = None
) -> list[str]:
    """Train each of these; `train_one` is told the minutes left and says whether it came to its end.

    What comes back are the names still missing when the minutes are over.
    """
    missing, began = list(names), time.monotonic()
    while missing:
        left = None if minutes is None else minutes - (time.monotonic() - began) / 60
        if left is not None and left <= 0:
            break
        try:
            if not train_one(missing[0], left):
                break
        finally:
            clear_device()
        missing.pop(0)
    return missing


def run_facts(
    positions: Mapping[str, int],
    steps: int,
    seen: int,
    log: Sequence[Mapping[str, Any]],
    device: torch.device,
    sums: Mapping[str, str],
) -> dict[str, Any]:
    """What a network of an experiment was trained on, as its manifest says it."""
    return {
        "positions": dict(positions),
        "seen": seen,
        "steps": steps,
        "seconds": log[-1]["seconds"] if log else 0.0,
        "device": torch.cuda.get_device_name() if device.type == "cuda" else "cpu",
        "sha256": dict(sums),
        **provenance(),
    }


def clear_device() -> None:
    """Give back what a finished run held, compiled code included.

    The compiler gives up on a function after a few versions of it, and each
    network is one: without this the later ones would run uncompiled.
    """
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
    torch.compiler.reset()


def checksums(wanted: Iterable[tuple[str, str, bool]]) -> dict[str, str]:
    """Of every file and every folder of games that is learned from, by its path.

    Each entry is the setting that asks for it, its paths separated by ':', and whether they are folders.
    """
    sums = {}
    for setting, paths, is_folder in wanted:
        for path in map(Path, paths.split(":")):
            file = path / "manifest.json" if is_folder else path
            if not file.is_file():
                raise UserError(f"no file {file}, which {setting} asks for")
            sums[str(path)] = data_checksum(path)
    return sums
