"""Label files, read and written: one value per position, or one score per legal move.

A teacher's verdicts are kept apart from the positions they judge, so that one
set of games can have several teachers. docs/labels.md spells the bytes out;
`tabiya.data.label` makes such files, `tabiya.data.scale` turns their
centipawns into win probabilities.

- Value labels (`.i16`, `.i16.xz`): White's view, in the order of the positions.
- Move labels (`.moves`, or text `FEN<TAB>cp cp …`): the side to move's view,
  the moves in the order of their UCI strings, each record with its position.
"""

from __future__ import annotations

import lzma
import struct
import zlib
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tabiya import _core
from tabiya.data.fens import lines, pack_lines, stem_and_kind
from tabiya.data.shards import ShardFolder, Split
from tabiya.errors import UserError
from tabiya.files import open_binary, replacing

MAGIC = b"TABIYAMV"
VERSION = 1
HEADER = struct.Struct(
    "<8sIIQQI28x"
)  # magic, version, 0, positions, scores, checksum of what follows; 64 bytes
BATCH = 4096

MoveLabels: TypeAlias = tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.int16]]
"""Packed positions [N, 32], offsets [N + 1] into the scores, scores of all legal moves."""


class MoveLabel(NamedTuple):
    """One position with the score of each legal move, in the order of the UCI strings."""

    packed: bytes
    scores: tuple[int, ...]


# Value labels ---------------------------------------------------------------------------------------------


def read_value_labels(path: str | Path) -> NDArray[np.int16]:
    """Every value of the file: memory-mapped if plain, unpacked into memory if `.xz`."""
    path = Path(path)
    if path.suffix == ".xz":
        with open_binary(path) as stream:
            raw = stream.read()
        if len(raw) % 2:
            raise UserError(f"{path} holds {len(raw)} bytes, which are not whole 16-bit labels")
        return np.frombuffer(raw, "<i2")
    size = path.stat().st_size
    if size % 2:
        raise UserError(f"{path} holds {size} bytes, which are not whole 16-bit labels")
    return np.memmap(path, "<i2", "r") if size else np.zeros(0, "<i2")


def write_value_labels(path: str | Path, values: NDArray[np.int16]) -> None:
    """Write the values, compressed if the name ends in `.xz`; an older file stays until this one is whole."""
    path = Path(path)
    raw = np.ascontiguousarray(values, "<i2").tobytes()
    _replace(path, [lzma.compress(raw, preset=6) if path.suffix == ".xz" else raw])


def shard_label_path(folder: str | Path, shard: str, split: Split, kind: str = "i16") -> Path:
    """Where the labels of one shard of an extracted folder are kept."""
    return Path(folder) / "labels" / f"{shard}.{split}.{kind}"


def shard_values(folder: ShardFolder, shard: str, split: Split) -> NDArray[np.int16]:
    """The value labels of one shard, one for each of its records."""
    path = shard_label_path(folder.path, shard, split)
    if not path.exists():
        raise UserError(f"no labels in {folder.path}: run `tabiya data label {folder.path}` first")
    values = read_value_labels(path)
    records = len(folder.shard(shard, split))
    if len(values) != records:
        raise UserError(f"{path} holds {len(values)} labels for {records} positions: label the folder anew")
    return values


# Move labels ----------------------------------------------------------------------------------------------


def read_move_labels(path: str | Path) -> Iterator[MoveLabel]:
    """The records of a move-label file of either kind, one after the other."""
    for packed, offsets, scores in _batches(Path(path)):
        listed = scores.tolist()
        for i in range(len(packed)):
            yield MoveLabel(packed[i].tobytes(), tuple(listed[offsets[i] : offsets[i + 1]]))


def load_move_labels(path: str | Path) -> MoveLabels:
    """A whole move-label file of either kind as three arrays."""
    return join_move_labels(_batches(Path(path)))


