"""Tables of positions for all networks of an experiment, each file read once.

Networks that see the board turned to the mover number their moves otherwise
than those that see it as White does. Both numberings are kept, of one table.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import torch
from torch import Tensor

from tabiya.data.shards import Split
from tabiya.learn.feed import CHUNK, NothingThereError, Source
from tabiya.learn.token_tables import TokenTable, load_tokens
from tabiya.minds.transformer.tokens import renumbered, turned_moves

Kind = Literal["games", "labels", "successors"]


class SharedTables:
    """Reads each source's splits once, and hands them out in either view."""

    def __init__(self) -> None:
        self._read: dict[tuple[str, str, Split], TokenTable | None] = {}
        self._as_white: dict[tuple[str, str, Split], TokenTable] = {}

    def table(self, source: Source, split: Split, device: torch.device, flipped: bool) -> TokenTable:
        """A source's positions; `NothingThereError` if the split has none."""
        key = (source.kind, source.path, split)
        if key not in self._read:
            try:
                self._read[key] = load_tokens(
                    source, split, device, lambda legal, packed: renumbered(legal, packed, True)
                )
            except NothingThereError:
                self._read[key] = None
        table = self._read[key]
        if table is None:
            raise NothingThereError(f"{source.path} holds no positions of its {split} split")
        if flipped or table.legal is None:
            return table
        if key not in self._as_white:
            self._as_white[key] = replace(table, legal=seen_by_white(table.legal, table.packed))
        return self._as_white[key]


def seen_by_white(legal: Tensor, packed: Tensor) -> Tensor:
    """Numbers of moves in the mover's view as numbers in White's."""
    turned = torch.from_numpy(turned_moves()).to(legal.device)
    found = legal.clone()
    for start in range(0, len(legal), CHUNK):
        rows = slice(start, start + CHUNK)
        some = legal[rows]
        black = (packed[rows, 24:25] & 1) == 1
        found[rows] = torch.where(black & (some >= 0), turned[some.clamp(min=0).long()], some)
    return found
