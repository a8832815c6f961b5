"""A torch network to an ONNX file that plays without torch, checked before it is kept.

The exported graph reads raw uint8 planes and divides the halfmove clock's
plane itself, so whoever plays from the file cannot scale it wrongly. A file
appears only after ONNX Runtime has answered random positions with it as torch
does.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tabiya._core import random_positions
from tabiya.board.planes import CLOCK_PLANE, CLOCK_SCALE, encode
from tabiya.files import replacing
from tabiya.learn.exported import Answers, largest_differences
from tabiya.learn.half import store_half

if TYPE_CHECKING:
    import torch

OUTPUTS = ("policy", "q", "wdl", "value_bins")
OPSET = 17

TOLERANCE = {False: 1e-3, True: 3e-2}
"""The largest difference from torch that is let pass, by `half`, as a share of the largest output."""

_BATCH = 64


def export_onnx(
    network: torch.nn.Module, planes: int, path: str | Path, *, half: bool = False, positions: int = 128
) -> dict[str, float]:
    """Write `network` to `path`; the largest difference from torch of each output comes back.

    `network` takes float planes [B, planes, 8, 8] and gives `OUTPUTS` in
    that order; it is left as it was, on its device and in its mode. `half`
    stores the weights as float16. `positions` random positions are compared.
    """
    import onnx
    import torch

    path = Path(path)
    # What torch.compile wraps cannot be traced; the network inside can.
    twin = copy.deepcopy(getattr(network, "_orig_mod", network)).to("cpu", torch.float32).eval()
    twin.register_forward_pre_hook(_scaling(planes))
    inputs = encode(random_positions(positions, seed=1), planes)
    with replacing(path) as temporary:
        example = torch.from_numpy(inputs[:2])
        with warnings.catch_warnings(), torch.no_grad():
            # The tracing exporter is called old by torch, and needs no package beyond it.
            warnings.simplefilter("ignore")
            torch.onnx.export(
                twin,
                (example,),
                str(temporary),
                input_names=["planes"],
                output_names=list(OUTPUTS),
                dynamic_axes={name: {0: "batch"} for name in ("planes", *OUTPUTS)},
                opset_version=OPSET,
                dynamo=False,
            )
        model = onnx.load(str(temporary))
        if half:
            store_half(model)
        onnx.checker.check_model(model, full_check=True)
        temporary.write_bytes(model.SerializeToString())
        return _compare(twin, temporary, inputs, TOLERANCE[half])


def _scaling(planes: int) -> Any:
    """A hook that makes the network's float planes of raw ones."""
    import torch

    divisor = torch.ones(1, planes, 1, 1)
    divisor[0, CLOCK_PLANE] = CLOCK_SCALE

    def scale(_network: torch.nn.Module, raw: tuple[torch.Tensor]) -> tuple[torch.Tensor]:
        return (raw[0].to(torch.float32) / divisor,)

    return scale


def _compare(
    twin: torch.nn.Module, file: Path, inputs: NDArray[np.uint8], tolerance: float
) -> dict[str, float]:
    """The largest difference of each output; one beyond the tolerance is refused.

    The batches have several sizes, one among them, because a size that was
    frozen into the graph would show only at another.
    """
    import onnxruntime
    import torch

    session = onnxruntime.InferenceSession(file.read_bytes(), providers=["CPUExecutionProvider"])
    sizes = [1, *range(min(5, len(inputs)), len(inputs), _BATCH), len(inputs)]

    def answers() -> Iterator[Answers]:
        for start, end in zip([0, *sizes], sizes, strict=False):
            if start < end:
                batch = inputs[start:end]
                with torch.no_grad():
                    ours = [output.float().numpy() for output in twin(torch.from_numpy(batch))]
                yield ours, session.run(list(OUTPUTS), {"planes": batch})

    return largest_differences(OUTPUTS, answers(), tolerance)
