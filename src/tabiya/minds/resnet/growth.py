"""A trained network made wider without changing what it says.

New channels are fed at random and listened to by nobody: the weights by which
the old parts would read them are zero. So the wide network begins with the
narrow one's answers, and what is new earns its place by its gradient. Deeper
it may be as well, and its squares may look at each other more often, because a
block of either kind begins as the identity. So does each later round through a
tower's blocks, with the norms of the first.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

import torch
from torch import Tensor

from tabiya.errors import UserError
from tabiya.learn.schedule import named_state
from tabiya.minds.resnet.attacks import PLANES as ATTACKS
from tabiya.minds.resnet.network import ResNet

SQUARES = 64


def grown(tensors: Mapping[str, Tensor], network: ResNet) -> dict[str, Tensor]:
    """A checkpoint's weights in the sizes of this network, whose own fresh weights fill what is new.

    Parts that the checkpoint lacks are left out. A network that is narrower in
    some place than the checkpoint's is refused.
    """
    fresh = named_state(network)
    heads = network.shape.mixing_heads
    found = {}
    for full, old in _at_their_blocks(tensors, network.shape.mixing_every).items():
        prefix, _, name = full.partition(".")
        if prefix not in ("ema", "model") or name not in fresh:
            found[full] = old
            continue
        new = fresh[name].detach().clone()
        if new.shape == old.shape:
            found[full] = old
        elif new.ndim == old.ndim and all(a >= b for a, b in zip(new.shape, old.shape, strict=True)):
            found[full] = _placed(name, old.to(new.device), new, heads)
        else:
            raise UserError(
                f"the checkpoint's {name} is {list(old.shape)}, which does not fit into {list(new.shape)}"
            )
    return found | _norms_of_later_rounds(found, fresh)


def _norms_of_later_rounds(tensors: Mapping[str, Tensor], wanted: Iterable[str]) -> dict[str, Tensor]:
    """For each norm of a later round, that the weights lack, the same block's of the first one."""
    found = {}
    for name in wanted:
        first = re.sub(r"\.again\.\d+\.", ".", name)
        for prefix in ("ema", "model"):
            if f"{prefix}.{name}" not in tensors and f"{prefix}.{first}" in tensors:
                found[f"{prefix}.{name}"] = tensors[f"{prefix}.{first}"]
    return found


def _at_their_blocks(tensors: Mapping[str, Tensor], every: int) -> dict[str, Tensor]:
    """The weights with each mix renumbered, so that it follows the block that it followed before."""
    blocks, mixes = (_count(tensors, part) for part in ("blocks", "mixes"))
    if not mixes or not every or blocks // every == mixes:
        return dict(tensors)
    possible = [each for each in range(1, blocks + 1) if blocks // each == mixes]
    if len(possible) > 1 or possible[0] % every:
        raise UserError(
            f"the checkpoint's {blocks} blocks with {mixes} mixes have no place where mixing_every is {every}"
        )
    found = {}
    for full, tensor in tensors.items():
        prefix, _, name = full.partition(".")
        part, _, rest = name.partition(".")
        if part == "mixes":
            number, _, last = rest.partition(".")
            full = f"{prefix}.mixes.{(int(number) + 1) * (possible[0] // every) - 1}.{last}"
        found[full] = tensor
    return found


def _count(names: Iterable[str], part: str) -> int:
    """How many blocks or mixes the weights of these names belong to."""
    parts = (name.split(".") for name in names)
    return len({each[2] for each in parts if each[0] in ("ema", "model") and each[1:2] == [part]})


def _placed(name: str, old: Tensor, new: Tensor, heads: int) -> Tensor:
    """`new` with `old` in it; what `old` would read of the new inputs is zero."""
    if ".look." in name:
        return _looks(old, new, heads)
    rows = _parts(old.shape[0], new.shape[0], 2 if ".up." in name else 1)
    if new.ndim == 1:
        new[rows] = old
        return new
    if ".join." in name:
        columns = _parts(old.shape[1], new.shape[1], heads)
    elif name == "stem.weight":
        columns = _stem_columns(old.shape[1], new.shape[1])
    elif name.startswith("value_hidden."):
        columns = torch.arange(old.shape[1])  # channel by channel, and new channels come last
    else:
        columns = _parts(old.shape[1], new.shape[1], 1)
    new[rows] = 0
    new[rows[:, None], columns] = old
    return new


def _looks(old: Tensor, new: Tensor, heads: int) -> Tensor:
    """Queries, keys and values of attention: a head's new numbers have no key, so that they match nothing."""
    narrow, wide = (each.shape[0] // (3 * heads) for each in (old, new))
    new = new.clone().reshape(3, heads, wide, *new.shape[1:])
    old = old.reshape(3, heads, narrow, *old.shape[1:]).clone()
    old[0] *= (wide / narrow) ** 0.5  # products are divided by the root of a head's size
    new[1, :, narrow:] = 0
    if new.ndim > 3:
        new[:, :, :narrow] = 0
        new[:, :, :narrow, : old.shape[3]] = old
    else:
        new[:, :, :narrow] = old
    return new.flatten(0, 2)


def _stem_columns(old: int, new: int) -> Tensor:
    """Where a stem's old inputs stand among its new ones: planes first, then those of attackers, if any."""
    planes, wider = ((each - ATTACKS if each > ATTACKS else each) for each in (old, new))
    return torch.cat([torch.arange(planes), torch.arange(wider, wider + old - planes)])


def _parts(old: int, new: int, parts: int) -> Tensor:
    """Where `old` numbers, in so many equal parts, stand among `new` in as many."""
    starts = torch.arange(parts)[:, None] * (new // parts)
    return (starts + torch.arange(old // parts)).flatten()
