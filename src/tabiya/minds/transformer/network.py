"""The token transformer: CLS and 84 tokens in, moves, rights and value out, looked at again where wanted.

One pass is `forward`. A second pass is the same call with the three likeliest
moves in the slots; its `refined` output weighs them. Feedback runs some blocks
more than once, with what came out of a later one added to what goes into an
earlier one. Rows and attention can be cut into from outside (`rows`, `cut`),
and every block and head has a place for a hook, so that nothing has to be
rebuilt to be looked into.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from tabiya.errors import UserError
from tabiya.minds.transformer.attention import Attention, Cut, SharedBias, Way
from tabiya.minds.transformer.embedding import Embedding
from tabiya.minds.transformer.heads import ClsMoves, FromToMoves, Refined, Rights, Value
from tabiya.minds.transformer.raised import feed_forward
from tabiya.minds.transformer.shape import SLOTS, TransformerShape, route


class Outputs(NamedTuple):
    """Logits of everything the network says of a batch."""

    policy: Tensor
    """[B, 1968]."""
    wdl: Tensor
    """[B, 3]."""
    value_bins: Tensor
    """[B, K]."""
    rights: Tensor | None
    """[B, 13]; None without that head."""
    refined: Tensor | None
    """[B, 3]; None without refinement. Means something only where the slots hold moves."""


class Block(nn.Module):
    """Attention, then each row for itself."""

    def __init__(self, shape: TransformerShape) -> None:
        super().__init__()
        hidden = round(shape.width * shape.mlp_ratio)
        self.attention_norm = nn.LayerNorm(shape.width, bias=False)
        self.attention = Attention(shape)
        self.mlp_norm = nn.LayerNorm(shape.width, bias=False)
        self.up = nn.Linear(shape.width, hidden, bias=shape.mlp_bias)
        self.act: nn.Module = nn.GELU() if shape.activation == "gelu" else nn.ReLU()
        self.down = nn.Linear(hidden, shape.width, bias=shape.mlp_bias)
        self.fused = False
        """Whether `up`, a ReLU and `down` are one operator: see `raised.py`."""

    def forward(
        self,
        x: Tensor,
        shared: SharedBias | None = None,
        cut: Cut | None = None,
        layer: int = 0,
        read: int | None = None,
    ) -> Tensor:
        """`read`: how many of the first rows are wanted, if not all."""
        looked = self.attention(self.attention_norm(x), shared, cut, layer, read)
        x = looked + (x if read is None else x[:, :read])
        rows = self.mlp_norm(x)
        if self.fused:
            return x + feed_forward(rows, self.up, self.down)
        return x + self.down(self.act(self.up(rows)))  # type: ignore[no-any-return]


class Feedback(nn.Module):
    """What a later block gave, made ready to be added to what an earlier one takes."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width, bias=False)
        self.matrix = nn.Linear(width, width, bias=False)
        # A wire begins by carrying nothing: the cycle then repeats what was done.
        nn.init.zeros_(self.matrix.weight)

    def forward(self, later: Tensor) -> Tensor:
        return self.matrix(self.norm(later))  # type: ignore[no-any-return]


