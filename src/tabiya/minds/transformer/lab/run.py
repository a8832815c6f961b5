"""A training run of the lab: tables that are read already, and the network compiled in parts.

An experiment trains dozens of small networks for less than a minute each, and
to compile a whole network would take as long as to train it. Its blocks are
alike: one is compiled, and all the others use it. What makes tokens and rows
is compiled too, because as it stands it could not be captured: it brings an
index from the host, and sorts. The heads go into the CUDA graph as they are.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from tabiya.data.shards import Split
from tabiya.learn.feed import Source
from tabiya.learn.token_tables import Ratings, TokenTable
from tabiya.minds.transformer.lab.plan import Data, Training
from tabiya.minds.transformer.lab.tables import SharedTables
from tabiya.minds.transformer.loss import LossWeights
from tabiya.minds.transformer.network import Outputs, Transformer
from tabiya.minds.transformer.plan import TransformerTraining
from tabiya.minds.transformer.reader import Reader
from tabiya.minds.transformer.shape import TransformerShape
from tabiya.minds.transformer.tokens import tokens_of
from tabiya.minds.transformer.training import Run

NARROW_ROWS = 128
"""Rows above which a network is computed in the way of the wide ones."""


class LabReader(Reader):
    """First passes whose tokens are made by compiled code."""

    def __init__(self, network: Transformer) -> None:
        super().__init__(network)
        self._tokens_of: Any = torch.compile(tokens_of, dynamic=False)

    def forward(self, packed: Tensor, mirror: Tensor | None) -> tuple[Tensor, Outputs]:
        tokens = self._tokens_of(packed, self.network.shape.flipped, mirror)
        return tokens, self.network(tokens)


class LabRun(Run):
    """A run whose positions come from shared tables."""

    def __init__(
        self, config: TransformerTraining, folder: Path, tables: SharedTables, capture: bool
    ) -> None:
        self._tables = tables
        super().__init__(config, folder, capture and config.compile)

    def learning_network(self) -> Transformer:
        network = super().learning_network()
        # A last block that is computed otherwise would have to be compiled for itself.
        network.lean = False
        if self.config.compile:
            for part in (network.embedding, *network.blocks):
                part.compile(dynamic=False)
        return network

    def compiled(self, module: nn.Module) -> nn.Module:
        # Its parts are compiled already.
        return LabReader(self.network) if self.config.compile and isinstance(module, Reader) else module

    def load(self, source: Source, split: Split, ratings: Ratings | None = None) -> TokenTable:
        assert ratings is None  # the lab has no curriculum
        return self._tables.table(source, split, self.device, self.config.shape.flipped)


def sources_of(data: Data) -> tuple[Source, ...]:
    return tuple(Source(kind=kind, path=path, share=share) for kind, path, share in data.sources())


def training_of(
    data: Data, budget: Training, shape: TransformerShape, *, steps: int, seed: int, masked: bool
) -> TransformerTraining:
    """The run of one network, with what all networks get alike."""
    attention = budget.attention if shape.rows <= NARROW_ROWS else budget.wide_attention
    rounded = budget.device == "cuda" and attention in ("plain", "sdpa")
    return TransformerTraining(
        sources=sources_of(data),
        steps=steps,
        batch=budget.batch,
        shape=shape,
        loss=LossWeights(
            policy=budget.policy,
            value=budget.value,
            rights=budget.rights,
            refinement=budget.refinement,
            mask_illegal=masked,
        ),
        refine_share=budget.refine_share,
        peak_rate=budget.peak_rate,
        final_fraction=budget.final_fraction,
        warmup_steps=budget.warmup_steps,
        optimizer=budget.optimizer,
        weight_decay=budget.weight_decay,
        ema_decay=budget.ema_decay,
        mirror=budget.mirror,
        seed=seed,
        device=budget.device,
        bf16=budget.bf16,
        compile=budget.compile,
        attention=attention,
        padded_rows=-(-shape.rows // 8) * 8 if rounded else 0,
        report_steps=budget.report_steps,
        validate_steps=steps,
        checkpoint_steps=budget.checkpoint_steps,
        keep=1,
    )
