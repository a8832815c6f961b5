"""A network opened in ONNX Runtime: packed positions in, the heads' raw outputs out.

Nothing here knows chess beyond what its inputs and outputs stand for, and nothing
here needs torch. Every position the network ever sees passes through
`OnnxNetwork.evaluate`, which is what makes evaluations countable.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from tabiya._core import legal_indices, space_size
from tabiya.board.planes import PLANE_COUNTS, encode
from tabiya.player import PlayerError, PlayerFailure
from tabiya.protocols.onnx_session import first_line, open_session

BATCH = 1024
"""The most positions in one forward pass; more of them are no faster on a CPU and cost memory."""

MOVES = space_size("planes")
HEADS = {"policy": MOVES, "q": MOVES, "wdl": 3, "value_bins": None}
"""Every output's name and width; any number of value bins will do."""


class OnnxNetwork:
    """One ONNX file, checked for the inputs and outputs that a ResNet must have."""

    def __init__(self, path: Path, threads: int = 2, session: Any = None) -> None:
        """`session`: what computes the file, if not ONNX Runtime."""
        self.path = path
        self.session = open_session("resnet", path, threads) if session is None else session
        self.planes = _checked_planes(self.session, path)
        self.heads = list(HEADS)

    def evaluate(self, packed: NDArray[np.uint8], heads: Sequence[str]) -> dict[str, NDArray[np.float32]]:
        """The named heads' outputs for packed positions [N, 32], N of each, in order."""
        parts = [self._run(packed[at : at + BATCH], heads) for at in range(0, len(packed), BATCH)]
        return {head: np.concatenate([part[each] for part in parts]) for each, head in enumerate(heads)}

    def legal_indices(self, packed: NDArray[np.uint8]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """Where policy and Q have the legal moves of positions, in the order of their UCI strings."""
        return legal_indices(packed, "planes", "mover")

    def inputs(self) -> dict[str, Any]:
        """What it is shown, for its manifest."""
        return {"planes": self.planes}

    def computed_by(self, session: Any) -> Self:
        """The same file with this session in the place of ONNX Runtime's."""
        return type(self)(self.path, session=session)

    def _run(self, packed: NDArray[np.uint8], heads: Sequence[str]) -> list[NDArray[np.float32]]:
        try:
            outputs = self.session.run(list(heads), {"planes": encode(packed, self.planes)})
        except Exception as error:  # ONNX Runtime's errors have no common kind
            raise PlayerFailure(f"{self.path.name} could not be evaluated: {first_line(error)}") from error
        for head, output in zip(heads, outputs, strict=True):
            if len(output) != len(packed):
                raise PlayerFailure(
                    f"{self.path.name} answered {len(packed)} positions with {len(output)} rows of {head}"
                )
            if not np.isfinite(output).all():
                raise PlayerFailure(f"{self.path.name} answered with a {head} that is not a number")
        return list(outputs)


def _checked_planes(session: Any, path: Path) -> int:
    """How many planes the network reads; whatever else it wants or lacks is refused."""
    inputs = {each.name: each for each in session.get_inputs()}
    if set(inputs) != {"planes"} or inputs["planes"].type != "tensor(uint8)":
        found = ", ".join(f"{each.name} {each.type}" for each in inputs.values())
        raise PlayerError(f"{path} must have one input, planes of tensor(uint8), but has {found}")
    shape = inputs["planes"].shape
    if len(shape) != 4 or shape[1] not in PLANE_COUNTS or shape[2:] != [8, 8] or isinstance(shape[0], int):
        counts = " or ".join(map(str, PLANE_COUNTS))
        raise PlayerError(f"{path} must read planes of shape [any, {counts}, 8, 8], but reads {shape}")
    outputs = {each.name: each for each in session.get_outputs()}
    for head, width in HEADS.items():
        if head not in outputs:
            raise PlayerError(f"{path} has no output {head!r}; it has {', '.join(outputs)}")
        shape, kind = outputs[head].shape, outputs[head].type
        right = len(shape) == 2 and isinstance(shape[1], int) and shape[1] == (width or shape[1])
        if not right or kind != "tensor(float)":
            wanted = f"[any, {width or 'bins'}] of tensor(float)"
            raise PlayerError(f"the output {head!r} of {path} must be {wanted}, but is {shape} of {kind}")
    return int(inputs["planes"].shape[1])
