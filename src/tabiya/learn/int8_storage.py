"""Weights of an ONNX model stored in eight bits, computed with in thirty-two.

Each large weight of a convolution or a matrix product becomes an int8
initialiser behind a Cast and a Mul by one scale for every output channel. The
file is a quarter as large; ONNX Runtime folds both when it opens the file, so
nothing is faster and nothing is slower, and only the weights are rounded:
activations keep all their bits on every machine. Whatever consists of small whole
numbers (masks, counts) is stored as they are, and exact.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabiya.learn.half import SMALLEST

LARGEST = 127


def store_int8(model: Any) -> int:
    """Change an `onnx.ModelProto` in place; how many weights are now int8.

    A weight with a number that is not finite is left alone, and so is whatever feeds
    another operator than a convolution or a matrix product, unless all of it are small whole numbers.
    """
    import onnx
    from onnx import numpy_helper

    graph = model.graph
    _straighten(graph)
    channels = _output_channels(graph)
    kept, restored, stored = [], [], 0
    for tensor in graph.initializer:
        axis = channels.get(tensor.name)
        wide = numpy_helper.to_array(tensor) if tensor.data_type == onnx.TensorProto.FLOAT else None
        if wide is None or wide.size < SMALLEST or not np.isfinite(wide).all():
            kept.append(tensor)
            continue
        names = [f"{tensor.name}.{part}" for part in ("int8", "scale", "float")]
        if _are_whole(wide):
            kept.append(numpy_helper.from_array(wide.astype(np.int8), names[0]))
            restored.append(_cast(names[0], tensor.name))
        elif axis is not None:
            small, scale = rounded(wide, axis)
            kept += [numpy_helper.from_array(small, names[0]), numpy_helper.from_array(scale, names[1])]
            restored.append(_cast(names[0], names[2]))
            restored.append(onnx.helper.make_node("Mul", [names[2], names[1]], [tensor.name]))
        else:
            kept.append(tensor)
            continue
        stored += wide.size
    nodes = list(graph.node)
    del graph.initializer[:], graph.node[:]
    graph.initializer.extend(kept)
    graph.node.extend([*restored, *nodes])  # nodes stand in the order in which they can be computed
    return stored


def _straighten(graph: Any) -> None:
    """Let weights be used by their own names alone, and large constants stand among them.

    The exporter keeps one of several equal weights and calls it by all their names.
    """
    from onnx import numpy_helper

    weights, called, left = {each.name for each in graph.initializer}, dict[str, str](), []
    for node in graph.node:
        if node.op_type == "Identity" and node.input[0] in weights:
            called[node.output[0]] = node.input[0]
        elif node.op_type == "Constant" and _is_large(node):
            constant = numpy_helper.to_array(node.attribute[0].t)
            graph.initializer.append(numpy_helper.from_array(constant, node.output[0]))
        else:
            left.append(node)
    for node in left:
        for place, name in enumerate(node.input):
            node.input[place] = called.get(name, name)
    del graph.node[:]
    graph.node.extend(left)


def _is_large(constant: Any) -> bool:
    """Whether a constant has as many numbers as a weight that is stored in fewer bits."""
    return len(constant.attribute) == 1 and int(np.prod(constant.attribute[0].t.dims)) >= SMALLEST


def rounded(wide: NDArray[np.float32], axis: int) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """int8 numbers and the scales, one for each index of `axis`, that give `wide` back but for rounding.

    >>> small, scale = rounded(np.array([[1.0, -2.0], [0.0, 0.0]], np.float32), 0)
    >>> small.tolist(), scale.shape
    ([[64, -127], [0, 0]], (2, 1))
    """
    others = tuple(each for each in range(wide.ndim) if each != axis)
    scale = np.abs(wide).max(axis=others, keepdims=True) / LARGEST
    scale = np.where(scale == 0, 1, scale).astype(np.float32)
    small = np.clip(np.rint(wide / scale), -LARGEST, LARGEST).astype(np.int8)
    return small, scale


def _cast(small: str, wide: str) -> Any:
    import onnx

    return onnx.helper.make_node("Cast", [small], [wide], to=onnx.TensorProto.FLOAT)


def _are_whole(wide: NDArray[np.float32]) -> bool:
    """Whether eight bits hold every number as it is."""
    return bool((np.abs(wide).max() <= LARGEST) and (wide == np.rint(wide)).all())


def _output_channels(graph: Any) -> dict[str, int]:
    """The axis of the output channels of every weight; a tensor with two uses that differ has none."""
    found: dict[str, int | None] = {}
    for node in graph.node:
        for place, name in enumerate(node.input):
            axis: int | None = None
            if place == 1 and node.op_type == "Conv":
                axis = 0
            elif place == 1 and node.op_type == "Gemm":
                turned = any(each.name == "transB" and each.i for each in node.attribute)
                axis = 0 if turned else 1
            elif place == 1 and node.op_type == "MatMul":
                axis = 1
            found[name] = axis if found.get(name, axis) == axis else None
    return {name: axis for name, axis in found.items() if axis is not None}
