"""What an experiment compares: its networks, and which of them a config asks for by their names."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from tabiya.errors import UserError
from tabiya.learn.lab.anchors import Anchor


class LabNetwork(Protocol):
    """One network of an experiment, as far as all minds' are alike."""

    @property
    def name(self) -> str: ...

    @property
    def title(self) -> str:
        """What it is, for the table."""


Variant = TypeVar("Variant", bound=LabNetwork)


@dataclass(frozen=True, kw_only=True)
class Comparison(Generic[Variant]):
    """The networks of an experiment, in the order of its table."""

    question: str
    variants: tuple[Variant, ...]
    baseline: str
    """The network that the others' Elo is told from."""
    left_out: tuple[str, ...] = ()
    """A sentence for each network that cannot be trained here."""

    @property
    def names(self) -> list[str]:
        return [variant.name for variant in self.variants]


def refuse_unknown(experiment: str, wanted: Sequence[str], names: Sequence[str]) -> None:
    """A UserError for a name that the experiment does not have, with the nearest that it has."""
    for name in wanted:
        if name not in names:
            close = difflib.get_close_matches(name, names, n=1)
            hint = f"did you mean {close[0]!r}?" if close else f"it has {', '.join(names)}"
            raise UserError(f"{experiment} has no network {name!r}, {hint}")


def refuse_no_comparison(
    experiment: str, kept: Sequence[str], baseline: str, anchors: Sequence[Anchor]
) -> None:
    """A UserError where the networks left over cannot be told from each other or from the anchors."""
    if baseline not in kept:
        raise UserError(
            f"{experiment} tells every network's Elo from {baseline!r}, which this config leaves out"
        )
    if len(kept) < 2:
        raise UserError(f"{experiment} compares at least 2 networks, this config leaves {len(kept)}")
    refuse_namesakes(kept, anchors)


def refuse_namesakes(names: Sequence[str], anchors: Sequence[Anchor]) -> None:
    """A UserError if an anchor cannot be told from a network by its name."""
    if taken := set(names) & {anchor.player for anchor in anchors}:
        raise UserError(f"the anchor {taken.pop()!r} has the name of one of the experiment's networks")
