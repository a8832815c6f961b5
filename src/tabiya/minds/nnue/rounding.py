"""What rounding changed: a run's network in integers held against the same in floats, as a record.

The float weights are in a run's checkpoint alone; the file that plays has been
rounded. So this is measured where the run is, on the file that was made from
that checkpoint, and the record names the file by its checksum.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabiya import _core
from tabiya.arena.provenance import provenance
from tabiya.errors import UserError
from tabiya.files import checksum, replacing
from tabiya.learn.checkpoint import newest_checkpoint
from tabiya.minds.nnue.quantised import Errors, quantise, rounding_errors
from tabiya.minds.nnue.training import USUAL_ROWS, network_of

WITHIN, MEDIAN = 0.95, 5.0
"""What is asked of rounding: this share of errors within 50 units, and a median this close to zero."""


def measure(
    where: Path, packed: NDArray[np.uint8], file: Path | None = None, threads: int = 1
) -> dict[str, Any]:
    """The histogram of a checkpoint, or of a run's newest one, against the file beside it, or `file`."""
    checkpoint = newest_checkpoint(where) if where.is_dir() else where
    network = network_of(where if checkpoint is None else checkpoint)
    assert checkpoint is not None
    file = file or checkpoint.with_suffix(".nnue")
    try:
        integers = _core.QuantisedNetwork(file.read_bytes())
    except ValueError as error:
        raise UserError(f"{file} cannot be used: {error}") from None
    shape = network.shape
    mine = (network.features.expression, (shape.l1, shape.l2, shape.extra, shape.buckets))
    if mine != (integers.expression, integers.shape):
        raise UserError(f"{file} is of another shape than {checkpoint}: it was not made from it")
    errors = rounding_errors(network, integers, packed, threads=threads)
    return {
        "question": "How far is the integer network from the float one?",
        "checkpoint": checkpoint.name,
        "network": file.name,
        "sha256": checksum(file),
        "features": integers.expression,
        "shape": list(integers.shape),
        **errors.to_dict(),
        "verdict": verdict(errors),
        **provenance(),
    }


def write_anew(where: Path, file: Path, usual: NDArray[np.uint8]) -> None:
    """Round a checkpoint, or a run's newest one, once more, balanced on the first of these positions."""
    file.parent.mkdir(parents=True, exist_ok=True)
    quantise(network_of(where), file, usual[:USUAL_ROWS])


def verdict(errors: Errors) -> str:
    """Whether the errors are as small as they should be, in one sentence."""
    good = errors.within_50 >= WITHIN and abs(errors.median) <= MEDIAN
    return (
        f"{errors.within_50:.2%} of errors within 50 units, median {errors.median:+.2f}: "
        f"{'within' if good else 'beyond'} what is asked ({WITHIN:.0%}, ±{MEDIAN:g})"
    )


def as_text(record: dict[str, Any], width: int = 60) -> str:
    """The histogram for people, a line a bin."""
    most = max(record["counts"])
    lines = [f"{record['network']} against {record['checkpoint']} on {record['positions']:,} positions"]
    for low, high, count in zip(record["edges"], record["edges"][1:], record["counts"], strict=False):
        bar = "█" * round(width * count / most)
        lines.append(f"{low:>8.1f} to {high:>7.1f} {count:>7,} {bar}")
    lines.append(f"largest {record['largest']:.1f}; {record['verdict']}")
    return "\n".join(lines)


def draw(record: dict[str, Any], path: Path) -> None:
    """The histogram as a picture."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    edges = np.array(record["edges"])
    figure, panel = pyplot.subplots(figsize=(7, 4))
    panel.bar(edges[:-1], record["counts"], np.diff(edges), align="edge", color="#4c72b0")
    panel.axvline(record["median"], color="black", linewidth=0.8)
    panel.set_xlabel("integer evaluation less the float one, centipawns")
    panel.set_ylabel(f"of {record['positions']:,} positions")
    figure.tight_layout()
    with replacing(path) as temporary:
        figure.savefig(temporary, format=path.suffix.lstrip("."))
    pyplot.close(figure)
