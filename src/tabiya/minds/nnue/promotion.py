"""What a promotion or a manifest has to know of an NNUE: which file is meant, what it sees, how large it is.

All of it stands in the file and in the log of its run, so nothing here needs torch.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tabiya._core import FeatureSet, QuantisedNetwork
from tabiya.errors import UserError
from tabiya.learn.promotion import Shelf
from tabiya.learn.run_record import learned_by
from tabiya.minds.nnue import shelf


def shipped_shelf() -> Shelf:
    """Where the shipped network lies."""
    return Shelf("nnue", shelf.SHIPPED, ".nnue", network_inputs, network_parameters, learned_by)


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
