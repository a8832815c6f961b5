"""How long games last, and which distribution says so best: log-normal, Poisson or normal.

Only games of more than `SHORTEST` moves count for the fit: shorter ones are
mostly those of ill-adapted players.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

SHORTEST = 15


def fits(moves: NDArray[np.int64]) -> dict[str, Any]:
    """The three fits, each with its parameters and its greatest distance from the games' own distribution."""
    kept = moves[moves > SHORTEST]
    if len(kept) < 10:
        return {"games": len(kept), "best": None}
    logs = np.log(kept)
    found: dict[str, dict[str, float]] = {
        "log-normal": {"M": float(logs.mean()), "S": float(max(logs.std(), 1e-9))},
        "normal": {"mean": float(kept.mean()), "deviation": float(max(kept.std(), 1e-9))},
        "poisson": {"mean": float(kept.mean())},
    }
    counts = np.bincount(kept)
    own = np.cumsum(counts) / len(kept)
    lengths = np.arange(len(counts))
    for name, parameters in found.items():
        model = np.cumsum(density(name, parameters, lengths))
        parameters["distance"] = float(np.abs(own - model).max())
    best = min(found, key=lambda name: found[name]["distance"])
    return {"games": len(kept), "best": best, **found}


def density(name: str, parameters: dict[str, float], lengths: NDArray[np.int64]) -> NDArray[np.float64]:
    """The probability of each length; a continuous distribution is taken from half before to half after."""
    if name == "poisson":
        mean = parameters["mean"]
        logs = [n * math.log(mean) - mean - math.lgamma(n + 1) for n in lengths.tolist()]
        return np.asarray(np.exp(logs))
    edges = np.append(lengths, lengths[-1] + 1) - 0.5
    if name == "normal":
        standard = (edges - parameters["mean"]) / parameters["deviation"]
    else:
        with np.errstate(divide="ignore"):
            standard = (np.log(np.maximum(edges, 0.0)) - parameters["M"]) / parameters["S"]
    below = np.asarray([0.5 * math.erfc(-x / math.sqrt(2)) for x in standard.tolist()])
    return np.diff(below)
