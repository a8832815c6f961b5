"""How the network is compiled: torch's compiler, told where not to move numbers about.

The compiler lays out whatever has four axes and leads to a convolution as images,
channels last. In a tower of attention that is the table of pairs of squares: its
heads would be interleaved, number by number, only to be put side by side
again for the kernel that reads them, in every block, forth and back.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import torch

from tabiya.minds.resnet.network import ResNetShape

Made = TypeVar("Made", bound=Callable[..., object])


def compiled(made: Made, shape: ResNetShape) -> Made:
    """A module or a function of a network of this shape, compiled."""
    options: dict[str, str | int | bool | Callable[..., object]] | None = None
    if shape.tower == "attention":
        options = {"layout_optimization": False}
    return torch.compile(made, options=options)  # type: ignore[return-value]
