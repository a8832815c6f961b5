"""What a data folder holds: ratings, plies, results, duplicates, evaluations, tiers, splits, labels.

One pass over the memory-mapped shards, a chunk at a time. Only the duplicates
need all positions side by side: their keys are held in memory up to EXACT_KEYS
of them, and above that a sample is drawn by the key itself, so that all copies
of a position are in the sample or none is and its share of duplicates is an
unbiased estimate of the whole folder's.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabiya import _core
from tabiya.data.jsonl import NO_GAME, NO_MOVE
from tabiya.data.labels import HEADER, MAGIC
from tabiya.data.shards import NO_EVAL, NO_RESULT, ShardFolder, Split
from tabiya.files import Report

CHUNK = 1 << 18
EXACT_KEYS = 1 << 25
"""Keys held at once: 256 MiB, and as much again while they are sorted."""

RATING_STEP = 100
PLY_STEP = 10
RATING_BINS = 65536 // RATING_STEP + 1
PLY_BINS = 65536 // PLY_STEP + 1
MATE = 9500
"""Beyond this an evaluation is a mate, ±(10000 − n); none in centipawns is larger."""

SPLITS: tuple[Split, ...] = ("train", "validation")


def folder_stats(
    folder: ShardFolder, exact_keys: int = EXACT_KEYS, report: Report = lambda _count: None
) -> dict[str, Any]:
    """Every figure of the folder, ready for JSON; `report` is told the positions passed."""
    tally = _Tally()
    keys = _Keys({split: folder.count(split) for split in SPLITS}, exact_keys)
    for split in SPLITS:
        for records in _chunks(folder, split):
            tally.add(records, split)
            keys.add(records["packed"], split)
            report(len(records))
    return {
        "folder": str(folder.path),
        "positions": tally.positions,
        "splits": {split: folder.count(split) for split in SPLITS},
        "games": tally.games,
        "results": _shares(tally.results, tally.positions),
        "ratings": tally.rating_figures(),
        "plies": tally.ply_figures(),
        "evaluations": {
            "present": tally.evaluated,
            "mates": tally.mates,
            "share": _share(tally.evaluated, tally.positions),
        },
        "without_move": tally.without_move,
        "tiers": _tiers(folder, tally),
        "duplicates": keys.figures(),
        "labels": _labels(folder),
        "manifest": {name: folder.manifest.get(name) for name in ("options", "counts")},
    }


def _chunks(folder: ShardFolder, split: Split) -> Iterator[NDArray[np.void]]:
    for _, records in folder.shards(split):
        for start in range(0, len(records), CHUNK):
            yield np.array(records[start : start + CHUNK])


class _Tally:
    """Counts that a chunk can be added to."""

    def __init__(self) -> None:
        self.positions = self.games = self.evaluated = self.mates = self.without_move = 0
        self.results = {"white": 0, "draw": 0, "black": 0, "unknown": 0}
        self.tiers = np.zeros(256, np.int64)
        self._ratings = np.zeros(RATING_BINS, np.int64)
        self._plies = np.zeros(PLY_BINS, np.int64)
        self._rating_range = _Range()
        self._ply_range = _Range()
        self._last_game: tuple[Split, int] | None = None

    def add(self, records: NDArray[np.void], split: Split) -> None:
        self.positions += len(records)
        self.games += self._new_games(records["game"], split)
        for name, value in (("white", 1), ("draw", 0), ("black", -1), ("unknown", NO_RESULT)):
            self.results[name] += int(np.count_nonzero(records["result"] == value))
        self.tiers += np.bincount(records["tier"], minlength=256)
        evaluations = records["eval"].astype(np.int32)
        evaluations = evaluations[evaluations != NO_EVAL]
        self.evaluated += len(evaluations)
        self.mates += int(np.count_nonzero(np.abs(evaluations) > MATE))
        self.without_move += int(np.count_nonzero(records["move"] == NO_MOVE))
        white, black = records["white_elo"].astype(np.int64), records["black_elo"].astype(np.int64)
        both = (white > 0) & (black > 0)
        ratings = (white[both] + black[both]) // 2
        self._ratings += np.bincount(ratings // RATING_STEP, minlength=RATING_BINS)
        self._rating_range.add(ratings)
        plies = records["ply"].astype(np.int64)
        self._plies += np.bincount(plies // PLY_STEP, minlength=PLY_BINS)
        self._ply_range.add(plies)

    def _new_games(self, games: NDArray[np.uint32], split: Split) -> int:
        """How many games begin here: a game's positions stand together in a shard."""
        if not len(games):
            return 0
        begins = np.ones(len(games), np.bool_)
        begins[1:] = games[1:] != games[:-1]
        if self._last_game == (split, int(games[0])):
            begins[0] = False
        self._last_game = (split, int(games[-1]))
        return int(np.count_nonzero(begins & (games != NO_GAME)))

    def rating_figures(self) -> dict[str, Any]:
        """Of the average of both players, over the positions where both are known."""
        known = int(self._ratings.sum())
        return {
            **self._rating_range.figures(),
            "known": known,
            "unknown": self.positions - known,
            "histogram": _histogram(self._ratings, RATING_STEP),
        }

    def ply_figures(self) -> dict[str, Any]:
        return {**self._ply_range.figures(), "histogram": _histogram(self._plies, PLY_STEP)}


