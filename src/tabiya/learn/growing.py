"""Tables of folders that others are still filling, read on from time to time.

A teacher's choices come by shards while a run learns from those that there are
(`tabiya data choose`), and labels of all moves by files (`tabiya data label`).
What a folder has gained is put behind what is on the device already; nothing is
read twice. A folder that nobody has begun to fill has nothing yet, as long as
another of the same source has something.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import torch

from tabiya.learn.feed import NothingThereError, Source, Table, joined, load, parts_of


def begun(source: Source) -> Source:
    """The source without folders that nobody has begun to fill, unless none was begun."""
    there = [path for path in source.path.split(":") if _is_begun(source.kind, Path(path))]
    return replace(source, path=":".join(there)) if there else source


def _is_begun(kind: str, path: Path) -> bool:
    if kind == "games":
        return (path / "manifest.json").exists()
    # What has an ending is a file, and a file that is not there is a mistake to be told.
    return bool(path.suffix) or any(path.glob("*.moves"))


class GrowingTables:
    """One table for each source; `look_again` takes in what its folders have gained."""

    def __init__(
        self,
        sources: tuple[Source, ...],
        device: torch.device,
        prepare: Callable[[Source, Table], Table] = lambda source, table: table,
    ) -> None:
        """`prepare`: what is done to a table, or to what it has gained, before it is used."""
        self._sources, self._device, self._prepare = sources, device, prepare
        self._read: list[dict[str, set[str]]] = [{} for _ in sources]
        """Which parts of each folder are in the source's table."""
        self.tables = [self._gained(number) for number in range(len(sources))]

    def look_again(self) -> int:
        """How many positions were added."""
        added = 0
        for number in range(len(self._sources)):
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
        now = {path: parts_of(source.kind, path) for path in source.path.split(":")}
        news = {
            path: [each for each in parts if each not in known.get(path, ())] for path, parts in now.items()
        }
        table = load(source, "train", self._device, only=news)
        known.update((path, set(parts)) for path, parts in now.items())
        return self._prepare(source, table)
