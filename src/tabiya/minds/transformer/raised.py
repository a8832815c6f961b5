"""A linear layer and its ReLU in one kernel: what is below zero is never written.

torch's compiler leaves the product to the vendor's library and writes its
result, then reads and writes all of it again for the activation. The library
can do both at once, and the gradient of a ReLU needs no more than what came
out of it. Hidden rows are four times as wide as the others, so every pass over
them that is saved counts.
"""

# Custom operators have no types.
# mypy: disable-error-code="no-untyped-def,untyped-decorator"
from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, library, nn


@library.custom_op("tabiya::linear_relu", mutates_args=())
def _linear_relu(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    made: Tensor = torch._addmm_activation(bias, x, weight.t())
    return made


@_linear_relu.register_fake
def _(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    return x.new_empty(x.shape[0], weight.shape[0])


def _keep(ctx: Any, inputs: tuple[Tensor, Tensor, Tensor], output: Tensor) -> None:
    ctx.save_for_backward(inputs[0], inputs[1], output)


def _differentiate(ctx: Any, given: Tensor) -> tuple[Tensor, Tensor, Tensor | None]:
    x, weight, raised = ctx.saved_tensors
    passed = torch.where(raised > 0, given, 0)
    bias = passed.sum(0, dtype=torch.float32).to(given.dtype) if ctx.needs_input_grad[2] else None
    return passed @ weight, passed.t() @ x, bias


_linear_relu.register_autograd(_differentiate, setup_context=_keep)


def raise_rows(rows: Tensor, layer: nn.Linear) -> Tensor:
    """relu(layer(rows)), in the type that autocast would have chosen."""
    kind = rows.device.type
    narrow = torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else rows.dtype
    bias = layer.bias if layer.bias is not None else layer.weight.new_zeros(layer.out_features)
    made: Tensor = _linear_relu(rows.flatten(0, -2).to(narrow), layer.weight.to(narrow), bias.to(narrow))
    return made.view(*rows.shape[:-1], -1)
