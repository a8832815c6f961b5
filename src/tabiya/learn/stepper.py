"""One training step, on a CUDA device captured once and replayed.

A step of a small network is hundreds of short kernels; handing them over one
by one takes the processor longer than the device needs to run them. Captured
as a CUDA graph the whole step, from drawing rows to averaging weights, is one
call. The first steps run plainly (compilers and allocators settle), and
elsewhere all of them do.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

PLAIN_STEPS = 4
"""Steps run before the capture."""

Body = Callable[[list[Tensor]], dict[str, Tensor]]


class Stepper:
    """Runs `body` on inputs of fixed shapes; whatever else it reads must change in place only."""

    def __init__(self, body: Body, capture: bool) -> None:
        self._body, self._capture = body, capture
        self._plain_left = PLAIN_STEPS
        self._graph: torch.cuda.CUDAGraph | None = None
        self._inputs: list[Tensor] = []
        self._outputs: dict[str, Tensor] = {}

    def __call__(self, inputs: list[Tensor]) -> dict[str, Tensor]:
        """The body's figures; a later call may overwrite them."""
        if not self._capture:
            return self._body(inputs)
        if self._plain_left:
            self._plain_left -= 1
            return self._aside(inputs)
        if self._graph is None:
            self._record(inputs)
        for kept, given in zip(self._inputs, inputs, strict=True):
            kept.copy_(given)
        assert self._graph is not None
        self._graph.replay()
        return self._outputs

    def _aside(self, inputs: list[Tensor]) -> dict[str, Tensor]:
        """A plain step on a stream of its own, as the capture will be."""
        stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            outputs = self._body(inputs)
        torch.cuda.current_stream().wait_stream(stream)
        return outputs

    def _record(self, inputs: list[Tensor]) -> None:
        self._inputs = [given.clone() for given in inputs]
        torch.cuda.synchronize()
        self._graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self._graph):
            self._outputs = self._body(self._inputs)
