"""When a network has become a file: whether it says what torch says, its manifest, the export's figures."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tabiya.errors import UserError
from tabiya.learn.run_record import learned_before, trained_on
from tabiya.learn.sidecar import write_sidecar

POSITIONS = 1000
"""Random positions on which the file of a checkpoint must answer as torch does."""


Answers: TypeAlias = tuple[Sequence[NDArray[Any]], Sequence[NDArray[Any]]]
"""What torch and the file say of one batch, output by output."""


def largest_differences(
    outputs: Sequence[str], batches: Iterable[Answers], tolerance: float
) -> dict[str, float]:
    """The largest difference of each output between torch and a file that was made of it.

    One beyond the tolerance, a share of the largest number that torch gives, is refused.
    """
    differences, largest = dict.fromkeys(outputs, 0.0), dict.fromkeys(outputs, 1.0)
    for ours, theirs in batches:
        for name, left, right in zip(outputs, ours, theirs, strict=True):
            if left.shape != right.shape:
                raise UserError(f"the exported {name} has shape {right.shape}, torch's has {left.shape}")
            # Kept as a number even if it is none: then no comparison lets it pass.
            differences[name] = float(np.maximum(differences[name], np.abs(left - right).max()))
            largest[name] = float(np.maximum(largest[name], np.abs(left).max()))
    for name in outputs:
        if not differences[name] <= tolerance * largest[name]:
            raise UserError(
                f"the exported {name} differs from torch's by {differences[name]:.3g}, "
                f"{tolerance * largest[name]:.3g} was allowed: nothing was written"
            )
    return differences


def learned_until(checkpoint: Path, metadata: dict[str, Any]) -> dict[str, Any]:
    """Steps, and what the run's folder says it learned from."""
    steps = {"steps": metadata["step"]} if "step" in metadata else {}
    return steps | trained_on(checkpoint.parent) | learned_before(checkpoint.parent)


def describe_exported(
    path: Path,
    *,
    kind: str,
    inputs: dict[str, Any],
    parameters: int,
    config: dict[str, Any],
    learned: dict[str, Any],
    positions: int,
    differences: dict[str, float],
) -> dict[str, Any]:
    """Write the manifest of a new file; its size and its differences from torch come back."""
    rounded = {head: float(f"{difference:.3g}") for head, difference in differences.items()}
    write_sidecar(
        path,
        kind=kind,
        inputs=inputs,
        parameters=parameters,
        config=json.loads(json.dumps(config)),
        trained_on=learned,
        measured={"difference_from_torch": {"positions": positions, **rounded}},
    )
    return {
        "out": str(path),
        "bytes": path.stat().st_size,
        "parameters": parameters,
        "positions": positions,
        "difference_from_torch": rounded,
    }
