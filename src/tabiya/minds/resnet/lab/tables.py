"""Tables of positions, read once for a whole experiment.

Reading is the slow part where a device is quick: variants that learn from the
same files share the tables, and those that leave something away (the tiers'
weights, the teacher's values, most of the rows) are given it out of the same
table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TypeAlias

import numpy as np
import torch

from tabiya.data.shards import Split
from tabiya.learn.feed import Source, Table, load

Load: TypeAlias = Callable[[Source, Split, torch.device], Table]


class SharedTables:
    """Reads each source once, and keeps it as long as somebody will ask for it again."""

    def __init__(self, read: Load = load) -> None:
        self._read = read
        self._tables: dict[tuple[Source, Split, str], Table] = {}

    def table(self, source: Source, split: Split, device: torch.device, values: bool = True) -> Table:
        """A source's table; without `values` no game position has the teacher's word on it."""
        key = (_file_of(source), split, str(device))
        if key not in self._tables:
            self._tables[key] = self._read(key[0], split, device)
        table = self._tables[key]
        if not source.weighted:
            table = replace(table, weight=None)
        if not values and source.kind == "games":
            table = replace(table, value=None)
        if source.fraction < 1 and split == "train":
            # One number for each row and any fraction: a smaller part is always inside a larger one.
            kept = np.flatnonzero(np.random.default_rng(0).random(len(table)) < source.fraction)
            # Never empty, so that a share too small for the data still trains on something.
            table = table.take(torch.from_numpy(kept if len(kept) else np.zeros(1, np.int64)).to(device))
        return table

    def loader(self, values: bool) -> Load:
        """What a run is handed."""
        return lambda source, split, device: self.table(source, split, device, values)

    def keep_only(self, sources: Iterable[Source]) -> None:
        """Forget the tables of all other sources."""
        wanted = {_file_of(source) for source in sources}
        self._tables = {key: table for key, table in self._tables.items() if key[0] in wanted}


def _file_of(source: Source) -> Source:
    """The source as far as its file is concerned."""
    return replace(source, share=1.0, fraction=1.0, weighted=True)
