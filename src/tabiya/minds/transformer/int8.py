"""The transformer in eight bits: weights int8, what they multiply made int8 on the way, no calibration.

Nearly all of the work is products with constant matrices. Each of those gets
int8 weights with a scale per column, and the rows that meet them are rounded
by their own range when they come; attention itself, norms and embeddings stay
float. The heads may stay float too: both are made and the truer one is kept.
Needs the package onnx, not torch.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabiya.errors import UserError
from tabiya.learn.fidelity import policy_fidelity
from tabiya.learn.onnx_files import fold_constants, load_named, quiet, stored_as
from tabiya.learn.quantise import Attempt, keep_truest
from tabiya.minds.transformer.onnx_network import OnnxTransformer

KEEPS = ("nothing", "heads")
"""What stays float: no product with a constant, or those of the heads."""


def quantise(
    source: Path,
    target: Path,
    packed: NDArray[np.uint8],
    *,
    keep: str | None = None,
    tried: Callable[[Attempt], None] = lambda _attempt: None,
) -> dict[str, Any]:
    """Write `source` as dynamic INT8 to `target`; what was tried and kept comes back.

    `packed` are positions [N, 32] to compare on, `keep` one of `KEEPS` or None
    to try both; `tried` hears of each.
    """
    if len(packed) == 0:
        raise UserError("to choose what stays float some positions are needed, got none")
    network = OnnxTransformer(source)
    wanted = network.evaluate(packed, ["policy"])["policy"]
    attempts: list[tuple[Attempt, bytes]] = []
    with tempfile.TemporaryDirectory() as scratch:
        plain, file = Path(scratch) / "plain.onnx", Path(scratch) / "int8.onnx"
        fold_constants(source, plain)
        for name in KEEPS if keep is None else (keep,):
            content = stored_as(_quantised(plain, file, name == "heads"), source)
            file.write_bytes(content)
            found = OnnxTransformer(file).evaluate(packed, ["policy"])["policy"]
            agreement = policy_fidelity(packed, wanted, found, "uci", network.shape.view)
            attempt = Attempt(name, agreement.same_share, agreement.divergence, len(content))
            attempts.append((attempt, content))
            tried(attempt)
    return {"method": "dynamic", "compared_positions": len(packed), **keep_truest(target, attempts)}


def _quantised(plain: Path, scratch: Path, keep_heads: bool) -> Any:
    model = load_named(plain)
    from onnxruntime.quantization import QuantType, quantize_dynamic

    constants = {tensor.name for tensor in model.graph.initializer}
    products = [
        node.name
        for node in model.graph.node
        if node.op_type in ("MatMul", "Gemm") and node.input[1] in constants
    ]
    inner = [name for name in products if "/blocks." in name]
    with quiet():
        quantize_dynamic(
            model,
            str(scratch),
            op_types_to_quantize=["MatMul", "Gemm"],
            nodes_to_quantize=inner if keep_heads else products,
            per_channel=True,
            weight_type=QuantType.QInt8,
            extra_options={"MatMulConstBOnly": True},
        )
    return load_named(scratch)