def held_out(packed: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Which labelled positions no mind trains on: one in a hundred, by its key, for ever.

    Games are split by the game; a lone position has none, so it is split by itself.
    """
    return np.asarray(_core.position_keys(packed) % np.uint64(100) == 0)


def join_move_labels(parts: Iterable[MoveLabels]) -> MoveLabels:
    """Several batches of move labels as one."""
    packed, offsets, scores, end = [], [np.zeros(1, np.int64)], [], 0
    for some_packed, some_offsets, some_scores in parts:
        packed.append(some_packed)
        offsets.append(some_offsets[1:] + end)
        scores.append(some_scores)
        end += len(some_scores)
    if not packed:
        return np.zeros((0, 32), np.uint8), np.zeros(1, np.int64), np.zeros(0, np.int16)
    if len(packed) == 1:
        return packed[0], np.concatenate(offsets), scores[0]
    return np.concatenate(packed), np.concatenate(offsets), np.concatenate(scores)


def select(labels: MoveLabels, rows: NDArray[np.intp]) -> MoveLabels:
    """The labels of these positions, in this order."""
    packed, offsets, scores = labels
    counts = np.diff(offsets)[rows]
    starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    within = np.arange(starts[-1]) - np.repeat(starts[:-1], counts)
    return packed[rows], starts, scores[np.repeat(offsets[rows], counts) + within]


def write_move_labels(path: str | Path, labels: MoveLabels) -> None:
    """Write a `.moves` file, or text if the name is that of a text file (`.tsv`, also compressed with xz)."""
    path = Path(path)
    _, kind = stem_and_kind(path)
    if kind == "tsv":
        if path.suffix not in (".tsv", ".xz"):
            raise UserError(f"move labels are written as .moves, .tsv or .tsv.xz, not as {path.name}")
        raw = "".join(_text_lines(labels)).encode()
        _replace(path, [lzma.compress(raw, preset=6) if path.suffix == ".xz" else raw])
        return
    if path.suffix != ".moves":
        raise UserError(f"move labels are written as .moves, .tsv or .tsv.xz, not as {path.name}")
    packed, offsets, scores = labels
    counts = np.diff(offsets)
    if (counts.size and (counts.min() < 0 or counts.max() > 255)) or offsets[-1] != len(scores):
        raise ValueError("the offsets of move labels must rise by 0 to 255 and end at the number of scores")
    body = [
        np.ascontiguousarray(packed, np.uint8).tobytes(),
        np.ascontiguousarray(scores, "<i2").tobytes(),
        counts.astype(np.uint8).tobytes(),
    ]
    checksum = 0
    for part in body:
        checksum = zlib.crc32(part, checksum)
    _replace(path, [HEADER.pack(MAGIC, VERSION, 0, len(packed), len(scores), checksum), *body])


def convert_move_labels(source: str | Path, target: str | Path) -> int:
    """Write the move labels of one file as another, of the kind that the target's name says; their number."""
    labels = load_move_labels(source)
    write_move_labels(target, labels)
    return len(labels[0])


def _batches(path: Path) -> Iterator[MoveLabels]:
    _, kind = stem_and_kind(path)
    if kind == "moves":
        yield _load_binary(path)
    else:
        yield from _text_batches(path)


def _load_binary(path: Path) -> MoveLabels:
    with open_binary(path) as stream:  # unpacked on the way, where the name says so
        head = stream.read(HEADER.size)
        if len(head) < HEADER.size or not head.startswith(MAGIC):
            raise UserError(f"{path} is not a move-label file: it does not begin with {MAGIC.decode()}")
        _, version, _, positions, total, checksum = HEADER.unpack(head)
        if version != VERSION:
            raise UserError(
                f"{path} is a move-label file of version {version}, this program reads version {VERSION}"
            )
        body = stream.read()
        expected, size = HEADER.size + 33 * positions + 2 * total, HEADER.size + len(body)
        if size != expected:
            raise UserError(f"{path} is damaged: it has {size} bytes, its header says {expected}")
    if zlib.crc32(body) != checksum:
        raise UserError(f"{path} is damaged: its checksum does not match its contents")
    packed = np.frombuffer(body, np.uint8, 32 * positions).reshape(-1, 32)
    scores = np.frombuffer(body, "<i2", total, 32 * positions)
    offsets = offsets_of(np.frombuffer(body, np.uint8, positions, 32 * positions + 2 * total))
    if offsets[-1] != total:
        raise UserError(f"{path} is damaged: its positions claim {offsets[-1]} scores, it holds {total}")
    return packed, offsets, scores


def _text_batches(path: Path) -> Iterator[MoveLabels]:
    numbered = lines(path)
    while batch := list(islice(numbered, BATCH)):
        yield _parse_text(path, batch)


def _parse_text(path: Path, batch: list[tuple[int, str]]) -> MoveLabels:
    parts = [text.split("\t") for _, text in batch]
    for (number, text), fields in zip(batch, parts, strict=True):
        if len(fields) != 2:
            raise UserError(f"{path}, line {number}: expected FEN, a tab and scores, found {text[:60]!r}")
    packed = pack_lines(path, [(number, f[0]) for (number, _), f in zip(batch, parts, strict=True)])
    counts = np.fromiter((len(f[1].split()) for f in parts), np.int64, len(parts))
    try:
        wide = np.array(" ".join(f[1] for f in parts).split(), np.int64)
    except (ValueError, OverflowError):
        wide = np.zeros(0, np.int64)
    if wide.size != counts.sum() or (wide.size and np.abs(wide).max() >= 32767):
        _blame_scores(path, batch)
    legal = np.diff(_core.legal_indices(packed, "uci")[0])
    if (wrong := np.flatnonzero(legal != counts)).size:
        i = int(wrong[0])
        raise UserError(f"{path}, line {batch[i][0]}: {counts[i]} scores for {legal[i]} legal moves")
    return packed, offsets_of(counts), wide.astype(np.int16)


def _blame_scores(path: Path, batch: list[tuple[int, str]]) -> None:
    for number, text in batch:
        for word in text.split("\t")[1].split():
            try:
                fits = abs(int(word)) < 32767
            except ValueError:
                fits = False
            if not fits:
                raise UserError(f"{path}, line {number}: {word!r} is not a score in centipawns")
    raise UserError(f"{path}, lines {batch[0][0]} to {batch[-1][0]}: the scores cannot be read")


def _text_lines(labels: MoveLabels) -> Iterator[str]:
    packed, offsets, scores = labels
    listed = scores.tolist()
    for start in range(0, len(packed), BATCH):
        for i, fen in enumerate(_core.unpack_fens(packed[start : start + BATCH]), start):
            yield f"{fen}\t{' '.join(map(str, listed[offsets[i] : offsets[i + 1]]))}\n"


# What both kinds share ------------------------------------------------------------------------------------


def offsets_of(counts: NDArray[np.integer]) -> NDArray[np.int64]:
    """Where each run of `counts` begins, and where the last one ends."""
    offsets = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts, out=offsets[1:])
    return offsets


def _replace(path: Path, parts: Iterable[bytes]) -> None:
    with replacing(path) as temporary, temporary.open("wb") as stream:
        for part in parts:
            stream.write(part)
