"""A tiny convolutional network with the inputs and outputs of a ResNet, made without torch."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

MakeNetwork = Callable[..., Path]


@pytest.fixture
def make_network(tmp_path: Path) -> MakeNetwork:
    """Writes `name`.onnx with weights of the seed; a broken one answers no number and loses its games."""
    onnx = pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")

    def write(name: str = "tiny", seed: int = 1, *, broken: bool = False, folder: Path = tmp_path) -> Path:
        helper, chance = onnx.helper, np.random.default_rng(seed)
        tensors = {
            "scale": np.where(np.arange(18) == 17, 100, 1).astype(np.float32).reshape(1, -1, 1, 1),
            "stem.w": chance.normal(0, 0.3, (16, 18, 3, 3)),
            "tower.w": chance.normal(0, 0.2, (16, 16, 3, 3)),
            "policy.w": chance.normal(0, 0.6, (73, 16, 1, 1)),
            "policy.b": np.full(73, np.nan) if broken else np.zeros(73),
            "q.w": chance.normal(0, 0.3, (73, 16, 1, 1)),
            "wdl.w": chance.normal(0, 0.1, (16 * 64, 3)),
            "bins.w": chance.normal(0, 0.1, (16 * 64, 8)),
        }
        around = {"pads": [1, 1, 1, 1]}
        nodes = [
            helper.make_node("Cast", ["planes"], ["real"], to=onnx.TensorProto.FLOAT),
            helper.make_node("Div", ["real", "scale"], ["scaled"]),
            helper.make_node("Conv", ["scaled", "stem.w"], ["stem"], "stem", **around),
            helper.make_node("Relu", ["stem"], ["stem.relu"]),
            helper.make_node("Conv", ["stem.relu", "tower.w"], ["tower"], "tower", **around),
            helper.make_node("Relu", ["tower"], ["features"]),
            helper.make_node("Conv", ["features", "policy.w", "policy.b"], ["policy.moves"], "policy"),
            helper.make_node("Conv", ["features", "q.w"], ["q.moves"], "q"),
            helper.make_node("Flatten", ["features"], ["row"]),
            helper.make_node("MatMul", ["row", "wdl.w"], ["wdl"]),
            helper.make_node("MatMul", ["row", "bins.w"], ["value_bins"]),
        ]
        for head in ("policy", "q"):
            nodes.append(
                helper.make_node("Transpose", [f"{head}.moves"], [f"{head}.turned"], perm=[0, 2, 3, 1])
            )
            nodes.append(helper.make_node("Flatten", [f"{head}.turned"], [head]))
        kinds = onnx.TensorProto
        graph = helper.make_graph(
            nodes,
            "tiny",
            [helper.make_tensor_value_info("planes", kinds.UINT8, ["batch", 18, 8, 8])],
            [
                helper.make_tensor_value_info(head, kinds.FLOAT, ["batch", width])
                for head, width in {"policy": 4672, "q": 4672, "wdl": 3, "value_bins": 8}.items()
            ],
            [onnx.numpy_helper.from_array(each.astype(np.float32), key) for key, each in tensors.items()],
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{name}.onnx"
        path.write_bytes(model.SerializeToString())
        return path

    return write
