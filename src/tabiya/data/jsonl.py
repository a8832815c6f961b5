"""Positions as lines of JSON: out of a data folder, and into one.

JSONL is how positions travel to and from programs that know nothing of our
shards, so this file alone knows the keys of a line. Both ways stream: a batch
of lines is all that is ever in memory. docs/formats.md lists the keys.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import IO, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tabiya import _core
from tabiya.data.extract import MOST_BROKEN_NAMED, SHARD_RECORDS, Manifest
from tabiya.data.shards import NO_EVAL, NO_RESULT, RECORD, ShardFolder, Split
from tabiya.errors import UserError
from tabiya.files import Report, compressed, numbered_lines, replacing

NO_GAME = 0xFFFFFFFF
"""The record's `game` where a position came without one."""

NO_MOVE = 0
"""The record's `move` (a1 to a1) where a position came without one."""

BATCH = 8192
"""Records turned into text, or lines into records, at a time."""

REPETITIONS_BYTE = 27
"""Where a packed position counts its earlier occurrences; a FEN cannot say it."""

Splits: TypeAlias = Literal["train", "validation", "all"]


def export_positions(
    folder: ShardFolder,
    out: Path,
    splits: Splits = "train",
    maximum: int | None = None,
    report: Report = lambda _count: None,
) -> int:
    """Write the positions of a folder to `out`, one per line; how many there were.

    The name's ending chooses the compression (.gz, .zst, else none). `out`
    appears, or is replaced, only when its last line is written.
    """
    if out.is_dir():
        raise UserError(f"{out} is a folder: --out must name a file such as {out / 'positions.jsonl'}")
    written = 0
    with replacing(out) as temporary, compressed(temporary, out.suffix) as stream:
        for lines in _batches_of_lines(folder, splits, maximum):
            stream.write("".join(lines).encode())
            written += len(lines)
            report(len(lines))
    return written


def exported_count(folder: ShardFolder, splits: Splits, maximum: int | None) -> int:
    """How many lines `export_positions` is going to write."""
    there = sum(folder.count(split) for split in _named(splits))
    return there if maximum is None else min(there, maximum)


def _named(splits: Splits) -> tuple[Split, ...]:
    return ("train", "validation") if splits == "all" else (splits,)


def _batches_of_lines(folder: ShardFolder, splits: Splits, maximum: int | None) -> Iterator[list[str]]:
    left = exported_count(folder, splits, maximum)
    sources = {shard["name"]: _source_name(shard) for shard in folder.manifest["shards"]}
    for split in _named(splits):
        for name, records in folder.shards(split):
            for start in range(0, min(len(records), left), BATCH):
                batch = records[start : start + min(BATCH, left)]
                left -= len(batch)
                yield _lines_of(batch, split, sources[name])


def _source_name(shard: dict[str, Any]) -> str | None:
    source = shard.get("source")
    return None if source is None else str(source)


