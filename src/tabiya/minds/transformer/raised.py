"""Two linear layers with a ReLU between them, with as few passes over the wide rows as can be.

torch's compiler leaves products to the vendor's library and writes their
results, then reads and writes all of it again for the activation, and once
more for its gradient. The library can do a product and its ReLU at once, and
the gradient of a ReLU needs no more than what came out of it, so the product
before it can drop what does not pass (`product_kernel.py`). Hidden rows are
four times as wide as the others: every pass over them that is saved counts.
"""

# Custom operators have no types.
# mypy: disable-error-code="no-untyped-def,untyped-decorator"
from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, library, nn


@library.custom_op("tabiya::feed_forward", mutates_args=())
def _feed_forward(x: Tensor, up: Tensor, bias: Tensor, down: Tensor) -> tuple[Tensor, Tensor]:
    raised: Tensor = torch._addmm_activation(bias, x, up.t())
    return raised @ down.t(), raised


@_feed_forward.register_fake
def _(x: Tensor, up: Tensor, bias: Tensor, down: Tensor) -> tuple[Tensor, Tensor]:
    return x.new_empty(x.shape[0], down.shape[0]), x.new_empty(x.shape[0], up.shape[0])


@library.custom_op("tabiya::feed_forward_backward", mutates_args=())
def _feed_forward_backward(
    given: Tensor, x: Tensor, up: Tensor, down: Tensor, raised: Tensor, biased: bool
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    given = given.contiguous()
    passed = _passed(given, down, raised)
    bias = passed.sum(0, dtype=torch.float32).to(x.dtype) if biased else x.new_zeros(up.shape[0])
    return passed @ up, passed.t() @ x, bias, given.t() @ raised


@_feed_forward_backward.register_fake
def _(
    given: Tensor, x: Tensor, up: Tensor, down: Tensor, raised: Tensor, biased: bool
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    return torch.empty_like(x), torch.empty_like(up), up.new_empty(up.shape[0]), torch.empty_like(down)


def _passed(given: Tensor, down: Tensor, raised: Tensor) -> Tensor:
    """What comes back through `down` and the ReLU."""
    if not given.is_cuda:
        return torch.where(raised > 0, given @ down, 0)
    from tabiya.minds.transformer.product_kernel import product_where_above_zero

    return product_where_above_zero(given, down, raised)


def _keep(ctx: Any, inputs: tuple[Tensor, Tensor, Tensor, Tensor], output: tuple[Tensor, Tensor]) -> None:
    x, up, _, down = inputs
    ctx.save_for_backward(x, up, down, output[1])


def _differentiate(ctx: Any, given: Tensor, _raised: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    biased = bool(ctx.needs_input_grad[2])
    found: tuple[Tensor, Tensor, Tensor, Tensor] = _feed_forward_backward(given, *ctx.saved_tensors, biased)
    return found


_feed_forward.register_autograd(_differentiate, setup_context=_keep)


def feed_forward(rows: Tensor, up: nn.Linear, down: nn.Linear) -> Tensor:
    """down(relu(up(rows))), in the type that autocast would have chosen."""
    kind = rows.device.type
    narrow = torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else rows.dtype
    bias = up.bias if up.bias is not None else up.weight.new_zeros(up.out_features)
    weights = [each.to(narrow) for each in (up.weight, bias, down.weight)]
    made: Tensor = _feed_forward(rows.flatten(0, -2).to(narrow), *weights)[0]
    made = made if down.bias is None else made + down.bias.to(narrow)
    return made.view(*rows.shape[:-1], -1)
