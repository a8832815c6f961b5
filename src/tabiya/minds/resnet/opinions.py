"""What another network thinks of the same positions, taught beside the labels.

A label names one move; a trained network has an opinion of all of them, and of
the position. A network of another shape that begins with fresh weights learns
faster from both (docs/resnet.md), and goes on by labels alone.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F  # noqa: N812 - torch's own custom
from torch import Tensor

from tabiya.errors import UserError
from tabiya.learn.feed import Table
from tabiya.minds.resnet.loss import Outputs, legal_columns
from tabiya.minds.resnet.network import ResNet, ResNetShape
from tabiya.minds.resnet.saved import saved_network


def teacher_from(path: str, pupil: ResNetShape, device: torch.device) -> ResNet:
    """The network of a checkpoint, whose outputs must be laid out as the pupil's."""
    network = saved_network(path).network
    for name in ("planes", "move_head", "value_bins"):
        if getattr(network.shape, name) != getattr(pupil, name):
            raise UserError(f"{path} cannot teach this network: their shapes differ in {name}")
    return network.to(device).to(memory_format=torch.channels_last).eval().requires_grad_(False)


def opinion_losses(
    outputs: Outputs, opinions: Outputs, parts: list[Table], places: Tensor | None
) -> dict[str, Tensor]:
    """How far the outputs are from the opinions, of legal moves where they are listed and of positions."""
    counts = [len(part) for part in parts]
    rows = sum(counts)
    policies, teachers = (torch.split(each[0], counts) for each in (outputs, opinions))
    moves = outputs[0].new_zeros((), dtype=torch.float32)
    for part, mine, theirs in zip(parts, policies, teachers, strict=True):
        if part.legal is not None:
            columns, real = legal_columns(part.legal, places)
            own, given = (_log_chances(each.gather(1, columns), real) for each in (mine, theirs))
            moves = moves + _divergence(own, given) * (len(part) / rows)
    wdl, bins = (
        _divergence(*(each[place].float().log_softmax(1) for each in (outputs, opinions))) for place in (2, 3)
    )
    return {"opinion_policy": moves, "opinion_wdl": wdl, "opinion_bins": bins}


def _log_chances(logits: Tensor, real: Tensor) -> Tensor:
    return logits.float().masked_fill(~real, -1e4).log_softmax(1)


def _divergence(own: Tensor, given: Tensor) -> Tensor:
    return F.kl_div(own, given, reduction="batchmean", log_target=True)