def _lines_of(records: NDArray[np.void], split: Split, source: str | None) -> list[str]:
    packed = np.ascontiguousarray(records["packed"])
    columns = (
        _core.unpack_fens(packed),
        packed[:, REPETITIONS_BYTE].tolist(),
        *(
            records[name].tolist()
            for name in ("move", "result", "eval", "white_elo", "black_elo", "game", "ply", "tier")
        ),
    )
    lines = []
    for fen, repetitions, move, result, evaluation, white, black, game, ply, tier in zip(
        *columns, strict=True
    ):
        line: dict[str, Any] = {
            "fen": fen,
            "move": None if move == NO_MOVE else _core.code_to_uci(move),
            "result": None if result == NO_RESULT else result,
            "eval": None if evaluation == NO_EVAL else evaluation,
            "white_elo": white or None,
            "black_elo": black or None,
            "game": None if game == NO_GAME else game,
            "ply": ply,
            "tier": tier,
            "split": split,
            "source": source,
        }
        if repetitions:
            line["repetitions"] = repetitions
        lines.append(json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n")
    return lines


@dataclass
class Imported:
    """What an import found: positions by split, and the lines it had to skip."""

    train: int = 0
    validation: int = 0
    broken: int = 0
    named: list[dict[str, Any]] = field(default_factory=list)
    """The first MOST_BROKEN_NAMED of the skipped lines: file, line and why."""

    def skip(self, file: str, line: int, why: str) -> None:
        self.broken += 1
        if len(self.named) < MOST_BROKEN_NAMED:
            self.named.append({"file": file, "line": line, "why": why})


def import_positions(
    files: Sequence[Path],
    out: Path,
    report: Report = lambda _bytes: None,
    shard_records: int = SHARD_RECORDS,
) -> Imported:
    """Make the data folder `out` from JSONL files; what was found in them.

    `out` must not exist or be empty, and appears only when it is complete.
    `report` is told the bytes read. A bad line is skipped and named.
    """
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UserError(f"{out} exists and is not an empty folder: name a new one, nothing was changed")
    found, started = Imported(), time.monotonic()
    unfinished = out.with_name(f".{out.name}.importing")
    shutil.rmtree(unfinished, ignore_errors=True)  # what a killed import left behind
    unfinished.mkdir(parents=True)
    try:
        writer = _Writer(unfinished, shard_records)
        sources = [_import_file(file, writer, found, report) for file in files]
        shards = writer.finish()
        if not found.train + found.validation:
            first = f"; {first_broken(found)}" if found.named else ""
            raise UserError(f"no position in {', '.join(map(str, files))}{first}")
        manifest = Manifest(
            options={"sources": [file.name for file in files], "shard_records": shard_records},
            sources=sources,
            shards=shards,
            counts={"positions_kept": found.train + found.validation, "lines_broken": found.broken},
            broken=found.named,
            seconds=round(time.monotonic() - started, 1),
            complete=True,
        )
        manifest.save(unfinished)
        os.replace(unfinished, out)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    return found


def first_broken(found: Imported) -> str:
    """The first skipped line as `FILE:LINE: why`."""
    return "{file}:{line}: {why}".format(**found.named[0])


def _import_file(file: Path, writer: _Writer, found: Imported, report: Report) -> dict[str, Any]:
    digest = hashlib.sha256()
    lines = numbered_lines(file, digest, report)
    before, broken = found.train + found.validation, found.broken
    writer.start_source(file.name)
    while batch := list(islice(lines, BATCH)):
        records, validation = _records_of(batch, file.name, found)
        writer.write(records[~validation], "train")
        writer.write(records[validation], "validation")
        found.validation += int(validation.sum())
        found.train += len(records) - int(validation.sum())
    return {
        "name": file.name,
        "bytes": file.stat().st_size,
        "sha256": digest.hexdigest(),
        "positions": found.train + found.validation - before,
        "broken": found.broken - broken,
    }


class _Writer:
    """Appends records to numbered shards and starts the next one when a source ends or a shard is full."""

    def __init__(self, folder: Path, shard_records: int) -> None:
        self._folder, self._limit = folder, shard_records
        self._source = ""
        self._files: dict[Split, IO[bytes]] = {}
        self.shards: list[dict[str, Any]] = []

    def start_source(self, source: str) -> None:
        self._source = source
        self._next_shard()

    def write(self, records: NDArray[np.void], split: Split) -> None:
        while len(records):
            shard = self.shards[-1]
            room = self._limit - shard["train"] - shard["validation"]
            if room <= 0:
                self._next_shard()
                continue
            self._files[split].write(records[:room].tobytes())
            shard[split] += len(records[:room])
            records = records[room:]

    def finish(self) -> list[dict[str, Any]]:
        """Close the last shard; the manifest's entries."""
        for file in self._files.values():
            file.close()
        return self.shards

    def _next_shard(self) -> None:
        self.finish()
        name = f"lines-{len(self.shards):04d}"
        self.shards.append({"name": name, "source": self._source, "train": 0, "validation": 0})
        splits: tuple[Split, ...] = ("train", "validation")
        self._files = {split: (self._folder / f"{name}.{split}.pos").open("wb") for split in splits}


class _BadLineError(ValueError):
    """Why a line is no position; the message goes into the manifest."""


def _records_of(
    batch: list[tuple[int, bytes]], file: str, found: Imported
) -> tuple[NDArray[np.void], NDArray[np.bool_]]:
    """The good lines of a batch as records, and which of them are for validation."""
    bad: list[tuple[int, str]] = []
    lines: list[tuple[int, dict[str, Any]]] = []
    for number, text in batch:
        try:
            lines.append((number, _checked(text)))
        except _BadLineError as error:
            bad.append((number, str(error)))
    rows: list[NDArray[np.uint8]] = []
    good: list[dict[str, Any]] = []
    for (number, line), packed in zip(lines, _packed([line["fen"] for _, line in lines]), strict=True):
        try:
            if isinstance(packed, str):
                raise _BadLineError(packed)
            line["move"] = _legal_code(packed, line["move"])
        except _BadLineError as error:
            bad.append((number, str(error)))
            continue
        if line["ply"] is None:
            line["ply"] = _ply(packed)
        good.append(line)
        rows.append(packed)
    for number, why in sorted(bad):
        found.skip(file, number, why)
    records = np.zeros(len(good), RECORD)
    if not good:
        return records, np.zeros(0, np.bool_)
    records["packed"] = rows
    records["packed"][:, REPETITIONS_BYTE] = [line["repetitions"] for line in good]
    for name in ("move", "eval", "white_elo", "black_elo", "game", "ply", "result", "tier"):
        records[name] = [line[name] for line in good]
    keys = _core.position_keys(np.array(rows)).tolist()
    validation = [_is_validation(line, key) for line, key in zip(good, keys, strict=True)]
    return records, np.array(validation, np.bool_)


# key: (lowest, highest, what stands in the record where the line has none)
_NUMBERS: dict[str, tuple[int, int, int | None]] = {
    "eval": (-32768, NO_EVAL - 1, NO_EVAL),
    "white_elo": (0, 65535, 0),
    "black_elo": (0, 65535, 0),
    "game": (0, NO_GAME - 1, NO_GAME),
    "ply": (0, 65535, None),
    "tier": (0, 255, 0),
    "repetitions": (0, 2, 0),
}
_RESULTS = {None: NO_RESULT, "*": NO_RESULT, 1: 1, 0: 0, -1: -1, "1-0": 1, "1/2-1/2": 0, "0-1": -1}


def _checked(text: bytes) -> dict[str, Any]:
    """The line's keys with every value in its range and every gap filled."""
    try:
        given = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _BadLineError(f"not JSON: {error}") from None
    if not isinstance(given, dict):
        raise _BadLineError("a line must be a JSON object with a fen")
    line: dict[str, Any] = {}
    for name in ("fen", "move", "split", "source"):
        line[name] = value = given.get(name)
        if value is not None and not isinstance(value, str):
            raise _BadLineError(f"{name} must be text, got {value!r:.60}")
    if line["fen"] is None:
        raise _BadLineError("the fen is missing")
    if line["split"] not in (None, "train", "validation"):
        raise _BadLineError(f"split must be train or validation, got {line['split']!r:.60}")
    for name, (low, high, missing) in _NUMBERS.items():
        value = given.get(name)
        if value is None:
            value = missing
        elif type(value) is not int or not low <= value <= high:
            raise _BadLineError(f"{name} must be a whole number from {low} to {high}, got {value!r:.60}")
        line[name] = value
    result = given.get("result")
    if type(result) not in (int, str, type(None)) or result not in _RESULTS:
        raise _BadLineError(f"result must be 1, 0 or -1 for White, got {result!r:.60}")
    line["result"] = _RESULTS[result]
    return line


def _packed(fens: list[str]) -> list[NDArray[np.uint8] | str]:
    """Each FEN packed, or the sentence that says what is wrong with it."""
    if not fens:
        return []
    try:
        return list(_core.pack_fens(fens))
    except ValueError:
        # One bad FEN spoils a whole batch: find the culprits one by one.
        return [_packed_one(fen) for fen in fens]


def _packed_one(fen: str) -> NDArray[np.uint8] | str:
    try:
        packed: NDArray[np.uint8] = _core.pack_fens([fen])[0]
    except ValueError as error:
        return str(error)
    return packed


def _legal_code(packed: NDArray[np.uint8], move: str | None) -> int:
    if move is None:
        return NO_MOVE
    try:
        if _core.Board.from_packed(packed.tobytes()).is_legal(move):
            return _core.uci_to_code(move)
    except ValueError as error:
        raise _BadLineError(str(error)) from None
    raise _BadLineError(f"illegal move {move:.20} in {_core.unpack_fens(packed[np.newaxis])[0]}")


def _ply(packed: NDArray[np.uint8]) -> int:
    """Half-moves before the position, told by its full-move number."""
    fullmove = int(packed[28]) | int(packed[29]) << 8
    return min(65535, 2 * max(0, fullmove - 1) + (int(packed[24]) & 1))


def _is_validation(line: dict[str, Any], key: int) -> bool:
    """The line's own word; else 1 % by a hash of its game; else 1 % by the position's key.

    The key leaves the counters out, so that one position met twice never
    stands on both sides.
    """
    if line["split"] is not None:
        return bool(line["split"] == "validation")
    if line["game"] == NO_GAME:
        return key % 100 == 0
    identity = f"{line['source'] or ''}\n{line['game']}".encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(identity, digest_size=8).digest(), "little") % 100 == 0
