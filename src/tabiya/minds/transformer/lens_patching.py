"""Activation patching: what one place in the network knows, found by giving it another position's answer.

The clean position is run again, and at some place (a row after a block, or a
head's output at a row) the activation is replaced by the one that a corrupted
twin had there. If the answer falls, that place carried what the answer needs.
Hooks do it on the network as it is; they are taken away again, whatever
happens, so nothing is left behind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from tabiya.minds.transformer.network import Block, Transformer

BATCH = 512


@dataclass(frozen=True)
class Place:
    """Where an activation is replaced. Rows are numbered as in `shape.row_names`, layers and heads from 0."""

    layer: int
    rows: tuple[int, ...] = ()
    """All of them if empty."""
    head: int | None = None
    """None: what stands after the block; else what this head gathered in it."""


@dataclass(frozen=True)
class Activations:
    """What every block and every head gave, each time it was run (feedback runs some more than once)."""

    blocks: list[list[Tensor]]
    """By layer, by run: [1, rows, width]."""
    heads: list[list[Tensor]]
    """By layer, by run: [1, rows, heads, width of a head]."""


@contextmanager
def _hooked(network: Transformer, hooks: dict[nn.Module, Callable[..., Any]]) -> Iterator[None]:
    handles = [module.register_forward_hook(hook) for module, hook in hooks.items()]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def _blocks(network: Transformer) -> list[Block]:
    found = [block for block in network.blocks if isinstance(block, Block)]
    assert len(found) == len(network.blocks)
    return found


@torch.no_grad()
def record(network: Transformer, tokens: Tensor) -> Activations:
    """Run one position, tokens [1, 84], and keep what every block and head gave."""
    blocks = _blocks(network)
    kept = Activations([[] for _ in blocks], [[] for _ in blocks])
    hooks: dict[nn.Module, Callable[..., Any]] = {}

    def keep(into: list[Tensor]) -> Callable[..., None]:
        return lambda _module, _inputs, output: into.append(output.detach().clone())

    for layer, block in enumerate(blocks):
        hooks[block] = keep(kept.blocks[layer])
        hooks[block.attention.gathered] = keep(kept.heads[layer])
    with _hooked(network, hooks):
        network(tokens)
    return kept


@torch.no_grad()
def patched(
    network: Transformer, tokens: Tensor, twin: Activations, places: Sequence[Place], batch: int = BATCH
) -> Tensor:
    """The policy's logits [len(places), 1968] of a position, tokens [1, 84], each with one place replaced."""
    parts = [
        _patched(network, tokens, twin, places[start : start + batch])
        for start in range(0, len(places), batch)
    ]
    return torch.cat(parts)


def _patched(network: Transformer, tokens: Tensor, twin: Activations, places: Sequence[Place]) -> Tensor:
    hooks: dict[nn.Module, Callable[..., Any]] = {}
    for layer, block in enumerate(_blocks(network)):
        own = [(at, place) for at, place in enumerate(places) if place.layer == layer]
        whole = [(at, place) for at, place in own if place.head is None]
        heads = [(at, place) for at, place in own if place.head is not None]
        if whole:
            hooks[block] = _replace(twin.blocks[layer], _row_mask(whole, len(places), twin.blocks[layer][0]))
        if heads:
            hooks[block.attention.gathered] = _replace(
                twin.heads[layer], _head_mask(heads, len(places), twin.heads[layer][0])
            )
    with _hooked(network, hooks):
        policy: Tensor = network(tokens.expand(len(places), -1)).policy
    return policy.float()


def _replace(runs: list[Tensor], mask: Tensor) -> Callable[..., Tensor]:
    """A hook that puts the twin's activation of the same run where the mask is true."""
    run = 0

    def hook(_module: nn.Module, _inputs: Any, output: Tensor) -> Tensor:
        nonlocal run
        made = torch.where(mask, runs[run].to(output.dtype), output)
        run += 1
        return made

    return hook


def _row_mask(places: list[tuple[int, Place]], count: int, like: Tensor) -> Tensor:
    mask = torch.zeros(count, like.shape[1], 1, dtype=torch.bool, device=like.device)
    for at, place in places:
        mask[at, list(place.rows) if place.rows else slice(None)] = True
    return mask


def _head_mask(places: list[tuple[int, Place]], count: int, like: Tensor) -> Tensor:
    mask = torch.zeros(count, like.shape[1], like.shape[2], 1, dtype=torch.bool, device=like.device)
    for at, place in places:
        rows: Any = list(place.rows) if place.rows else slice(None)
        mask[at, rows, place.head] = True
    return mask


def log_odds(policy: Tensor, legal: Tensor, right: int) -> Tensor:
    """[B]: the log-odds, among the legal moves (numbers [n]), of the one with number `right`."""
    logits = policy.index_select(1, legal).double()
    column = int((legal == right).nonzero()[0, 0])
    logp = logits.log_softmax(1)[:, column]
    others = logits.clone()
    others[:, column] = -torch.inf
    return logp - (others.logsumexp(1) - logits.logsumexp(1))