class _Range:
    """Least, mean and greatest of a stream of numbers."""

    def __init__(self) -> None:
        self._least: int | None = None
        self._greatest: int | None = None
        self._sum = self._count = 0

    def add(self, values: NDArray[np.int64]) -> None:
        if not len(values):
            return
        low, high = int(values.min()), int(values.max())
        self._least = low if self._least is None else min(low, self._least)
        self._greatest = high if self._greatest is None else max(high, self._greatest)
        self._sum += int(values.sum())
        self._count += len(values)

    def figures(self) -> dict[str, Any]:
        mean = round(self._sum / self._count, 2) if self._count else None
        return {"least": self._least, "mean": mean, "greatest": self._greatest}


class _Keys:
    """The keys of all positions, or of those whose mixed key falls into one slice of 2^bits."""

    def __init__(self, counts: dict[Split, int], limit: int) -> None:
        total, self._bits = sum(counts.values()), 0
        while total >> self._bits > limit:
            self._bits += 1
        self._keys: dict[Split, list[NDArray[np.uint64]]] = {split: [] for split in counts}

    def add(self, packed: NDArray[np.uint8], split: Split) -> None:
        keys = _core.position_keys(np.ascontiguousarray(packed))
        if self._bits:
            keys = keys[keys >> np.uint64(64 - self._bits) == 0]
        self._keys[split].append(keys)

    def figures(self) -> dict[str, Any]:
        """Positions beyond the first of their kind, and those of validation that training also has.

        Sampled counts are scaled up to the whole folder.
        """
        train, validation = self._sorted("train"), self._sorted("validation")
        train_kinds = int(np.count_nonzero(_first_of_each(train)))
        validation_kinds = validation[_first_of_each(validation)]
        shared = 0
        if len(train):
            at = np.minimum(np.searchsorted(train, validation_kinds), len(train) - 1)
            shared = int(np.count_nonzero(train[at] == validation_kinds))
        scale = 1 << self._bits
        kinds = train_kinds + len(validation_kinds) - shared
        looked_at = len(train) + len(validation)
        return {
            "method": "exact" if scale == 1 else "sampled",
            "one_in": scale,
            "looked_at": looked_at,
            "distinct": kinds * scale,
            "duplicates": (looked_at - kinds) * scale,
            "share": _share(looked_at - kinds, looked_at),
            "in_both_splits": shared * scale,
        }

    def _sorted(self, split: Split) -> NDArray[np.uint64]:
        keys = np.concatenate([*self._keys.pop(split), np.zeros(0, np.uint64)])
        keys.sort()
        return keys


def _first_of_each(keys: NDArray[np.uint64]) -> NDArray[np.bool_]:
    first = np.ones(len(keys), np.bool_)
    first[1:] = keys[1:] != keys[:-1]
    return first


def _histogram(bins: NDArray[np.int64], step: int) -> list[dict[str, int]]:
    """From the first bin that holds anything to the last; `to` is not included."""
    filled = np.flatnonzero(bins)
    if not len(filled):
        return []
    span = range(int(filled[0]), int(filled[-1]) + 1)
    return [{"from": bin * step, "to": (bin + 1) * step, "positions": int(bins[bin])} for bin in span]


def _shares(counts: dict[str, int], total: int) -> dict[str, dict[str, Any]]:
    return {name: {"positions": count, "share": _share(count, total)} for name, count in counts.items()}


def _share(part: int, whole: int) -> float | None:
    return round(part / whole, 6) if whole else None


def _tiers(folder: ShardFolder, tally: _Tally) -> list[dict[str, Any]]:
    names = folder.manifest.get("options", {}).get("tiers", [])
    return [
        {"tier": tier, "name": _tier_name(names, tier), "positions": int(tally.tiers[tier])}
        for tier in map(int, np.flatnonzero(tally.tiers))
    ]


def _tier_name(tiers: list[dict[str, Any]], tier: int) -> str:
    if tier == 0:
        return "none"
    return str(tiers[tier - 1]["name"]) if tier <= len(tiers) else f"tier {tier}"


def _labels(folder: ShardFolder) -> list[dict[str, Any]]:
    """The label files that lie in the folder: name, size, and how many positions they have a label for."""
    labels = folder.path / "labels"
    if not labels.is_dir():
        return []
    return [
        {
            "file": str(file.relative_to(labels)),
            "bytes": file.stat().st_size,
            "labelled": _labelled(file),
        }
        for file in sorted(labels.rglob("*"))
        if file.is_file() and not file.name.startswith(".")
    ]


def _labelled(file: Path) -> int | None:
    """Positions with a label; None where the file is of no kind that says so."""
    if file.suffix == ".i16":
        count = 0
        with file.open("rb") as stream:
            while data := stream.read(1 << 20):
                count += int(np.count_nonzero(np.frombuffer(data[: len(data) & ~1], "<i2") != NO_EVAL))
        return count
    if file.suffix == ".moves":
        with file.open("rb") as stream:
            head = stream.read(HEADER.size)
        if len(head) == HEADER.size and head.startswith(MAGIC):
            return int(HEADER.unpack(head)[3])
    return None
