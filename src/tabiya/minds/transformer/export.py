"""The transformer as an ONNX file that plays, and can be looked into, without torch.

    tokens       int32 [B, 84]          docs/transformer.md; slots hold 1 + the move's number, or 0
    probability  float [B, 3]           of the slots' moves in the first pass
    again        int32 [B, 3]           how often the position after each stood before
    rows         float [M, rows]        multiplies the embedded rows: 0 blanks one
    attention    float [A, rows, rows]  multiplies attention's weights: 0 cuts (to, from) apart
    heads        float [layers, heads]  1 where `attention` applies
    renormalise  float []               1: the weights sum to one again after a cut

B, M and A are equal or 1: one position with many masks is one call. The file
says in its metadata how its tokens are made, so it needs nothing beside it. It
appears only after ONNX Runtime has answered as torch does, cuts included.
"""

from __future__ import annotations

import copy
import json
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from tabiya._core import random_positions
from tabiya.errors import UserError
from tabiya.files import replacing
from tabiya.learn.checkpoint import chosen_checkpoint, load_checkpoint, load_weights
from tabiya.learn.config import config_from_dict, config_to_dict
from tabiya.learn.exported import POSITIONS, Answers, describe_exported, largest_differences, learned_until
from tabiya.learn.half import store_half
from tabiya.minds.transformer.attention import Cut
from tabiya.minds.transformer.network import Transformer, parameter_count
from tabiya.minds.transformer.onnx_inputs import INPUTS, METADATA, Inputs, first_inputs, plain_cuts
from tabiya.minds.transformer.restored import restored
from tabiya.minds.transformer.shape import MOVES, SLOTS, TransformerShape

OPSET = 17
TOLERANCE = {False: 1e-3, True: 3e-2}
"""The largest difference from torch that is let pass, by `half`, as a share of the largest output."""


class _Export(nn.Module):
    """The network with its inputs in the file's order, and only the outputs it has."""

    def __init__(self, network: Transformer) -> None:
        super().__init__()
        self.network = network

    def forward(
        self,
        tokens: Tensor,
        probability: Tensor,
        again: Tensor,
        rows: Tensor,
        attention: Tensor,
        heads: Tensor,
        renormalise: Tensor,
    ) -> tuple[Tensor, ...]:
        cut = Cut(attention, heads, renormalise)
        outputs = self.network(tokens, probability, again, rows, cut)
        return tuple(output for output in outputs if output is not None)


def output_names(shape: TransformerShape) -> list[str]:
    """The file's outputs: those of `network.Outputs` that the shape has."""
    optional = {"rights": shape.rights_head, "refined": shape.refinement}
    names = ("policy", "wdl", "value_bins", "rights", "refined")
    return [name for name in names if optional.get(name, True)]


def export_onnx(
    network: nn.Module, path: str | Path, *, half: bool = False, positions: int = 32
) -> dict[str, float]:
    """Write `network` to `path`; the largest difference from torch of each output comes back.

    The network is left as it was. `half` stores the weights as float16.
    """
    import onnx

    path = Path(path)
    twin = copy.deepcopy(getattr(network, "_orig_mod", network))
    assert isinstance(twin, Transformer)
    twin = twin.to("cpu", torch.float32).eval().compute("plain")
    names, wrapped = output_names(twin.shape), _Export(twin)
    packed = random_positions(positions, seed=1)
    with replacing(path) as temporary:
        example = tuple(torch.from_numpy(each) for each in _examples(packed[:2], twin.shape, 0).values())
        axes = {name: {0: "batch"} for name in ("tokens", "probability", "again", *names)}
        axes |= {"rows": {0: "row_masks"}, "attention": {0: "attention_masks"}}
        with warnings.catch_warnings(), torch.no_grad():
            # The tracing exporter is called old by torch, and needs no package beyond it.
            warnings.simplefilter("ignore")
            torch.onnx.export(
                wrapped,
                example,
                str(temporary),
                input_names=list(INPUTS),
                output_names=names,
                dynamic_axes=axes,
                opset_version=OPSET,
                dynamo=False,
            )
        model = onnx.load(str(temporary))
        if half:
            store_half(model)
        entry = model.metadata_props.add()
        entry.key, entry.value = METADATA, json.dumps(config_to_dict(twin.shape))
        onnx.checker.check_model(model, full_check=True)
        temporary.write_bytes(model.SerializeToString())
        return _compare(wrapped, names, temporary, packed, twin.shape, TOLERANCE[half])


