"""Games to shards of positions: what is kept, the manifest, and going on after a stop.

The Rust core replays and filters; this file decides where things go. A
shard counts only once the manifest names it, and the manifest is replaced in
one step, so a kill at any moment loses at most the shard being written.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from tabiya import _core
from tabiya.data.labels import read_value_labels
from tabiya.data.shards import FORMAT, RECORD, VERSION
from tabiya.errors import UserError
from tabiya.files import checksum, open_text, refuse_other_settings, replacing

SHARD_RECORDS = 4_000_000
MOST_BROKEN_NAMED = 1000
"""Broken games are all counted; this many are named in the manifest."""


@dataclass(frozen=True)
class Tier:
    """A band of ratings: how much of it is kept, and the weight that training gives it."""

    name: str
    low: int
    high: int
    """Exclusive."""
    sample: float = 1.0
    """Share of its positions that is kept, in (0, 1]."""
    weight: float = 1.0
    max_positions: int | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.low < self.high <= 65535:
            raise UserError(f"tier {self.name} needs 0 <= low < high, got {self.low} to {self.high}")
        if not 0 < self.sample <= 1:
            raise UserError(f"tier {self.name} needs a sample in (0, 1], got {self.sample}")
        if self.weight < 0:
            raise UserError(f"tier {self.name} needs a weight of at least 0, got {self.weight}")

    @classmethod
    def parse(cls, text: str) -> Tier:
        """`NAME:LOW-HIGH[:SAMPLE[:WEIGHT[:MAX]]]`, HIGH left out for no upper end.

        >>> Tier.parse("expert:2200-2400:0.8:1.5").sample
        0.8
        """
        parts = text.split(":")
        try:
            low, _, high = parts[1].partition("-")
            return cls(
                parts[0],
                int(low),
                int(high) if high else 65535,
                float(parts[2]) if len(parts) > 2 and parts[2] else 1.0,
                float(parts[3]) if len(parts) > 3 and parts[3] else 1.0,
                int(parts[4]) if len(parts) > 4 and parts[4] else None,
            )
        except (IndexError, ValueError):
            raise UserError(f"a tier reads NAME:LOW-HIGH[:SAMPLE[:WEIGHT[:MAX]]], got {text!r}") from None


TIERS = (
    Tier("elite", 2600, 65535, 1.0, 3.0),
    Tier("master", 2400, 2600, 1.0, 2.0),
    Tier("expert", 2200, 2400, 0.8, 1.5),
    Tier("strong", 2000, 2200, 0.5, 1.0),
)
"""Quality tiers by the lower rating."""

BUCKETS = (
    Tier("1000", 1000, 1500, max_positions=50_000_000),
    Tier("1500", 1500, 2000, max_positions=50_000_000),
    Tier("2000", 2000, 2500, max_positions=100_000_000),
    Tier("2500", 2500, 65535, max_positions=100_000_000),
)
"""Curriculum buckets by the average rating."""


@dataclass(frozen=True, kw_only=True)
class Extraction:
    """What is kept of the games. As it stands here: every position of every game."""

    tiers: tuple[Tier, ...] = ()
    rated_by: str = "lower"
    """Which rating decides the tier: "lower" or "average" of the two."""
    min_elo: int | None = None
    max_elo: int | None = None
    min_minutes: float | None = None
    """Games whose TimeControl tag gives less base time are left out; games without the tag stay."""
    from_ply: int = 0
    """Half-moves into the game before which nothing is kept."""
    one_per_game: bool = False
    sample: float = 1.0
    copies: int = 0
    """Copies of one position that are kept; 0: all."""
    max_positions: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        if self.rated_by not in ("lower", "average"):
            raise UserError(f"rated_by is 'lower' or 'average', got {self.rated_by!r}")
        if not 0 < self.sample <= 1:
            raise UserError(f"the sample must be in (0, 1], got {self.sample}")
        if not 0 <= self.copies <= 255:
            raise UserError(f"copies must be 0 (all) to 255, got {self.copies}")
        if not 0 <= self.from_ply <= 65535:
            raise UserError(f"from_ply must be 0 to 65535, got {self.from_ply}")
        for name in ("min_elo", "max_elo"):
            elo = getattr(self, name)
            if elo is not None and not 0 <= elo <= 65535:
                raise UserError(f"{name} must be 0 to 65535, got {elo}")
        if self.max_positions is not None and self.max_positions < 1:
            raise UserError(f"max_positions must be at least 1, got {self.max_positions}")
        if not 0 <= self.seed < 2**64:
            raise UserError(f"the seed must be 0 to 2^64 − 1, got {self.seed}")
        if self.min_minutes is not None and self.min_minutes < 0:
            raise UserError(f"min_minutes must not be negative, got {self.min_minutes}")

    def filters(self) -> dict[str, Any]:
        """The settings as the core reads them."""
        return {
            "tiers": [(tier.low, tier.high, tier.sample, tier.max_positions) for tier in self.tiers],
            "rated_by": self.rated_by,
            "min_elo": self.min_elo,
            "max_elo": self.max_elo,
            "min_base_seconds": None if self.min_minutes is None else round(self.min_minutes * 60),
            "from_ply": self.from_ply,
            "one_per_game": self.one_per_game,
            "sample": self.sample,
            "copies": self.copies,
            "max_positions": self.max_positions,
            "seed": self.seed,
        }


@dataclass(kw_only=True)
class Manifest:
    """What stands in manifest.json: enough to check the shards and to make them again."""

    options: dict[str, Any]
    excluded_puzzles: dict[str, Any] | None = None
    sources: list[dict[str, Any]] = field(default_factory=list)
    shards: list[dict[str, Any]] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    broken: list[dict[str, Any]] = field(default_factory=list)
    seconds: float = 0.0
    complete: bool = False

    def save(self, folder: Path) -> None:
        text = json.dumps(
            {"format": FORMAT, "version": VERSION, **asdict(self)}, indent=1, ensure_ascii=False
        )
        with replacing(folder / "manifest.json") as part, part.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())

    @classmethod
    def load(cls, folder: Path) -> Manifest | None:
        """The manifest of an earlier run in this folder, finished or not."""
        try:
            entries = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
            if entries.pop("format") != FORMAT or entries.pop("version") != VERSION:
                raise UserError(f"{folder} holds data of another format or version: choose another --out")
            return cls(**entries)
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, TypeError) as error:
            raise UserError(
                f"{folder / 'manifest.json'} is damaged ({error}): choose another --out"
            ) from None


def extract(
    sources: Iterable[str | Path],
    out: str | Path,
    extraction: Extraction | None = None,
    *,
    puzzles: str | Path | None = None,
    evals: str | Path | None = None,
    threads: int | None = None,
    shard_records: int = SHARD_RECORDS,
    on_progress: Callable[[Path, int, dict[str, int]], None] = lambda _path, _bytes, _counts: None,
) -> dict[str, Any]:
    """Extract `sources` into the folder `out`, going on where an earlier run stopped.

    `puzzles` names a puzzle file whose positions, and those one ply before and
    after, are left out. `evals` names a folder of value labels `STEM.i16` or
    `STEM.i16.xz` for the sources that have them. Returns the manifest's entries.
    """
    started = time.monotonic()
    extraction = extraction or Extraction()
    paths = [Path(source) for source in sources]
    folder = Path(out)
    _check_sources(paths)
    folder.mkdir(parents=True, exist_ok=True)
    wanted = _wanted(paths, extraction, puzzles, evals, shard_records)
    manifest = Manifest.load(folder)
    if manifest is None:
        manifest = Manifest(options=wanted)
    refuse_other_settings(folder, manifest.options, wanted)
    if manifest.complete:
        return asdict(manifest)
    exclusion = None
    if puzzles is not None:
        exclusion, manifest.excluded_puzzles = read_exclusion(Path(puzzles))
    run = _Run(
        folder, extraction, manifest, exclusion, threads or os.cpu_count() or 1, shard_records, started
    )
    run.recall()
    for path in paths:
        run.source(path, None if evals is None else _read_evals(Path(evals), path), on_progress)
    manifest.complete = True
    run.save()
    return asdict(manifest)


class _Run:
    """One run over the sources: the memory of the filters and the growing manifest."""

    def __init__(
        self,
        folder: Path,
        extraction: Extraction,
        manifest: Manifest,
        exclusion: _core.Exclusion | None,
        threads: int,
        shard_records: int,
        started: float,
    ) -> None:
        self._folder, self._filters = folder, extraction.filters()
        self._manifest, self._exclusion, self._threads = manifest, exclusion, threads
        self._shard_records = shard_records
        self._before, self._started = manifest.seconds, started
        self._memory = _core.ExtractionMemory()

    def save(self) -> None:
        self._manifest.seconds = round(self._before + time.monotonic() - self._started, 1)
        self._manifest.save(self._folder)

    def recall(self) -> None:
        """Bring the memory to where the last finished shard left it, and clear what was unfinished."""
        named = {shard["name"] for shard in self._manifest.shards}
        for path in self._folder.glob("*.pos*"):
            if path.name.split(".")[0] not in named or path.suffix == ".part":
                path.unlink()
        for shard in self._manifest.shards:
            for split in ("train", "validation"):
                path = self._folder / f"{shard['name']}.{split}.pos"
                if not path.exists() or path.stat().st_size != shard[split] * RECORD.itemsize:
                    raise UserError(
                        f"shard {path} is missing or damaged: choose another --out to start again"
                    )
                if shard[split]:
                    records = np.memmap(path, np.uint8, "r").reshape(-1, RECORD.itemsize)
                    self._memory.recall(records, self._filters)

    def source(
        self,
        path: Path,
        evals: np.ndarray[Any, np.dtype[np.int16]] | None,
        on_progress: Callable[[Path, int, dict[str, int]], None],
    ) -> None:
        """Extract one file, or the rest of it."""
        done = next((entry for entry in self._manifest.sources if entry["name"] == path.name), None)
        if done is None:
            done = {"name": path.name, "bytes": path.stat().st_size, "sha256": checksum(path)}
            done |= {"games": 0, "plies": 0, "broken": 0, "shards": 0, "complete": False}
            self._manifest.sources.append(done)
        elif done["sha256"] != checksum(path):
            raise UserError(f"{path} has changed since its extraction began: choose another --out")
        if done["complete"]:
            on_progress(path, done["bytes"], self._manifest.counts)
            return
        try:
            reader = _core.Extraction(
                path, self._filters, self._exclusion, evals, self._threads, done["games"], done["plies"]
            )
            while not done["complete"]:
                self._shard(reader, path, done)
                on_progress(path, done["bytes_read"], self._manifest.counts)
        except ValueError as error:
            raise UserError(str(error)) from None

    def _shard(self, reader: _core.Extraction, path: Path, done: dict[str, Any]) -> None:
        name = f"{_stem(path)}-{done['shards']:03d}"
        finals = [self._folder / f"{name}.{split}.pos" for split in ("train", "validation")]
        parts = [final.with_name(final.name + ".part") for final in finals]
        try:
            shard = reader.write_shard(parts[0], parts[1], self._shard_records, self._memory)
            for part, final in zip(parts, finals, strict=True):
                os.replace(part, final)
        except BaseException:
            for part in parts:
                part.unlink(missing_ok=True)
            raise
        manifest = self._manifest
        manifest.shards.append(
            {"name": name, "source": path.name, "train": shard["train"], "validation": shard["validation"]}
        )
        for count, amount in shard["counts"].items():
            manifest.counts[count] = manifest.counts.get(count, 0) + amount
        manifest.broken += [
            {"file": path.name, "line": line, "why": why}
            for line, why in shard["broken"][: MOST_BROKEN_NAMED - len(manifest.broken)]
        ]
        done["games"], done["plies"] = shard["games_done"], shard["plies_done"]
        done["broken"] += len(shard["broken"])
        done["bytes_read"] = shard["bytes_read"]
        done["shards"] += 1
        done["complete"] = shard["last"]
        self.save()


def read_exclusion(path: Path) -> tuple[_core.Exclusion, dict[str, Any]]:
    """The lines of a puzzle file (CSV with FEN and Moves columns, also compressed)."""
    import csv

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


def _check_sources(paths: list[Path]) -> None:
    if not paths:
        raise UserError("no games to extract: name at least one PGN file")
    for path in paths:
        if not path.is_file():
            raise UserError(f"no file {path}")
    stems = [_stem(path) for path in paths]
    for path in paths:
        if stems.count(_stem(path)) > 1:
            raise UserError(f"two sources are called {_stem(path)}: extract them into folders of their own")


def _stem(path: Path) -> str:
    return path.name.split(".")[0]


def _wanted(
    paths: list[Path],
    extraction: Extraction,
    puzzles: str | Path | None,
    evals: str | Path | None,
    shard_records: int,
) -> dict[str, Any]:
    """The settings that decide what the shards hold, as JSON gives them back."""
    settings: dict[str, Any] = json.loads(json.dumps(asdict(extraction)))
    return settings | {
        "sources": [path.name for path in paths],
        "puzzles": None if puzzles is None else Path(puzzles).name,
        "evals": None if evals is None else Path(evals).name,
        "shard_records": shard_records,
    }


def _read_evals(folder: Path, source: Path) -> np.ndarray[Any, np.dtype[np.int16]] | None:
    """Value labels for every ply of a source, or None where the folder has none for it."""
    for path in (folder / f"{_stem(source)}.i16", folder / f"{_stem(source)}.i16.xz"):
        if path.exists():
            return read_value_labels(path)
    return None
