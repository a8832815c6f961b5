"""A network in eight bits: static quantisation, the layers that stay float chosen by measuring.

The weights of the convolutions become int8, one scale for each output
channel; what flows between them becomes uint8, by ranges that are seen on
calibration positions. The way around the convolutions (the residual stream
and squeeze-and-excitation) stays float. The first convolution and the heads
may stay float too: every choice is made, held against the float network on
positions that no range was seen on, and the truest is kept. What is still
float is stored as float16.

The operators are QLinearConv: with the same ranges they came out twice as
true (by divergence) as convolutions between pairs of QuantizeLinear and
DequantizeLinear. Processors without instructions for eight bits (VNNI) may
saturate their sums of products and answer worse than what was measured on one
that has them.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabiya.board.planes import encode
from tabiya.errors import UserError
from tabiya.files import replacing
from tabiya.learn.fidelity import policy_fidelity
from tabiya.learn.int8_storage import store_int8
from tabiya.learn.onnx_files import fold_constants, load_named, quiet, stored_as

KEEPS: dict[str, tuple[str, ...]] = {
    "nothing": (),
    "first": ("first",),
    "heads": ("heads",),
    "first+heads": ("first", "heads"),
}
"""What may stay float: the first convolution, those that feed not every output, both or neither."""

FEWEST = 64
"""Calibration positions without which no range is worth anything."""

_BATCH = 32
_HELD_OUT = 4  # every fourth position measures, the others calibrate


@dataclass(frozen=True)
class Attempt:
    """One choice of what stays float, and how true it is on the positions held out."""

    kept_float: str
    same_move_share: float
    policy_divergence: float
    bytes: int


def quantise(
    source: Path,
    target: Path,
    packed: NDArray[np.uint8],
    planes: int,
    *,
    keep: str | None = None,
    tried: Callable[[Attempt], None] = lambda _attempt: None,
) -> dict[str, Any]:
    """Write `source` as static INT8 to `target`; what was tried and kept comes back.

    `packed` are calibration positions [N, 32], `keep` one of `KEEPS` or None
    to try them all; `tried` hears of each.
    """
    if len(packed) < FEWEST:
        raise UserError(f"calibration needs at least {FEWEST} positions, got {len(packed)}")
    held_out = np.arange(len(packed)) % _HELD_OUT == 0
    seen, unseen = packed[~held_out], packed[held_out]
    with tempfile.TemporaryDirectory() as scratch:
        plain = Path(scratch) / "plain.onnx"
        fold_constants(source, plain)
        groups = convolutions(load_named(plain))
        if not any(groups.values()):
            raise UserError(f"{source} has no convolution to quantise")
        wanted = _policy(plain, unseen, planes)
        attempts: list[tuple[Attempt, bytes]] = []
        for name in [keep] if keep is not None else KEEPS:
            excluded = [node for group in KEEPS[name] for node in groups[group]]
            if len(excluded) == sum(map(len, groups.values())):
                continue
            model = _quantised(plain, Path(scratch) / "int8.onnx", seen, planes, excluded)
            content = stored_as(model, source)
            agreement = policy_fidelity(unseen, wanted, _policy(content, unseen, planes))
            attempt = Attempt(name, agreement.same_share, agreement.divergence, len(content))
            attempts.append((attempt, content))
            tried(attempt)
    if not attempts:
        raise UserError(f"nothing of {source} is left to quantise if {keep} stays float")
    return {
        "method": "static",
        "calibration_positions": len(seen),
        "held_out_positions": len(unseen),
        **keep_truest(target, attempts),
    }


def keep_truest(target: Path, attempts: Sequence[tuple[Attempt, bytes]]) -> dict[str, Any]:
    """Write the attempt whose policy diverges least to `target`; which that is, and all of them."""
    best, content = min(attempts, key=lambda pair: pair[0].policy_divergence)
    with replacing(target) as temporary:
        temporary.write_bytes(content)
    return {"kept_float": best.kept_float, "tried": [asdict(attempt) for attempt, _ in attempts]}


def store_weights(source: Path, target: Path) -> dict[str, Any]:
    """Write `source` with its weights as int8 and its arithmetic unchanged; how many weights that were."""
    with tempfile.TemporaryDirectory() as scratch:
        plain = Path(scratch) / "plain.onnx"
        fold_constants(source, plain)
        model = load_named(plain)
    stored = store_int8(model)
    if not stored:
        raise UserError(f"{source} has no weight large enough to store as int8")
    with replacing(target) as temporary:
        temporary.write_bytes(stored_as(model, source))
    return {"method": "weights", "weights_int8": stored}


def convolutions(model: Any) -> dict[str, list[str]]:
    """The names of the convolutions: the `first`, those of the `heads`, and the `tower`.

    A head's convolution is one that some output does not depend on.
    """
    users: dict[str, list[Any]] = {}
    for node in model.graph.node:
        for name in node.input:
            users.setdefault(name, []).append(node)
    outputs = {output.name for output in model.graph.output}
    # Later nodes first: by then what each node's users lead to is known.
    leads: dict[str, frozenset[str]] = {}
    for node in reversed(model.graph.node):
        reached = {name for name in node.output if name in outputs}
        for name in node.output:
            for user in users.get(name, ()):
                reached |= leads[user.output[0]]
        leads[node.output[0]] = frozenset(reached)
    groups: dict[str, list[str]] = {"first": [], "heads": [], "tower": []}
    for node in model.graph.node:
        if node.op_type != "Conv":
            continue
        head = leads[node.output[0]] != outputs
        first = not head and not any(groups.values())
        groups["heads" if head else "first" if first else "tower"].append(node.name)
    return groups


def _quantised(
    plain: Path, scratch: Path, packed: NDArray[np.uint8], planes: int, excluded: Sequence[str]
) -> Any:
    from onnxruntime.quantization import CalibrationMethod, QuantFormat, QuantType, quantize_static

    with quiet():
        quantize_static(
            load_named(plain),
            str(scratch),
            _Calibration(packed, planes),
            quant_format=QuantFormat.QOperator,
            op_types_to_quantize=["Conv"],
            per_channel=True,
            activation_type=QuantType.QUInt8,
            weight_type=QuantType.QInt8,
            nodes_to_exclude=list(excluded),
            calibrate_method=CalibrationMethod.MinMax,
        )
    return load_named(scratch)


class _Calibration:
    """Batches of planes, as ONNX Runtime's calibration draws them."""

    def __init__(self, packed: NDArray[np.uint8], planes: int) -> None:
        self._batches = iter(
            [encode(packed[start : start + _BATCH], planes) for start in range(0, len(packed), _BATCH)]
        )

    def get_next(self) -> dict[str, NDArray[np.uint8]] | None:
        batch = next(self._batches, None)
        return None if batch is None else {"planes": batch}


def _policy(network: Path | bytes, packed: NDArray[np.uint8], planes: int) -> NDArray[np.float32]:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    content = network if isinstance(network, bytes) else network.read_bytes()
    session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    parts = [
        session.run(["policy"], {"planes": encode(packed[start : start + 256], planes)})[0]
        for start in range(0, len(packed), 256)
    ]
    return np.concatenate(parts)
