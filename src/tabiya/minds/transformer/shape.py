"""The transformer's sizes and switches, and which row of its input says what.

Rows are numbered alike everywhere: 0 is CLS, then come the squares, then turn,
castling, en passant, repetition, half-moves, full moves and three slots for
moves to reconsider, 85 in all. Where colour has a token of its own, 64 rows of
colours stand behind those, 149 in all, so that no other row changes its number.
Nothing here needs torch: the player and the lens read it too.

    >>> TransformerShape().rows, TransformerShape(pieces="separate").rows
    (85, 149)
    >>> row_names(TransformerShape())[1], row_names(TransformerShape())[65], row_names(TransformerShape())[84]
    ('a1', 'turn', 'slot 3')
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tabiya.errors import UserError

MOVES = 1968
RIGHTS = 13
SLOTS = 3
TOKENS = 84
CLS = 0
SQUARES = slice(1, 65)
TURN = 65
CASTLING = slice(66, 70)
EN_PASSANT = slice(70, 79)
REPETITION = 79
HALF_MOVES = 80
FULL_MOVES = 81
SLOT_ROWS = slice(82, 85)
COLOURS = slice(85, 149)
"""Only where `pieces` is "separate"."""


@dataclass(frozen=True, kw_only=True)
class Wire:
    """One feedback: what block `from_block` gives goes back into block `to_block`, `cycles` times.

    Blocks are numbered from 1. Each cycle runs the blocks from `to_block` to
    `from_block` again; wires inside that stretch are followed once, not again.
    """

    from_block: int
    to_block: int
    cycles: int = 1

    def __post_init__(self) -> None:
        if not 1 <= self.to_block <= self.from_block:
            raise UserError(f"a wire goes back, so 1 ≤ to_block ≤ from_block, got {self}")
        if self.cycles < 1:
            raise UserError(f"a wire's cycles must be at least 1, got {self.cycles}")


@dataclass(frozen=True, kw_only=True)
class TransformerShape:
    """Sizes and switches of the network; every default is `main`'s."""

    layers: int = 8
    width: int = 256
    heads: int = 8
    mlp_ratio: float = 4.0
    """Hidden width of the feed-forward part, as a multiple of `width`."""
    activation: Literal["gelu", "relu"] = "gelu"
    """With "relu" and the fused way, the product and its activation are one kernel."""
    mlp_bias: bool = True
    """The two products of the feed-forward part have biases, whose gradients cost a pass each."""
    flipped: bool = True
    """The board turned to the side to move, pieces own or the other's; otherwise as White sees it."""
    pieces: Literal["13", "added", "separate"] = "13"
    """13 embeddings; or 9 (empty, six kinds, two sides), a square's two added or in tokens of their own."""
    absolute: bool = True
    """Each row has a learned embedding of its own beside what it says."""
    bias: Literal["none", "static", "dynamic"] = "static"
    """What each pair of rows adds to attention: nothing, a learned number, or also one per pair of
    squares that is computed from the position."""
    bias_compressed: int = 16
    """Dynamic bias: numbers kept of each square, of which the whole board's summary is made."""
    bias_hidden: int = 128
    """Dynamic bias: size of that summary, and of each head's part of it."""
    policy: Literal["cls", "fromto"] = "cls"
    """Moves from CLS, or each from the embeddings of its two squares."""
    value: Literal["cls", "squares"] = "cls"
    """The value from CLS, or from all squares."""
    value_hidden: int = 128
    value_bins: int = 64
    """Classes into which the teacher's win probability is divided."""
    rights_head: bool = True
    """Castling and en passant rights after the move, from CLS."""
    refinement: bool = True
    """A second pass reconsiders the three likeliest moves."""
    refined_from: Literal["slots", "cls"] = "slots"
    """Its three values from the slots' rows, one each, or all from CLS."""
    feedback: tuple[Wire, ...] = ()

    def __post_init__(self) -> None:
        for name in (
            "layers",
            "width",
            "heads",
            "value_hidden",
            "value_bins",
            "bias_compressed",
            "bias_hidden",
        ):
            if getattr(self, name) < 1:
                raise UserError(f"{name} must be at least 1, got {getattr(self, name)}")
        if self.width % self.heads:
            raise UserError(f"a width of {self.width} cannot be shared by {self.heads} heads")
        if self.mlp_ratio <= 0:
            raise UserError(f"mlp_ratio must be positive, got {self.mlp_ratio}")
        for wire in self.feedback:
            if wire.from_block > self.layers:
                raise UserError(f"a wire starts at block {wire.from_block}, there are {self.layers}")

    @property
    def rows(self) -> int:
        """Rows of the input, CLS among them."""
        return 149 if self.pieces == "separate" else 85

    @property
    def read_rows(self) -> int:
        """How many of the first rows hold all that the heads of a first pass read."""
        if self.policy == "cls" and self.value == "cls":
            return CLS + 1
        return self.rows if self.pieces == "separate" else SQUARES.stop

    @property
    def view(self) -> Literal["mover", "white"]:
        """Whose eyes tokens and moves are numbered by."""
        return "mover" if self.flipped else "white"


def route(shape: TransformerShape) -> list[tuple[int, int | None]]:
    """The blocks in the order they are run: (block from 0, the wire that feeds it or None).

    >>> wires = (Wire(from_block=3, to_block=2, cycles=1),)
    >>> route(TransformerShape(layers=4, feedback=wires))
    [(0, None), (1, None), (2, None), (1, 0), (2, None), (3, None)]
    """
    steps: list[tuple[int, int | None]] = []
    for block in range(shape.layers):
        steps.append((block, None))
        for number, wire in enumerate(shape.feedback):
            if wire.from_block == block + 1:
                again = [(each, None) for each in range(wire.to_block, block + 1)]
                steps += [(wire.to_block - 1, number), *again] * wire.cycles
    return steps


def row_names(shape: TransformerShape) -> list[str]:
    """What each row says, in words."""
    squares = [file + rank for rank in "12345678" for file in "abcdefgh"]
    own, other = ("own", "other's") if shape.flipped else ("White's", "Black's")
    castling = [
        f"{side} castling {wing}" for side in (own, other) for wing in ("king's side", "queen's side")
    ]
    passant = ["en passant", *(f"en passant on {file}" for file in "abcdefgh")]
    counters = ["repetition", "half-moves", "full moves"]
    slots = [f"slot {number}" for number in (1, 2, 3)]
    names = ["CLS", *squares, "turn", *castling, *passant, *counters, *slots]
    return names + [f"colour of {square}" for square in squares] if shape.pieces == "separate" else names
