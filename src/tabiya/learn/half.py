"""Weights of an ONNX model stored in sixteen bits, computed with in thirty-two.

Each large weight becomes a float16 initialiser behind a Cast to float32. The
file is half as large; ONNX Runtime folds the casts when it opens the file, so
a CPU, which has no fast float16, loses nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np

SMALLEST = 512
"""Tensors with fewer numbers (biases, scales) stay as they are: they weigh nothing and round badly."""


def store_half(model: Any) -> int:
    """Change an `onnx.ModelProto` in place; how many weights are now float16.

    A tensor with a number that float16 cannot hold (beyond ±65504) is left alone.
    """
    import onnx
    from onnx import numpy_helper

    graph = model.graph
    kept, casts, stored = [], [], 0
    for tensor in graph.initializer:
        wide = numpy_helper.to_array(tensor) if tensor.data_type == onnx.TensorProto.FLOAT else None
        if wide is None or wide.size < SMALLEST or not np.abs(wide).max() <= np.finfo(np.float16).max:
            kept.append(tensor)
            continue
        small = f"{tensor.name}.half"
        kept.append(numpy_helper.from_array(wide.astype(np.float16), small))
        casts.append(onnx.helper.make_node("Cast", [small], [tensor.name], to=onnx.TensorProto.FLOAT))
        stored += wide.size
    nodes = list(graph.node)
    del graph.initializer[:], graph.node[:]
    graph.initializer.extend(kept)
    graph.node.extend([*casts, *nodes])  # nodes stand in the order in which they can be computed
    return stored
