"""What `implicit` compares: a base that is told everything, and networks that differ from it in one thing.

The base sees the board as White does, must learn which moves are legal and
what becomes of the rights, and may look twice: whatever could let it look
ahead. Each other network lacks one of these, or has something more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from tabiya.learn.lab.comparison import refuse_namesakes, refuse_unknown
from tabiya.minds.transformer.lab.plan import ImplicitLab, Size
from tabiya.minds.transformer.shape import TransformerShape, Wire

BASE = "base"
TWICE = "twice"
"""Ending of a player that lets a base network look twice."""


@dataclass(frozen=True)
class Change:
    """One difference from the base."""

    kind: str
    title: str
    differs: str
    shape: dict[str, Any] = field(default_factory=dict)
    masked: bool = False
    fed_back: bool = False


CHANGES = (
    Change("masked", "illegal moves masked", "illegal moves are left out before the softmax", masked=True),
    Change(
        "flipped",
        "board turned",
        "the board turned to the mover, pieces own or the other's",
        {"flipped": True},
    ),
    Change(
        "added",
        "9 embeddings added",
        "kind and side of a piece have an embedding each, added",
        {"pieces": "added"},
    ),
    Change(
        "added-flipped",
        "9 embeddings added, board turned",
        "both: embeddings added, and the board turned",
        {"pieces": "added", "flipped": True},
    ),
    Change(
        "separate",
        "9 embeddings in two tokens",
        "kind and side of a piece in tokens of their own, 149 rows",
        {"pieces": "separate"},
    ),
    Change(
        "separate-flipped",
        "9 embeddings in two tokens, board turned",
        "both: two tokens for a square, and the board turned",
        {"pieces": "separate", "flipped": True},
    ),
    Change(
        "no-rights", "no rights head", "never asked for the rights after the move", {"rights_head": False}
    ),
    Change("no-refinement", "no second look", "never taught to look twice", {"refinement": False}),
    Change(
        "feedback",
        "feedback",
        "the upper half of the blocks is run again on what the last one gave",
        fed_back=True,
    ),
    Change("no-bias", "no pair biases", "attention without a bias for each pair of rows", {"bias": "none"}),
    Change(
        "fromto", "moves from squares", "each move from its two squares, not from CLS", {"policy": "fromto"}
    ),
)
KINDS = tuple(change.kind for change in CHANGES)


@dataclass(frozen=True, kw_only=True)
class Variant:
    """One network."""

    size: Size
    kind: str
    """`base`, or what it changes."""
    title: str
    differs: str
    shape: TransformerShape
    masked: bool = False
    seed: int

    number: int = 1
    """Which of the base's seeds."""

    @property
    def name(self) -> str:
        return f"{self.size.name}-{self.kind}" + (f"-{self.number}" if self.number > 1 else "")


@dataclass(frozen=True, kw_only=True)
class Entrant:
    """A network as it plays."""

    name: str
    network: str
    passes: int = 1


def variants_of(lab: ImplicitLab) -> list[Variant]:
    """All networks, size after size, the bases first."""
    refuse_unknown("implicit", lab.variants, KINDS)
    found = [variant for size in lab.sizes for variant in _of_size(lab, size)]
    refuse_namesakes([variant.name for variant in found], lab.measures.anchors)
    return found


def names_of(lab: ImplicitLab, sizes: Sequence[str] = ()) -> list[str]:
    """The names of all networks, or of those of some sizes."""
    return [variant.name for variant in variants_of(lab.of_sizes(sizes))]


def bases(lab: ImplicitLab, size: Size) -> list[str]:
    """The names of a size's base networks, the first seed's first."""
    return [v.name for v in variants_of(lab) if v.size == size and v.kind == BASE]


def entrants_of(lab: ImplicitLab, size: Size) -> list[Entrant]:
    """Who plays at a size: every network, and the first base looking twice."""
    names = [variant.name for variant in variants_of(lab) if variant.size == size]
    twice = Entrant(name=f"{names[0]}-{TWICE}", network=names[0], passes=2)
    return [*(Entrant(name=name, network=name) for name in names), twice]


def _of_size(lab: ImplicitLab, size: Size) -> list[Variant]:
    found = [
        Variant(
            size=size,
            kind=BASE,
            title="the base" if number == 1 else f"the base, seed {seed}",
            differs="what the others differ from" if number == 1 else "nothing but the seed",
            shape=_shape(lab, size),
            seed=seed,
            number=number,
        )
        for number, seed in enumerate(lab.seeds, 1)
    ]
    for change in CHANGES:
        if change.kind in (lab.variants or KINDS):
            found.append(
                Variant(
                    size=size,
                    kind=change.kind,
                    title=change.title,
                    differs=change.differs,
                    shape=_shape(lab, size, change),
                    masked=change.masked,
                    seed=lab.seeds[0],
                )
            )
    return found


def _shape(lab: ImplicitLab, size: Size, change: Change | None = None) -> TransformerShape:
    settings: dict[str, Any] = {"flipped": False, **(change.shape if change else {})}
    if change is not None and change.fed_back:
        back = size.layers // 2 + 1
        settings["feedback"] = (Wire(from_block=size.layers, to_block=back, cycles=lab.feedback_cycles),)
    return TransformerShape(
        layers=size.layers,
        width=size.width,
        heads=size.heads,
        mlp_ratio=lab.budget.mlp_ratio,
        activation=lab.budget.activation,
        mlp_bias=lab.budget.mlp_bias,
        value_hidden=lab.budget.value_hidden,
        **settings,
    )
