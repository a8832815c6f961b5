"""The transformer in eight bits: weights int8, what they multiply made int8 on the way, no calibration.

Nearly all of the work is products with constant matrices. Each of those gets
int8 weights with a scale per column, and the rows that meet them are rounded
by their own range when they come; attention itself, norms and embeddings stay
float. The heads may stay float too: both are made and the truer one is kept.
Needs the package onnx, not torch.
"""

from __future__ import annotations

import logging
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabiya._core import legal_indices
from tabiya.board.choice import log_softmax
from tabiya.errors import UserError
from tabiya.files import replacing
from tabiya.learn.half import store_half
from tabiya.minds.transformer.onnx_network import OnnxTransformer

KEEPS = ("nothing", "heads")
"""What stays float: no product with a constant, or those of the heads."""
LATENCY_POSITIONS = 20


def quantise(
    source: Path, target: Path, packed: NDArray[np.uint8], keep: str | None = None
) -> dict[str, Any]:
    """Write `source` as INT8 to `target`; what was tried, on `packed` positions [N, 32], and kept."""
    if len(packed) == 0:
        raise UserError("to choose what stays float some positions are needed, got none")
    network = OnnxTransformer(source)
    wanted = network.evaluate(packed, ["policy"])["policy"]
    tried: list[tuple[dict[str, Any], bytes]] = []
    with tempfile.TemporaryDirectory() as scratch:
        plain = _folded(source, Path(scratch) / "plain.onnx")
        for name in KEEPS if keep is None else (keep,):
            file = Path(scratch) / "int8.onnx"
            file.write_bytes(_quantised(source, plain, file, name == "heads"))
            found = OnnxTransformer(file).evaluate(packed, ["policy"])["policy"]
            figures = fidelity(packed, wanted, found, network.shape.view)
            content = file.read_bytes()
            tried.append(({"kept_float": name, **figures, "bytes": len(content)}, content))
    best, content = min(tried, key=lambda pair: float(pair[0]["policy_divergence"]))
    with replacing(target) as temporary:
        temporary.write_bytes(content)
    attempts = [attempt for attempt, _ in tried]
    return {"method": "dynamic", "kept_float": best["kept_float"], "tried": attempts}


def check(first: Path, other: Path, packed: NDArray[np.uint8], threads: int = 2) -> dict[str, Any]:
    """How true `other` is to `first`, and how long one pass of each takes, in turns."""
    networks = [OnnxTransformer(path, threads) for path in (first, other)]
    policies = [network.evaluate(packed, ["policy"])["policy"] for network in networks]
    times: list[list[float]] = [[], []]
    for row in range(min(LATENCY_POSITIONS, len(packed))):
        for network, found in zip(networks, times, strict=True):
            began = time.perf_counter()
            network.evaluate(packed[row : row + 1], ["policy", "wdl"])
            found.append(1000 * (time.perf_counter() - began))
    return {
        **fidelity(packed, policies[0], policies[1], networks[0].shape.view),
        "bytes": [path.stat().st_size for path in (first, other)],
        "ms": [float(np.median(found)) for found in times],
    }


def fidelity(
    packed: NDArray[np.uint8], first: NDArray[np.float32], other: NDArray[np.float32], view: Any
) -> dict[str, Any]:
    """What became of a policy, over the legal moves: the same likeliest move, and the divergence in nats."""
    offsets, indices = legal_indices(packed, "uci", view)
    same, divergence, positions = 0, 0.0, 0
    for row in range(len(packed)):
        legal = indices[offsets[row] : offsets[row + 1]]
        if len(legal) == 0:
            continue
        ours, theirs = log_softmax(first[row, legal]), log_softmax(other[row, legal])
        positions += 1
        same += int(ours.argmax() == theirs.argmax())
        divergence += float((np.exp(ours) * (ours - theirs)).sum())
    count = max(positions, 1)
    return {
        "positions": positions,
        "same_move_share": same / count,
        "policy_divergence": divergence / count,
    }


def _folded(source: Path, target: Path) -> Path:
    """The same network with its constants computed: weights stored small are float32 again."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    options.optimized_model_filepath = str(target)
    options.log_severity_level = 4
    onnxruntime.InferenceSession(source.read_bytes(), options, providers=["CPUExecutionProvider"])
    return target


def _quantised(source: Path, plain: Path, scratch: Path, keep_heads: bool) -> bytes:
    try:
        import onnx
        from onnxruntime.quantization import QuantType, quantize_dynamic
    except ImportError:
        raise UserError(
            "to change a network the package onnx is needed: install it with `pip install 'tabiya[train]'`"
        ) from None
    model = onnx.load(str(plain))
    constants = {tensor.name for tensor in model.graph.initializer}
    products = []
    for number, node in enumerate(model.graph.node):
        # The quantiser tells nodes by their names, and a file need not have any.
        node.name = node.name or f"{node.op_type}-{number}"
        if node.op_type in ("MatMul", "Gemm") and node.input[1] in constants:
            products.append(node.name)
    inner = [name for name in products if "/blocks." in name]
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)  # advice that has been weighed
    try:
        quantize_dynamic(
            model,
            str(scratch),
            op_types_to_quantize=["MatMul", "Gemm"],
            nodes_to_quantize=inner if keep_heads else products,
            per_channel=True,
            weight_type=QuantType.QInt8,
            extra_options={"MatMulConstBOnly": True},
        )
    finally:
        logging.disable(before)
    made = onnx.load(str(scratch))
    store_half(made)
    # The shape must travel with the network, whatever the tools on the way keep.
    del made.metadata_props[:]
    made.metadata_props.extend(onnx.load(str(source)).metadata_props)
    return bytes(made.SerializeToString())
