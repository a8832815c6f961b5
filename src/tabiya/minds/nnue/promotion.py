"""What a promotion or a manifest has to know of an NNUE: which file is meant, what it sees, how large it is.

All of it stands in the file and in the log of its run, so nothing here needs torch.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tabiya._core import FeatureSet, QuantisedNetwork
from tabiya.errors import UserError
from tabiya.learn.promotion import Shelf
from tabiya.learn.run_record import read_log
from tabiya.minds.nnue import shelf


def shipped_shelf() -> Shelf:
    """Where the shipped network lies."""
    return Shelf("nnue", shelf.SHIPPED, ".nnue", network_inputs, network_parameters, _learned)


def candidate_path(where: Path) -> Path:
    """The network that is to be promoted: a file, or the newest one of a run's folder."""
    path = shelf.network_path(str(where))
    assert path is not None
    return path


def network_inputs(network: Path) -> dict[str, Any]:
    """Features and sizes of a file; one that is damaged or of another kind is refused."""
    integers = _integers(network)
    l1, l2, extra, buckets = integers.shape
    return {
        "features": integers.expression,
        "shape": {"l1": l1, "l2": l2, "extra": extra, "buckets": buckets},
    }


def network_parameters(network: Path) -> int:
    """How many numbers the network has learned."""
    integers = _integers(network)
    l1, l2, extra, buckets = integers.shape
    behind = 2 * l1 * l2 + l2 + (l2 * extra + extra if extra else 0) + (extra or l2) + 1
    return FeatureSet(integers.expression).size * l1 + l1 + buckets * behind


def _integers(network: Path) -> QuantisedNetwork:
    try:
        return QuantisedNetwork(network.read_bytes())
    except ValueError as error:
        raise UserError(f"{network} cannot be used: {error}") from None


def _learned(network: Path) -> dict[str, Any]:
    """Steps, positions shown, device minutes and held-out losses, from the log and the config of its run."""
    folder = network.parent
    number = network.stem.removeprefix("step-")
    if not number.isdigit():
        return {}
    step = int(number)
    lines = [line for line in read_log(folder) if line["step"] <= step]
    if not lines:
        return {}
    figures: dict[str, Any] = {"steps": step, "device_minutes": round(lines[-1]["seconds"] / 60, 2)}
    figures |= {key: value for key, value in lines[-1].items() if key.startswith("validation_")}
    try:
        batch = json.loads((folder / "config.json").read_text(encoding="utf-8"))["batch"]
    except (OSError, ValueError, KeyError, TypeError):
        return figures
    return {**figures, "positions_seen": step * batch}
