"""One shard of one file of games: what a worker of an extraction does, wherever it is.

The driver names a file and where to go on in it; the worker writes the next
shard under a name of its own beside the others and says what it holds. Whoever
wrote the shard before keeps the file open, another one opens it and skips what
is done. So a shard may be written twice, and counts once the driver has put it
in its place. All workers see the games and the folder under the same paths.
"""

from __future__ import annotations

import csv
import os
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tabiya import _core
from tabiya.data.labels import read_value_labels
from tabiya.data.shards import RECORD, Split
from tabiya.errors import UserError
from tabiya.files import checksum, open_text
from tabiya.scale.executor import Worker

SPLITS: tuple[Split, ...] = ("train", "validation")


@dataclass(frozen=True)
class Piece:
    """The next shard of a source."""

    source: Path
    name: str
    """The shard's."""
    games: int
    """Of the source, that are in earlier shards."""
    plies: int


@dataclass(frozen=True)
class WrittenShard:
    """A shard that waits to be put in its place."""

    parts: tuple[Path, Path]
    """The records to train on and those for validation."""
    summary: dict[str, Any]
    """As the core counts them."""


@dataclass(frozen=True, kw_only=True)
class Readers:
    """Hires those who extract, wherever the work is done."""

    folder: Path
    filters: dict[str, Any]
    shard_records: int
    threads: int
    puzzles: Path | None = None
    evals: Path | None = None

    @property
    def remember(self) -> bool:
        """Whether what is kept of one game hangs on the games before it."""
        tiers = any(tier[3] is not None for tier in self.filters["tiers"])
        return bool(self.filters["copies"] or self.filters["max_positions"] is not None or tiers)

    def __call__(self) -> Reader:
        return Reader(self)


class Reader(Worker[Piece, WrittenShard]):
    """Writes shard after shard, with what it remembers of those before."""

    def __init__(self, job: Readers) -> None:
        self._job = job
        self._exclusion: _core.Exclusion | None = None
        self._memory: _core.ExtractionMemory | None = None
        self._open: tuple[Path, int, _core.Extraction] | None = None

    def introduce(self) -> dict[str, Any] | None:
        """What is left out by the puzzle file."""
        if self._job.puzzles is None:
            return None
        self._exclusion, summary = read_exclusion(self._job.puzzles)
        return summary

    def answer(self, unit: Piece) -> WrittenShard:
        job = self._job
        mark = uuid.uuid4().hex[:8]
        train, validation = (job.folder / f"{unit.name}.{split}.pos.{mark}.part" for split in SPLITS)
        try:
            reader, memory = self._reader(unit), self._recalled()
            summary = reader.write_shard(train, validation, job.shard_records, memory)
        except BaseException as error:
            for part in (train, validation):
                part.unlink(missing_ok=True)
            if isinstance(error, ValueError):
                raise UserError(str(error)) from None
            raise
        self._open = (unit.source, summary["games_done"], reader)
        return WrittenShard((train, validation), summary)

    def _reader(self, piece: Piece) -> _core.Extraction:
        if self._open is not None and self._open[:2] == (piece.source, piece.games):
            return self._open[2]
        job = self._job
        if job.puzzles is not None and self._exclusion is None:
            self._exclusion, _ = read_exclusion(job.puzzles)
        return _core.Extraction(
            piece.source,
            job.filters,
            self._exclusion,
            None if job.evals is None else _read_evals(job.evals, piece.source),
            min(job.threads, os.cpu_count() or 1),
            piece.games,
            piece.plies,
        )

    def _recalled(self) -> _core.ExtractionMemory:
        """The memory, at first brought to where the last shard in its place left it."""
        if self._memory is None:
            self._memory = _core.ExtractionMemory()
            for path in sorted(self._job.folder.glob("*.pos")) if self._job.remember else []:
                if path.stat().st_size:
                    records = np.memmap(path, np.uint8, "r").reshape(-1, RECORD.itemsize)
                    self._memory.recall(records, self._job.filters)
        return self._memory


def read_exclusion(path: Path) -> tuple[_core.Exclusion, dict[str, Any]]:
    """The lines of a puzzle file (CSV with FEN and Moves columns, also compressed)."""
    exclusion, puzzles = _core.Exclusion(), 0
    with open_text(path) as file:
        rows = csv.DictReader(file)
        if not {"FEN", "Moves"} <= set(rows.fieldnames or ()):
            raise UserError(f"{path} has no FEN and Moves columns, its first line is {rows.fieldnames}")
        try:
            for row in rows:
                exclusion.add_line(row["FEN"], (row["Moves"] or "").split())
                puzzles += 1
        except (ValueError, TypeError, csv.Error) as error:
            raise UserError(f"{path}, line {rows.line_num}: {error}") from None
    return exclusion, {
        "name": path.name,
        "sha256": checksum(path),
        "puzzles": puzzles,
        "positions": len(exclusion),
    }


def stem(path: Path) -> str:
    """A source's name without its endings."""
    return path.name.split(".")[0]


def _read_evals(folder: Path, source: Path) -> np.ndarray[Any, np.dtype[np.int16]] | None:
    """Value labels for every ply of a source, or None where the folder has none for it."""
    for path in (folder / f"{stem(source)}.i16", folder / f"{stem(source)}.i16.xz"):
        if path.exists():
            return read_value_labels(path)
    return None
