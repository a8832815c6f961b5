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
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from tabiya._core import legal_indices
from tabiya.errors import UserError
from tabiya.minds.transformer.onnx_inputs import INPUTS, METADATA, Inputs, first_inputs, plain_cuts
from tabiya.minds.transformer.shape import MOVES, RIGHTS, SLOTS, TransformerShape, Wire
from tabiya.player import PlayerError, PlayerFailure
from tabiya.protocols.onnx_session import first_line, open_session

BATCH = 64
"""The most positions in one forward pass; more of them are no faster on a CPU and cost memory."""
LARGE_BATCH = 512
"""The same where something other than a CPU computes."""
_BY_POSITION = ("tokens", "probability", "again", "rows", "attention")


class OnnxTransformer:
    """One ONNX file, checked for the inputs and outputs that a transformer must have."""

    def __init__(self, path: Path, threads: int = 2, session: Any = None, batch: int = BATCH) -> None:
        """`session` computes the file instead of ONNX Runtime, `batch` positions at most in one pass."""
        self.path, self.batch = path, batch
        self.session = session or open_session("transformer", path, threads)
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
        for start in range(0, count, self.batch):
            batch = {
                name: value[start : start + self.batch] if name in _BY_POSITION and len(value) > 1 else value
                for name, value in every.items()
                if name in self._wanted
            }
            parts.append(self._run(batch, heads, min(self.batch, count - start)))
        if not parts:
            raise ValueError("no positions to evaluate")
        return {head: np.concatenate([part[each] for part in parts]) for each, head in enumerate(heads)}

    def legal_indices(self, packed: NDArray[np.uint8]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """Where the policy has the legal moves of positions, in the order of their UCI strings."""
        return legal_indices(packed, "uci", self.shape.view)

    def inputs(self) -> dict[str, Any]:
        """What it is shown, for its manifest."""
        return {"shape": dataclasses.asdict(self.shape)}

    def computed_by(self, session: Any) -> Self:
        """The same file with this session in the place of ONNX Runtime's."""
        return type(self)(self.path, session=session, batch=LARGE_BATCH)

    def _run(self, batch: Inputs, heads: Sequence[str], count: int) -> list[NDArray[np.float32]]:
        try:
            outputs = self.session.run(list(heads), batch)
        except Exception as error:  # ONNX Runtime's errors have no common kind
            raise PlayerFailure(f"{self.path.name} could not be evaluated: {first_line(error)}") from error
        for head, output in zip(heads, outputs, strict=True):
            if len(output) != count:
                raise PlayerFailure(
                    f"{self.path.name} answered {count} positions with {len(output)} rows of {head}"
                )
            if not np.isfinite(output).all():
                raise PlayerFailure(f"{self.path.name} answered with a {head} that is not a number")
        return list(outputs)


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
        raise PlayerError(f"{path} was made by another version of tabiya: {first_line(error)}") from None
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
