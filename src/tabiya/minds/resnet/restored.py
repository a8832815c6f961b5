"""A ResNet out of its ONNX file, in torch again, to go on learning from.

A file has every normalisation folded into the convolution before it. To be
trained, the network needs them back: each is given the mean and spread that
its convolution has over some positions, and the weights by which it changes
nothing. Played, the restored network answers as its file does, whatever the
positions; while it learns, normalised by each batch, it begins the closer to it
the more they are like those that it learns from.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from tabiya.errors import UserError
from tabiya.learn.onnx_layers import Contents, give_back, read_contents
from tabiya.learn.planes import planes_of
from tabiya.minds.resnet.network import ResNet, ResNetShape

BATCH = 256


def restored(path: Path, shape: ResNetShape, packed: NDArray[np.uint8]) -> ResNet:
    """The network of a file of this shape; `packed` positions [N, 32] are what it is normalised by."""
    contents = read_contents(path)
    network = ResNet(shape).eval()
    folded = {layer.name: layer.constants for layer in contents.layers if layer.operator == "Conv"}
    weights = {**contents.named, **_matrices(contents)}
    every = norms(network)
    for name, norm in every.items():
        if name not in folded or folded[name][-1].shape != norm.bias.shape:
            raise UserError(f"{path} cannot be restored: it does not give back {name}")
        weights[f"{name}.weight"], shift = folded[name]
        ones = torch.ones_like(shift)
        _set(norm, mean=0 * ones, spread=ones - norm.eps, shift=shift)
    within = {id(value) for norm in every.values() for value in norm.parameters()}
    rest = [(name, each) for name, each in network.named_parameters() if id(each) not in within]
    give_back(rest, weights, path)
    _normalise(network, packed)
    return network


def _matrices(contents: Contents) -> dict[str, Tensor]:
    """What a file of a tower of attention calls after nothing: turned linear weights, and places."""
    found = {}
    for layer in contents.layers:
        if layer.operator == "MatMul":
            # One layer serves all blocks, and is called in each of them.
            name = "tower.pairs" if layer.name.endswith(".pairs") else layer.name
            found[f"{name}.weight"] = layer.constants[0].T
        elif (layer.name, layer.operator) == ("tower", "Add"):
            found["tower.places"] = layer.constants[0]
    return found


def norms(network: ResNet) -> dict[str, nn.BatchNorm2d]:
    """Every normalisation by the name of the convolution before it."""
    found: dict[str, nn.BatchNorm2d] = {}
    before = ""
    for name, module in network.named_modules():
        if isinstance(module, nn.Conv2d):
            before = name
        elif isinstance(module, nn.BatchNorm2d):
            found[before] = module
    return found


@torch.no_grad()
def _set(norm: nn.BatchNorm2d, mean: Tensor, spread: Tensor, shift: Tensor) -> None:
    """Let it add `shift` and do nothing else to what has this mean and spread."""
    assert norm.running_mean is not None
    assert norm.running_var is not None
    norm.running_mean.copy_(mean)
    norm.running_var.copy_(spread)
    norm.weight.copy_((spread + norm.eps).sqrt())
    norm.bias.copy_(mean + shift)


@torch.no_grad()
def _normalise(network: ResNet, packed: NDArray[np.uint8]) -> None:
    """Tell every normalisation the mean and spread of what it is given."""
    every = norms(network)
    shifts = {name: norm.bias.clone() for name, norm in every.items()}
    seen: dict[str, _Seen] = {name: _Seen() for name in every}
    hooks = [norm.register_forward_pre_hook(seen[name]) for name, norm in every.items()]
    for start in range(0, len(packed), BATCH):
        network(planes_of(torch.tensor(packed[start : start + BATCH]), network.shape.planes, None))
    for hook in hooks:
        hook.remove()
    for name, norm in every.items():
        _set(norm, *seen[name].mean_and_spread(), shifts[name])


class _Seen:
    """Adds up what passes by, channel by channel."""

    def __init__(self) -> None:
        self.count = 0
        self.sum: Tensor | float = 0.0
        self.squares: Tensor | float = 0.0

    def __call__(self, _norm: nn.Module, given: tuple[Tensor]) -> None:
        wide = given[0].double()
        self.count += wide[:, 0].numel()
        self.sum = self.sum + wide.sum((0, 2, 3))
        self.squares = self.squares + (wide * wide).sum((0, 2, 3))

    def mean_and_spread(self) -> tuple[Tensor, Tensor]:
        mean = torch.as_tensor(self.sum) / self.count
        return mean, (torch.as_tensor(self.squares) / self.count - mean * mean).clamp(min=0.0)
