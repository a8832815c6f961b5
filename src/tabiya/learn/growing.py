"""Tables of folders that others are still filling, read on from time to time.

A teacher's choices come by shards while a run learns from those that there are
(`tabiya data choose`). What a folder has gained is put behind what is on the
device already; nothing is read twice. A folder that nobody has begun to fill
has nothing yet, as long as another of the same source has something.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import torch

from tabiya.data.shards import ShardFolder
from tabiya.learn.feed import NothingThereError, Source, Table, joined, load


def begun(source: Source) -> Source:
    """The source without folders of games that nobody has begun to fill, unless none was begun."""
    if source.kind != "games":
        return source
    there = [path for path in source.path.split(":") if (Path(path) / "manifest.json").exists()]
    return replace(source, path=":".join(there)) if there else source


class GrowingTables:
    """One table for each source; `look_again` takes in what folders of games have gained."""

    def __init__(
        self,
        sources: tuple[Source, ...],
        device: torch.device,
        prepare: Callable[[Source, Table], Table] = lambda source, table: table,
    ) -> None:
        """`prepare`: what is done to a table, or to what it has gained, before it is used."""
        self._sources, self._device, self._prepare = sources, device, prepare
        self._read: list[dict[str, int]] = [{} for _ in sources]
        """How many shards of each folder are in the source's table."""
        self.tables = [self._gained(number) for number in range(len(sources))]

    def look_again(self) -> int:
        """How many positions were added."""
        added = 0
        for number, source in enumerate(self._sources):
            if source.kind != "games":
                continue
            try:
                gained = self._gained(number)
            except NothingThereError:
                continue
            self.tables[number] = joined([self.tables[number], gained])
            added += len(gained)
        return added

    def _gained(self, number: int) -> Table:
        """What the source has and its table has not."""
        source, known = begun(self._sources[number]), self._read[number]
        if source.kind != "games":
            return self._prepare(source, load(source, "train", self._device))
        now = {path: len(ShardFolder.open(path).names()) for path in source.path.split(":")}
        news = {path: slice(known.get(path, 0), count) for path, count in now.items()}
        table = load(source, "train", self._device, shards=news)
        known.update(now)
        return self._prepare(source, table)
