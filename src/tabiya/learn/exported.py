"""What is written of a network when it has become a file: its manifest, and the figures of the export."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tabiya.learn.run_record import trained_on
from tabiya.learn.sidecar import write_sidecar

POSITIONS = 1000
"""Random positions on which the file of a checkpoint must answer as torch does."""


def learned_until(checkpoint: Path, metadata: dict[str, Any]) -> dict[str, Any]:
    """Steps, and what the run's folder says it learned from."""
    steps = {"steps": metadata["step"]} if "step" in metadata else {}
    return steps | trained_on(checkpoint.parent)


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
