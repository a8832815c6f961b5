"""Tiny networks with the shape of the real ones, made without torch."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

BINS = 16
Build = Callable[..., Path]


def certain(index: int, width: int, height: float = 20.0) -> np.ndarray:
    """Logits that are sure of one of `width` answers."""
    logits = np.zeros(width, np.float32)
    logits[index] = height
    return logits


@pytest.fixture
def build(tmp_path: Path) -> Build:
    """Writes a network: fixed random weights (none with `weight=0`) and the biases given per head."""
    onnx = pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")

    def write(
        name: str = "tiny.onnx",
        *,
        planes: int = 18,
        weight: float = 1.0,
        bins: int = BINS,
        moves: int = 4672,
        kind: str = "UINT8",
        leave_out: str = "",
        folder: Path = tmp_path,
        **biases: Any,
    ) -> Path:
        helper, types = onnx.helper, onnx.TensorProto
        chance = np.random.default_rng(7)
        tensors = {
            "scale": np.where(np.arange(planes) == 17, 0.01, 1).astype(np.float32).reshape(1, -1, 1, 1),
            "flat": np.array([-1, planes * 64], np.int64),
            "trunk": chance.normal(0, 0.3, (planes * 64, 8)).astype(np.float32),
        }
        nodes = [
            helper.make_node("Cast", ["planes"], ["real"], to=types.FLOAT),
            helper.make_node("Mul", ["real", "scale"], ["scaled"]),
            helper.make_node("Reshape", ["scaled", "flat"], ["row"]),
            helper.make_node("MatMul", ["row", "trunk"], ["before"]),
            helper.make_node("Tanh", ["before"], ["hidden"]),
        ]
        outputs = []
        for head, width in {"policy": moves, "q": moves, "wdl": 3, "value_bins": bins}.items():
            tensors[f"{head}.weight"] = (weight * chance.normal(0, 1, (8, width))).astype(np.float32)
            bias = biases.get(head, np.zeros(width))
            tensors[f"{head}.bias"] = np.asarray(bias, np.float32).reshape(1, width)
            nodes.append(helper.make_node("MatMul", ["hidden", f"{head}.weight"], [f"{head}.product"]))
            nodes.append(helper.make_node("Add", [f"{head}.product", f"{head}.bias"], [head]))
            if head != leave_out:
                outputs.append(helper.make_tensor_value_info(head, types.FLOAT, ["batch", width]))
        graph = helper.make_graph(
            nodes,
            "tiny",
            [helper.make_tensor_value_info("planes", getattr(types, kind), ["batch", planes, 8, 8])],
            outputs,
            [onnx.numpy_helper.from_array(array, key) for key, array in tensors.items()],
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        path = folder / name
        path.write_bytes(model.SerializeToString())
        return path

    return write
