"""ONNX files on their way to eight bits: constants computed, nodes named, the tools kept quiet."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tabiya.errors import UserError
from tabiya.protocols.onnx_session import first_line


def fold_constants(source: Path, target: Path) -> None:
    """Write the same network with its constants computed: weights stored small are float32 again."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    options.optimized_model_filepath = str(target)
    options.log_severity_level = 4
    try:
        onnxruntime.InferenceSession(source.read_bytes(), options, providers=["CPUExecutionProvider"])
    except OSError as error:
        raise UserError(f"the network {source} cannot be read: {error.strerror}") from None
    except Exception as error:  # ONNX Runtime's errors have no common kind
        raise UserError(f"{source} is no ONNX network, or a damaged one: {first_line(error)}") from None


def load_named(path: Path) -> Any:
    """The model of a file, every node with a name: the quantiser tells them by it, and a file need not."""
    try:
        import onnx
    except ImportError:
        raise UserError(
            "to change a network the package onnx is needed: install it with `pip install 'tabiya[train]'`"
        ) from None
    model = onnx.load(str(path))
    for number, node in enumerate(model.graph.node):
        node.name = node.name or f"{node.op_type}-{number}"
    return model


def stored_as(model: Any, source: Path) -> bytes:
    """The bytes of a changed model: what is still float as float16, and what `source` says of itself.

    The tools on the way keep or drop a file's own words (a transformer's
    shape) as they please.
    """
    from tabiya.learn.half import store_half

    store_half(model)
    del model.metadata_props[:]
    model.metadata_props.extend(load_named(source).metadata_props)
    return bytes(model.SerializeToString())


@contextmanager
def quiet() -> Iterator[None]:
    """The quantiser gives its advice through the root logger; here it has been followed or weighed."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        yield
    finally:
        logging.disable(before)
