"""An ONNX file computed by torch, on a GPU: the very graph that plays, for thousands of games a minute.

ONNX Runtime plays on the processor of whoever plays. To compare two files by
thousands of games a GPU is needed, and the file itself should play there, with
the weights as they are stored, not the network it once was in torch. The graphs
of this project use some forty operators; they are spelt out here, and any other
is refused by name. What looks like ONNX Runtime's session is enough of one for
`OnnxNetwork` and `OnnxTransformer`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812 - torch's own custom
from numpy.typing import NDArray
from torch import Tensor

from tabiya.errors import UserError

_TYPES = {
    1: torch.float32,
    2: torch.uint8,
    3: torch.int8,
    6: torch.int32,
    7: torch.int64,
    9: torch.bool,
    10: torch.float16,
}
_NAMES = {1: "tensor(float)", 2: "tensor(uint8)"}


@dataclass(frozen=True)
class Port:
    """An input or an output, described as ONNX Runtime would."""

    name: str
    type: str
    shape: list[int | str]


@dataclass(frozen=True)
class Metadata:
    """What a file says of itself."""

    custom_metadata_map: dict[str, str]


@dataclass(frozen=True)
class Node:
    """An operator of a file, and the names of what it takes and gives."""

    name: str
    operator: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: dict[str, Any]


class TorchSession:
    """One file on one device; what does not depend on its inputs is computed once."""

    def __init__(self, path: Path, device: str | torch.device = "cuda") -> None:
        import onnx

        self._device = torch.device(device)
        if self._device.type == "cuda" and not torch.cuda.is_available():
            raise UserError("no CUDA device here: use --device cpu, or run it where there is a GPU")
        model = onnx.load(str(path))
        self._metadata = Metadata({each.key: each.value for each in model.metadata_props})
        graph = model.graph
        self._known: dict[str, Tensor] = {
            each.name: self._placed(onnx.numpy_helper.to_array(each)) for each in graph.initializer
        }
        self._inputs, self._outputs = _ports(graph.input), _ports(graph.output)
        self._nodes = [self._read(node) for node in graph.node]
        self._plans: dict[tuple[str, ...], list[tuple[Node, list[str]]]] = {}
        left = []
        with torch.inference_mode():
            for node in self._nodes:
                if node.operator != "Shape" and all(not name or name in self._known for name in node.inputs):
                    self._compute(node, self._known)
                else:
                    left.append(node)
        self._nodes = left

    @property
    def constants(self) -> dict[str, Tensor]:
        """Whatever does not depend on the inputs, by its name in the file."""
        return self._known

    @property
    def nodes(self) -> list[Node]:
        """What depends on the inputs, in the order in which it is computed."""
        return self._nodes

    def get_inputs(self) -> list[Port]:
        return self._inputs

    def get_outputs(self) -> list[Port]:
        return self._outputs

    def get_modelmeta(self) -> Metadata:
        return self._metadata

    @torch.inference_mode()
    def run(self, names: Sequence[str], feeds: dict[str, NDArray[Any]]) -> list[NDArray[Any]]:
        """The named outputs."""
        values = dict(self._known)
        values |= {name: torch.from_numpy(array).to(self._device) for name, array in feeds.items()}
        with torch.backends.cudnn.flags(enabled=True, benchmark=True, allow_tf32=False):
            for node, spent in self._plan(tuple(names)):
                self._compute(node, values)
                for name in spent:
                    del values[name]
        return [np.asarray(values[name].cpu().numpy()) for name in names]

    def _plan(self, names: tuple[str, ...]) -> list[tuple[Node, list[str]]]:
        """The nodes that these outputs hang on, in order; with each, what nobody wants after it."""
        if names not in self._plans:
            wanted = set(names)
            chosen: list[tuple[Node, list[str]]] = []
            for node in reversed(self._nodes):
                if wanted.intersection(node.outputs):
                    touched = {name for name in (*node.inputs, *node.outputs) if name}
                    chosen.append((node, sorted(touched - wanted - self._known.keys())))
                    wanted |= touched
            self._plans[names] = chosen[::-1]
        return self._plans[names]

    def _compute(self, node: Node, values: dict[str, Tensor]) -> None:
        operator = _OPERATORS.get(node.operator)
        if operator is None:
            raise UserError(f"the operator {node.operator} of this file cannot be computed by torch here")
        given = [values[name] if name else None for name in node.inputs]
        if node.operator in _TOGETHER:
            given = _side_by_side(given)
        results = operator(node.attributes, *given)
        if isinstance(results, Tensor):
            results = (results,)
        for name, result in zip(node.outputs, results, strict=True):
            values[name] = result

    def _read(self, node: Any) -> Node:
        import onnx

        attributes = {each.name: onnx.helper.get_attribute_value(each) for each in node.attribute}
        if node.op_type == "Constant":
            attributes["value"] = self._placed(onnx.numpy_helper.to_array(attributes["value"]))
        return Node(node.name, node.op_type, tuple(node.input), tuple(node.output), attributes)

    def _placed(self, array: NDArray[Any]) -> Tensor:
        """Numbers on the device; shapes and places, which are whole numbers, beside the processor."""
        tensor = torch.from_numpy(np.array(array))
        return tensor if tensor.dtype == torch.int64 else tensor.to(self._device)


def _ports(described: Any) -> list[Port]:
    ports = []
    for each in described:
        kind = each.type.tensor_type
        shape = [size.dim_param or size.dim_value for size in kind.shape.dim]
        ports.append(Port(each.name, _NAMES.get(kind.elem_type, str(kind.elem_type)), shape))
    return ports


def _side_by_side(given: list[Tensor | None]) -> list[Tensor | None]:
    """Operands on one device: whole numbers wait beside the processor, and may meet others on the device."""
    devices = {each.device for each in given if each is not None}
    if len(devices) < 2:
        return given
    device = next(each for each in devices if each.type != "cpu")
    return [each if each is None else each.to(device) for each in given]


def _list(tensor: Tensor) -> list[int]:
    return [int(number) for number in tensor.reshape(-1).tolist()]


def _conv(has: dict[str, Any], x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    pads = has.get("pads", [0, 0, 0, 0])
    if pads[:2] != pads[2:] or has.get("auto_pad", b"NOTSET") != b"NOTSET":
        raise UserError(f"a convolution with the margins {pads} cannot be computed by torch here")
    return F.conv2d(
        x,
        weight,
        bias,
        stride=tuple(has.get("strides", (1, 1))),
        padding=tuple(pads[:2]),
        dilation=tuple(has.get("dilations", (1, 1))),
        groups=has.get("group", 1),
    )


def _gemm(has: dict[str, Any], a: Tensor, b: Tensor, c: Tensor | None = None) -> Tensor:
    left, right = (a.T if has.get("transA") else a), (b.T if has.get("transB") else b)
    product: Tensor = has.get("alpha", 1.0) * (left @ right)
    return product if c is None else product + has.get("beta", 1.0) * c


def _gather(has: dict[str, Any], data: Tensor, places: Tensor) -> Tensor:
    axis = has.get("axis", 0) % data.ndim
    flat = places.to(data.device).reshape(-1)
    flat = torch.where(flat < 0, flat + data.shape[axis], flat)
    return data.index_select(axis, flat).reshape((*data.shape[:axis], *places.shape, *data.shape[axis + 1 :]))


def _slice(_has: dict[str, Any], x: Tensor, starts: Tensor, ends: Tensor, *more: Tensor) -> Tensor:
    axes = _list(more[0]) if more else list(range(len(_list(starts))))
    steps = _list(more[1]) if len(more) > 1 else [1] * len(axes)
    cut = [slice(None)] * x.ndim
    for axis, start, end, step in zip(axes, _list(starts), _list(ends), steps, strict=True):
        if step < 1:
            raise UserError("a slice that runs backwards cannot be computed by torch here")
        cut[axis] = slice(start, end, step)
    return x[tuple(cut)]


def _split(has: dict[str, Any], x: Tensor, sizes: Tensor) -> tuple[Tensor, ...]:
    return torch.split(x, _list(sizes), dim=has.get("axis", 0))


def _reshape(has: dict[str, Any], x: Tensor, shape: Tensor) -> Tensor:
    wanted = _list(shape)
    if not has.get("allowzero", 0):
        wanted = [x.shape[at] if size == 0 else size for at, size in enumerate(wanted)]
    return x.reshape(wanted)


def _unsqueeze(_has: dict[str, Any], x: Tensor, axes: Tensor) -> Tensor:
    rank = x.ndim + axes.numel()
    for axis in sorted(axis % rank for axis in _list(axes)):
        x = x.unsqueeze(axis)
    return x


def _squeeze(_has: dict[str, Any], x: Tensor, axes: Tensor) -> Tensor:
    return x.squeeze(tuple(_list(axes)))


def _sum(has: dict[str, Any], x: Tensor, axes: Tensor) -> Tensor:
    return x.sum(dim=tuple(_list(axes)), keepdim=bool(has.get("keepdims", 1)))


def _clip(_has: dict[str, Any], x: Tensor, least: Tensor | None = None, most: Tensor | None = None) -> Tensor:
    return x.clamp(least, most)


def _remainder(has: dict[str, Any], a: Tensor, b: Tensor) -> Tensor:
    return torch.fmod(a, b) if has.get("fmod", 0) else torch.remainder(a, b)


def _normalised(has: dict[str, Any], x: Tensor, scale: Tensor, shift: Tensor | None = None) -> Tensor:
    axis = has.get("axis", -1) % x.ndim
    return F.layer_norm(x, x.shape[axis:], scale, shift, has.get("epsilon", 1e-5))


def _expand(_has: dict[str, Any], x: Tensor, shape: Tensor) -> Tensor:
    return x * torch.ones(_list(shape), dtype=x.dtype, device=x.device)


def _constant(has: dict[str, Any], shape: Tensor) -> Tensor:
    import onnx

    value = torch.from_numpy(np.array(onnx.numpy_helper.to_array(has["value"]))) if "value" in has else None
    return torch.zeros(_list(shape)) if value is None else value.expand(_list(shape)).clone()


def _scatter(has: dict[str, Any], data: Tensor, places: Tensor, updates: Tensor) -> Tensor:
    reduction = has.get("reduction", b"none")
    if reduction not in (b"none", b"add"):
        raise UserError(f"scattering by {reduction.decode()} cannot be computed by torch here")
    axis = has.get("axis", 0)
    return (
        data.scatter_add(axis, places, updates)
        if reduction == b"add"
        else data.scatter(axis, places, updates)
    )


def _mean(has: dict[str, Any], x: Tensor) -> Tensor:
    return x.mean(dim=tuple(has["axes"]), keepdim=bool(has.get("keepdims", 1)))


def _flatten(has: dict[str, Any], x: Tensor) -> Tensor:
    axis = has.get("axis", 1)
    return x.reshape(int(np.prod(x.shape[:axis])), -1)


_OPERATORS: dict[str, Callable[..., Tensor | tuple[Tensor, ...]]] = {
    "Abs": lambda _, x: x.abs(),
    "Add": lambda _, a, b: a + b,
    "And": lambda _, a, b: a & b,
    "Cast": lambda has, x: x.to(_TYPES[has["to"]]),
    "Clip": _clip,
    "Concat": lambda has, *parts: torch.cat(parts, dim=has["axis"]),
    "Constant": lambda has: has["value"],
    "ConstantOfShape": _constant,
    "Conv": _conv,
    "Div": lambda _, a, b: a / b if a.is_floating_point() else a // b,
    "Equal": lambda _, a, b: a == b,
    "Erf": lambda _, x: x.erf(),
    "Expand": _expand,
    "Flatten": _flatten,
    "Gather": _gather,
    "Gemm": _gemm,
    "Greater": lambda _, a, b: a > b,
    "Identity": lambda _, x: x,
    "LayerNormalization": _normalised,
    "Log": lambda _, x: x.log(),
    "MatMul": lambda _, a, b: a @ b,
    "Mod": _remainder,
    "Mul": lambda _, a, b: a * b,
    "Not": lambda _, x: ~x,
    "Pow": lambda _, a, b: torch.pow(a, b),
    "ReduceMean": _mean,
    "ReduceSum": _sum,
    "Relu": lambda _, x: x.relu(),
    "Reshape": _reshape,
    "ScatterElements": _scatter,
    "Shape": lambda _, x: torch.tensor(x.shape, dtype=torch.int64),
    "Sigmoid": lambda _, x: x.sigmoid(),
    "Slice": _slice,
    "Softmax": lambda has, x: x.softmax(dim=has.get("axis", -1)),
    "Split": _split,
    "Squeeze": _squeeze,
    "Sub": lambda _, a, b: a - b,
    "Transpose": lambda has, x: x.permute(*has["perm"]),
    "Unsqueeze": _unsqueeze,
    "Where": lambda _, condition, a, b: torch.where(condition, a, b),
}
_TOGETHER = (
    *("Add", "And", "Clip", "Concat", "Div", "Equal", "Greater", "MatMul"),
    *("Mod", "Mul", "Pow", "ScatterElements", "Sub", "Where"),
)
"""What takes its operands from one place."""
