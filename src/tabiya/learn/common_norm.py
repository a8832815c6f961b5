"""Batch normalisation over the rows of all processes, so that a divided batch is normalised as a whole one.

torch's own `SyncBatchNorm` does this on GPUs, and on nothing else; on other
devices this one does. Means and spreads of the parts are joined by their
counts, which need not be equal.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn

from tabiya.learn.distributed import team

_OVER = (0, 2, 3)


def use_common_norms(network: nn.Module) -> None:
    """Let every normalisation of a network be over all processes, where there are several."""
    if team().size == 1:
        return
    if next(network.parameters()).is_cuda:
        nn.SyncBatchNorm.convert_sync_batchnorm(network)  # type: ignore[no-untyped-call]
        return
    for module in network.modules():
        for name, child in module.named_children():
            if isinstance(child, nn.BatchNorm2d):
                setattr(module, name, _CommonNorm(child))


class _CommonNorm(nn.BatchNorm2d):
    def __init__(self, own: nn.BatchNorm2d) -> None:
        super().__init__(own.num_features, own.eps, own.momentum)
        self.weight, self.bias = own.weight, own.bias
        for name, buffer in own.named_buffers():
            setattr(self, name, buffer)
        self.train(own.training)

    @torch.compiler.disable  # type: ignore[untyped-decorator]
    def forward(self, x: Tensor) -> Tensor:
        if not self.training:
            return super().forward(x)
        assert self.running_mean is not None and self.running_var is not None  # noqa: PT018
        assert self.num_batches_tracked is not None and self.momentum is not None  # noqa: PT018
        y, mean, variance, count = _Normalised.apply(x, self.weight, self.bias, self.eps)
        with torch.no_grad():
            self.num_batches_tracked.add_(1)
            self.running_mean.lerp_(mean, self.momentum)
            self.running_var.lerp_(variance * (count / (count - 1)), self.momentum)
        normalised: Tensor = y
        return normalised


class _Normalised(torch.autograd.Function):
    """(x - mean) / spread · weight + bias, with the mean and the spread of all processes' rows."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor, eps: float) -> tuple[Tensor, ...]:
        wide = x.float()
        rows = torch.tensor([wide.numel() / wide.shape[1]], device=x.device)
        own_mean = wide.mean(_OVER)
        own_square = (wide - own_mean[:, None, None]).square().sum(_OVER)
        own = torch.cat([own_mean, own_square, rows])
        gathered = [torch.empty_like(own) for _ in range(team().size)]
        dist.all_gather(gathered, own)
        means, squares, counts = torch.split(torch.stack(gathered), [len(own_mean), len(own_mean), 1], 1)
        count = counts.sum()
        mean = (means * counts).sum(0) / count
        variance = (squares.sum(0) + ((means - mean).square() * counts).sum(0)) / count
        scale = (variance + eps).rsqrt()
        hat = (wide - mean[:, None, None]) * scale[:, None, None]
        ctx.save_for_backward(hat, weight, scale, count)
        ctx.mark_non_differentiable(mean, variance, count)
        made = hat * weight[:, None, None] + bias[:, None, None]
        return made.to(x.dtype), mean, variance, count

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, Tensor, None]:
        hat, weight, scale, count = ctx.saved_tensors
        gradient = gradients[0].float()
        for_bias, for_weight = gradient.sum(_OVER), (gradient * hat).sum(_OVER)
        sums = torch.stack([for_bias, for_weight])
        dist.all_reduce(sums)
        # What the mean and the spread of all rows owe to each of them.
        owed = sums / count
        rest = gradient - owed[0][:, None, None] - hat * owed[1][:, None, None]
        own = rest * (weight * scale)[:, None, None]
        return own.to(gradients[0].dtype), for_weight, for_bias, None
