"""Games to shards of positions: what is kept, the manifest, and going on after a stop.

The Rust core replays and filters; this file decides where things go. A
shard counts only once the manifest names it, and the manifest is replaced in
one step, so a kill at any moment loses at most the shard being written.
"""

from __future__ import annotations

import json
import os
import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, TypeAlias

from tabiya.data.extract_worker import SPLITS, Piece, Readers, WrittenShard, stem
from tabiya.data.shards import FORMAT, RECORD, VERSION
from tabiya.errors import UserError
from tabiya.files import checksum, refuse_other_settings, replacing
from tabiya.scale.executor import Crew, Executor
from tabiya.scale.local import LOCAL

SHARD_RECORDS = 4_000_000
MOST_BROKEN_NAMED = 1000
"""Broken games are all counted; this many are named in the manifest."""

Progress: TypeAlias = Callable[[Path, int, dict[str, int]], None]
"""Hears of a source, how many of its bytes are read, and the counts of all."""


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
    wander: float = 0.0
    """In this share of what is kept of training games a move of chance is made first. No move, verdict or
    result is known of such a position: it is for networks that consider it themselves."""
    copies: int = 0
    """Copies of one position that are kept; 0: all."""
    max_positions: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        if self.rated_by not in ("lower", "average"):
            raise UserError(f"rated_by is 'lower' or 'average', got {self.rated_by!r}")
        if not 0 < self.sample <= 1:
            raise UserError(f"the sample must be in (0, 1], got {self.sample}")
        if not 0 <= self.wander <= 1:
            raise UserError(f"the share that wanders must be 0 to 1, got {self.wander}")
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
            "wander": self.wander,
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
    executor: Executor = LOCAL,
    on_progress: Progress = lambda _path, _bytes, _counts: None,
) -> dict[str, Any]:
    """Extract `sources` into the folder `out`, going on where an earlier run stopped.

    Files are read side by side where the executor has machines for it; but
    where what is kept of one game hangs on those before (copies, maxima), they
    are read one after the other, so that the result is always the same.

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
    _clear(folder, manifest)
    readers = Readers(
        folder=folder.absolute(),
        filters=extraction.filters(),
        shard_records=shard_records,
        threads=1,
        puzzles=None if puzzles is None else Path(puzzles).absolute(),
        evals=None if evals is None else Path(evals).absolute(),
    )
    workers = 1 if readers.remember else min(executor.usual, len(paths))
    readers = replace(readers, threads=threads or max(1, executor.cores // workers))
    with executor.crew(readers, workers) as crew:
        if puzzles is not None:
            manifest.excluded_puzzles = crew.introduce()
        run = _Run(folder, manifest, paths, started)
        run.sources(crew, on_progress)
    _clear(folder, manifest)
    manifest.complete = True
    run.save()
    return asdict(manifest)


def _clear(folder: Path, manifest: Manifest) -> None:
    """Take away what an earlier run left unfinished; the shards that count must be whole."""
    named = {shard["name"] for shard in manifest.shards}
    for path in folder.glob("*.pos*"):
        if path.name.split(".")[0] not in named or path.suffix == ".part":
            path.unlink()
    for shard in manifest.shards:
        for split in SPLITS:
            path = folder / f"{shard['name']}.{split}.pos"
            if not path.exists() or path.stat().st_size != shard[split] * RECORD.itemsize:
                raise UserError(f"shard {path} is missing or damaged: choose another --out to start again")


class _Run:
    """One run over the sources: what comes back is put in its place and entered into the manifest."""

    def __init__(self, folder: Path, manifest: Manifest, paths: list[Path], started: float) -> None:
        self._folder, self._manifest, self._started = folder, manifest, started
        self._before = manifest.seconds
        self._paths = {path.absolute(): path for path in paths}
        self._order = {path.name: number for number, path in enumerate(paths)}
        self._met: set[Path] = set()

    def save(self) -> None:
        self._manifest.seconds = round(self._before + time.monotonic() - self._started, 1)
        self._manifest.save(self._folder)

    def sources(self, crew: Crew[Piece, WrittenShard], on_progress: Progress) -> None:
        """Extract the files, or the rest of them, shard after shard of each."""
        waiting, running = deque(self._paths), 0
        while waiting or running:
            while waiting and running < crew.workers:
                source = waiting.popleft()
                done = self._entry(source)
                if done["complete"]:
                    on_progress(self._paths[source], done["bytes"], self._manifest.counts)
                else:
                    crew.give(self._piece(source, done))
                    running += 1
            found = crew.take()
            if found is None:
                continue
            piece, written = found
            done = self._entry(piece.source)
            self._keep(piece, written, done)
            on_progress(self._paths[piece.source], done["bytes_read"], self._manifest.counts)
            if done["complete"]:
                running -= 1
            else:
                crew.give(self._piece(piece.source, done))

    def _entry(self, path: Path) -> dict[str, Any]:
        """What the manifest says of a source, checked when it is first met in this run."""
        done = next((entry for entry in self._manifest.sources if entry["name"] == path.name), None)
        if done is None:
            done = {"name": path.name, "bytes": path.stat().st_size, "sha256": checksum(path)}
            done |= {"games": 0, "plies": 0, "broken": 0, "shards": 0, "complete": False}
            self._manifest.sources.append(done)
        elif path not in self._met and done["sha256"] != checksum(path):
            raise UserError(f"{path} has changed since its extraction began: choose another --out")
        self._met.add(path)
        return done

    def _piece(self, source: Path, done: dict[str, Any]) -> Piece:
        return Piece(source, f"{stem(source)}-{done['shards']:03d}", done["games"], done["plies"])

    def _keep(self, piece: Piece, written: WrittenShard, done: dict[str, Any]) -> None:
        for part, split in zip(written.parts, SPLITS, strict=True):
            os.replace(part, self._folder / f"{piece.name}.{split}.pos")
        manifest, shard, name = self._manifest, written.summary, piece.source.name
        manifest.shards.append(
            {"name": piece.name, "source": name, "train": shard["train"], "validation": shard["validation"]}
        )
        for count, amount in shard["counts"].items():
            manifest.counts[count] = manifest.counts.get(count, 0) + amount
        manifest.broken += [
            {"file": name, "line": line, "why": why}
            for line, why in shard["broken"][: MOST_BROKEN_NAMED - len(manifest.broken)]
        ]
        # In the order of the sources, whichever was first.
        manifest.shards.sort(key=lambda each: self._order[each["source"]])
        manifest.broken.sort(key=lambda each: self._order[each["file"]])
        done["games"], done["plies"] = shard["games_done"], shard["plies_done"]
        done["broken"] += len(shard["broken"])
        done["bytes_read"] = shard["bytes_read"]
        done["shards"] += 1
        done["complete"] = shard["last"]
        self.save()


def _check_sources(paths: list[Path]) -> None:
    if not paths:
        raise UserError("no games to extract: name at least one PGN file")
    for path in paths:
        if not path.is_file():
            raise UserError(f"no file {path}")
    stems = [stem(path) for path in paths]
    for path in paths:
        if stems.count(stem(path)) > 1:
            raise UserError(f"two sources are called {stem(path)}: extract them into folders of their own")


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