def export_network(
    network: Transformer,
    path: Path,
    *,
    half: bool = True,
    positions: int = 32,
    config: dict[str, Any] | None = None,
    learned: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """The file and its manifest; its size and the largest differences from torch come back."""
    differences = export_onnx(network, path, half=half, positions=positions)
    shape = {"shape": config_to_dict(network.shape)}
    return describe_exported(
        path,
        kind="transformer",
        inputs=shape,
        parameters=parameter_count(network),
        config=config or shape,
        learned=learned or {},
        positions=positions,
        differences=differences,
    )


def load_network(where: Path) -> tuple[Transformer, dict[str, Any], Path]:
    """The averaged network of a checkpoint or of a run's newest one, its metadata, and the file.

    An ONNX file is restored; it has no metadata.
    """
    if where.suffix == ".onnx":
        return restored(where), {}, where
    file = chosen_checkpoint(where)
    tensors, metadata = load_checkpoint(file)
    config = metadata.get("config")
    if not isinstance(config, dict) or config.get("mind") != "transformer":
        raise UserError(f"{file} is of no transformer run")
    network = Transformer(config_from_dict(config["shape"], TransformerShape, f"the config of {file}"))
    load_weights(network, tensors)
    return network.eval(), metadata, file


def export_checkpoint(where: Path, out: Path, *, half: bool = False) -> dict[str, Any]:
    """Write the averaged weights of a checkpoint, or of a run's newest one, to `out` with its manifest."""
    network, metadata, file = load_network(where)
    figures = export_network(
        network,
        out,
        half=half,
        positions=POSITIONS,
        config=metadata["config"],
        learned=learned_until(file, metadata),
    )
    return {"checkpoint": str(file), **figures}


def _examples(packed: NDArray[np.uint8], shape: TransformerShape, seed: int) -> Inputs:
    """Second passes with masks at random, so that no input goes untried."""
    chance = np.random.default_rng(seed)
    count = len(packed)
    inputs = first_inputs(packed, shape.flipped)
    inputs["tokens"][:, 81:] = chance.integers(0, MOVES + 1, (count, SLOTS))
    inputs["probability"] = chance.random((count, SLOTS), np.float32)
    inputs["again"] = chance.integers(0, 3, (count, SLOTS)).astype(np.int32)
    rows = (chance.random((count, shape.rows)) < 0.9).astype(np.float32)
    attention = (chance.random((count, shape.rows, shape.rows)) < 0.9).astype(np.float32)
    heads = (chance.random((shape.layers, shape.heads)) < 0.5).astype(np.float32)
    return inputs | {
        "rows": rows,
        "attention": attention,
        "heads": heads,
        "renormalise": np.array(seed % 2, np.float32),
    }


def _compare(
    wrapped: _Export,
    names: list[str],
    file: Path,
    packed: NDArray[np.uint8],
    shape: TransformerShape,
    tolerance: float,
) -> dict[str, float]:
    """The largest difference of each output; one beyond the tolerance is refused.

    A first pass, second passes with masks, and one position under many masks
    are compared, in batches of several sizes: a size that was frozen into the
    graph would show only at another.
    """
    import onnxruntime

    session = onnxruntime.InferenceSession(file.read_bytes(), providers=["CPUExecutionProvider"])
    # What a network has no use for is no input of its file.
    wanted = [each.name for each in session.get_inputs()]
    batches = [first_inputs(packed[:1], shape.flipped) | plain_cuts(shape)]
    for number, start in enumerate(range(1, len(packed), 32)):
        some = packed[start : start + 32]
        batches.append(first_inputs(some, shape.flipped) | plain_cuts(shape))
        batches.append(_examples(some[:8], shape, number))
    many = _examples(packed[:5], shape, 1)
    batches.append({**many, **{name: many[name][:1] for name in ("tokens", "probability", "again")}})

    def answers() -> Iterator[Answers]:
        for batch in batches:
            with torch.no_grad():
                ours = wrapped(*(torch.from_numpy(batch[name]) for name in INPUTS))
            theirs = session.run(names, {name: batch[name] for name in wanted})
            yield [output.numpy() for output in ours], theirs

    return largest_differences(names, answers(), tolerance)
