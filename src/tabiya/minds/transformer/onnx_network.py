"""A transformer opened in ONNX Runtime: positions and masks in, the heads' raw outputs out.

Nothing here needs torch. Every position the network ever sees passes through
`OnnxTransformer.run`, which is what makes passes countable, and no call leaves
a trace: masks are inputs, never changes to the network.
"""

from __future__ import annotations

import dataclasses
import json
import typing
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabiya.errors import UserError
from tabiya.minds.transformer.onnx_inputs import INPUTS, METADATA, Inputs, first_inputs, plain_cuts
from tabiya.minds.transformer.shape import MOVES, RIGHTS, SLOTS, TransformerShape, Wire
from tabiya.player import PlayerError, PlayerFailure

BATCH = 64
"""The most positions in one forward pass; more of them are no faster on a CPU and cost memory."""
_BY_POSITION = ("tokens", "probability", "again", "rows", "attention")


class OnnxTransformer:
    """One ONNX file, checked for the inputs and outputs that a transformer must have."""

    def __init__(self, path: Path, threads: int = 2) -> None:
        self.path = path
        self.session = _open_session(path, threads)
        self.shape = _read_shape(self.session, path)
        self._wanted = {each.name for each in self.session.get_inputs()}
        self.heads = [each.name for each in self.session.get_outputs()]
        _check(self.session, self.shape, path)
        self._plain = plain_cuts(self.shape)

    def evaluate(
        self, packed: NDArray[np.uint8], heads: Sequence[str], cuts: Inputs | None = None
    ) -> dict[str, NDArray[np.float32]]:
        """The named heads' outputs of first passes over packed positions [N, 32], in order.

        `cuts` are inputs of the file that differ from `plain_cuts`, their
        first axis 1 or N; with one position N is theirs.
        """
        return self.run(first_inputs(packed, self.shape.flipped) | (cuts or {}), heads)

    def run(self, inputs: Inputs, heads: Sequence[str]) -> dict[str, NDArray[np.float32]]:
        """The same for inputs that are made already; what is missing changes nothing."""
        every = self._plain | inputs
        count = max(len(every[name]) for name in _BY_POSITION)
        parts = []
        for start in range(0, count, BATCH):
            batch = {
                name: value[start : start + BATCH] if name in _BY_POSITION and len(value) > 1 else value
                for name, value in every.items()
                if name in self._wanted
            }
            parts.append(self._run(batch, heads, min(BATCH, count - start)))
        if not parts:
            raise ValueError("no positions to evaluate")
        return {head: np.concatenate([part[each] for part in parts]) for each, head in enumerate(heads)}

    def _run(self, batch: Inputs, heads: Sequence[str], count: int) -> list[NDArray[np.float32]]:
        try:
            outputs = self.session.run(list(heads), batch)
        except Exception as error:  # ONNX Runtime's errors have no common kind
            raise PlayerFailure(f"{self.path.name} could not be evaluated: {_first_line(error)}") from error
        for head, output in zip(heads, outputs, strict=True):
            if len(output) != count:
                raise PlayerFailure(
                    f"{self.path.name} answered {count} positions with {len(output)} rows of {head}"
                )
            if not np.isfinite(output).all():
                raise PlayerFailure(f"{self.path.name} answered with a {head} that is not a number")
        return list(outputs)


def expected_score(value_bins: NDArray[np.float32]) -> NDArray[np.float64]:
    """Win probabilities in [0, 1] of logits [N, K] over K equal bins: the mean of the bins' centres."""
    bins = value_bins.shape[-1]
    return np.asarray(softmax(value_bins) @ ((np.arange(bins) + 0.5) / bins))


def softmax(logits: NDArray[Any]) -> NDArray[np.float64]:
    """Probabilities along the last axis."""
    wide = np.asarray(logits, np.float64)
    raised = np.exp(wide - wide.max(axis=-1, keepdims=True))
    return np.asarray(raised / raised.sum(axis=-1, keepdims=True))


def _open_session(path: Path, threads: int) -> Any:
    try:
        import onnxruntime
    except ImportError:
        raise PlayerError(
            "transformer plays with ONNX Runtime, which is not installed: run `pip install onnxruntime`"
        ) from None
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 4  # what goes wrong is raised, and said once
    # Its threads wait busily while a pass runs, and not after it, when the opponent thinks.
    options.add_session_config_entry("session.force_spinning_stop", "1")
    try:
        # The bytes, not the path: a file that is replaced later cannot change a network in use.
        model = path.read_bytes()
        return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    except OSError as error:
        raise PlayerError(f"the network {path} cannot be read: {error.strerror}") from None
    except Exception as error:  # ONNX Runtime's errors have no common kind
        raise PlayerError(f"{path} is no ONNX network, or a damaged one: {_first_line(error)}") from None


def _read_shape(session: Any, path: Path) -> TransformerShape:
    """The shape that the file says it has; `learn.config` would read it too, but belongs to training."""
    text = session.get_modelmeta().custom_metadata_map.get(METADATA)
    if text is None:
        raise PlayerError(f"{path} is no transformer of tabiya: it does not say what its tokens mean")
    try:
        values = json.loads(text)
        values["feedback"] = tuple(Wire(**wire) for wire in values.get("feedback", ()))
        known = {field.name for field in dataclasses.fields(TransformerShape)}
        if unknown := set(values) - known:
            raise ValueError(f"it knows {', '.join(sorted(unknown))}")
        shape = TransformerShape(**values)
    except (ValueError, TypeError, AttributeError, UserError) as error:
        raise PlayerError(f"{path} was made by another version of tabiya: {_first_line(error)}") from None
    for name, hint in typing.get_type_hints(TransformerShape).items():
        choices = typing.get_args(hint) if typing.get_origin(hint) is typing.Literal else ()
        if choices and getattr(shape, name) not in choices:
            raise PlayerError(f"{path} was made by another version of tabiya: its {name} is not known here")
    return shape


def _check(session: Any, shape: TransformerShape, path: Path) -> None:
    inputs = {each.name: each.shape for each in session.get_inputs()}
    if unknown := set(inputs) - set(INPUTS):
        raise PlayerError(f"{path} wants an input {sorted(unknown)[0]!r} that no transformer has")
    outputs = {each.name: each.shape for each in session.get_outputs()}
    wanted = {"policy": MOVES, "wdl": 3, "value_bins": shape.value_bins}
    wanted |= {"rights": RIGHTS} if shape.rights_head else {}
    wanted |= {"refined": SLOTS} if shape.refinement else {}
    for head, width in wanted.items():
        if head not in outputs:
            raise PlayerError(f"{path} has no output {head!r}; it has {', '.join(outputs)}")
        found = outputs[head]
        if len(found) != 2 or (isinstance(found[1], int) and found[1] != width):
            raise PlayerError(f"the output {head!r} of {path} must be [any, {width}], but is {found}")


def _first_line(error: Exception) -> str:
    text = str(error).strip()
    return text.splitlines()[0] if text else type(error).__name__