class Transformer(nn.Module):
    """Tokens int [B, 84] to `Outputs`."""

    def __init__(self, shape: TransformerShape) -> None:
        super().__init__()
        self.shape = shape
        self.padded = shape.rows
        """Rows computed with: more than there are where a device likes a round number."""
        self.stream = torch.float32
        """What stands between the blocks, whatever autocast computes with inside them."""
        self.lean = False
        """Whether the last block of a first pass leaves out the rows that no head reads."""
        self.embedding = Embedding(shape)
        self.shared_bias = SharedBias(shape) if shape.bias == "dynamic" else None
        self.blocks = nn.ModuleList(Block(shape) for _ in range(shape.layers))
        self.wires = nn.ModuleList(Feedback(shape.width) for _ in shape.feedback)
        self.last_norm = nn.LayerNorm(shape.width, bias=False)
        self.policy: nn.Module = ClsMoves(shape) if shape.policy == "cls" else FromToMoves(shape)
        self.value = Value(shape)
        self.rights = Rights(shape) if shape.rights_head else None
        self.refined = Refined(shape) if shape.refinement else None
        self._route = route(shape)
        self._start_small()

    def _start_small(self) -> None:
        """What is added to the stream starts small, the smaller the more there is of it."""
        for module in self.modules():
            if isinstance(module, nn.Linear) and bool(module.weight.any()):
                nn.init.normal_(module.weight, std=module.in_features**-0.5)
            if isinstance(module, nn.Linear) and module.bias is not None:
                nn.init.zeros_(module.bias)
        with torch.no_grad():
            for block in self.blocks:
                assert isinstance(block, Block)
                for linear in (block.attention.out, block.down):
                    linear.weight.mul_((2 * self.shape.layers) ** -0.5)
            for last in (self.value.wdl, self.value.bins, *self.last_of_policy()):
                last.weight.mul_(0.1)

    def last_of_policy(self) -> list[nn.Linear]:
        """The policy's linear layers: like embeddings and the other heads, not for Muon."""
        return [module for module in self.policy.modules() if isinstance(module, nn.Linear)]

    def compute(
        self, way: Way, padded: int = 0, stream: torch.dtype = torch.float32, lean: bool = False
    ) -> Transformer:
        """Set how attention is computed, the rows it is padded to (0: none), the stream's type and `lean`.

        Up to rounding, the answers stay what they are; a lean first pass has no `refined`, which means
        nothing there. A narrow stream wants autocast around it.
        """
        if way in ("flex", "fused") and self.shape.bias == "dynamic":
            raise UserError(f'attention = "{way}" knows no dynamic bias: use "plain" or "sdpa"')
        if padded and padded < self.shape.rows:
            raise UserError(f"{self.shape.rows} rows cannot be padded to {padded}")
        for block in self.blocks:
            assert isinstance(block, Block)
            block.attention.way = way
            block.fused = way == "fused" and self.shape.activation == "relu"
        self.padded, self.stream, self.lean = padded or self.shape.rows, stream, lean
        return self

    def forward(
        self,
        tokens: Tensor,
        probability: Tensor | None = None,
        again: Tensor | None = None,
        rows: Tensor | None = None,
        cut: Cut | None = None,
    ) -> Outputs:
        """`rows` [B or 1, rows] multiplies the embedded input: 0 blanks one."""
        read = self.shape.read_rows if self.lean and probability is None else None
        if probability is None:
            probability = torch.zeros(tokens.shape[0], SLOTS, device=tokens.device)
        if again is None:
            again = torch.zeros(tokens.shape[0], SLOTS, device=tokens.device, dtype=tokens.dtype)
        x = self.features(tokens, probability, again, rows, cut, read)
        wdl, bins = self.value(x)
        return Outputs(
            self.policy(x),
            wdl,
            bins,
            None if self.rights is None else self.rights(x),
            None if self.refined is None or read is not None else self.refined(x, probability),
        )

    def features(
        self,
        tokens: Tensor,
        probability: Tensor,
        again: Tensor,
        rows: Tensor | None = None,
        cut: Cut | None = None,
        read: int | None = None,
    ) -> Tensor:
        """The last rows [B, rows, width], before the heads; only the first ones if `read` says how many."""
        x = self.embedding(tokens, probability, again)
        if rows is not None:
            x = x * rows[:, :, None]
        x = x.to(self.stream)
        if self.padded > self.shape.rows:
            x = nn.functional.pad(x, (0, 0, 0, self.padded - self.shape.rows))
        entries: dict[int, Tensor] = {}
        for number, (block, wire) in enumerate(self._route, start=1):
            if wire is not None:
                x = entries[block] + self.wires[wire](x)
            else:
                entries.setdefault(block, x)
            wanted = read if number == len(self._route) else None
            x = self.blocks[block](x, self.shared_bias, cut, block, wanted)
        return self.last_norm(x[:, : read or self.shape.rows])  # type: ignore[no-any-return]


def parameter_count(network: nn.Module) -> int:
    return sum(parameter.numel() for parameter in network.parameters())
