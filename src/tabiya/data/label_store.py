"""Where labels wait until they are complete: stores that a kill -9 cannot hurt.

Labelling goes in chunks of consecutive positions, finished in any order. A
store keeps the chunks that are finished beside the target, knows after a
restart which those are, and turns them into the target at the end, in one
step. Nothing here knows a teacher.

- Values: the target's own layout under the name TARGET.part, 32767 where a
  value is missing. A chunk counts as finished when none is.
- Moves: TARGET.journal, to which finished chunks are appended with length and
  checksum. A tail that was cut off is dropped.
"""

from __future__ import annotations

import fcntl
import os
import struct
import zlib
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tabiya.data.labels import (
    MoveLabels,
    join_move_labels,
    load_move_labels,
    offsets_of,
    read_value_labels,
    write_move_labels,
)
from tabiya.data.scale import UNLABELLED
from tabiya.errors import UserError

JOURNAL_MAGIC = b"TABIYAJL\x01\0\0\0\0\0\0\0"
JOURNAL_HEAD = struct.Struct("<IIII")  # chunk, positions, bytes that follow, checksum of all of these

Answer: TypeAlias = NDArray[np.int16] | tuple[NDArray[np.int64], NDArray[np.int16]]
"""What a teacher says of a chunk: values, or offsets and scores of all moves."""


class LabelStore(ABC):
    """The labels of `total` positions on their way to `target`, of which the first `wanted` are asked for."""

    def __init__(self, target: Path, work: Path, total: int, wanted: int, chunk: int) -> None:
        self.target, self.work = target, work
        self.total, self.wanted, self.chunk = total, wanted, chunk
        target.parent.mkdir(parents=True, exist_ok=True)
        self._file = os.open(work, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(self._file)
            raise UserError(f"another `tabiya data label` is at work on {target}") from None

    def bounds(self, chunk: int) -> tuple[int, int]:
        """The first position of a chunk, and the one after its last that is asked for."""
        return chunk * self.chunk, min((chunk + 1) * self.chunk, self.wanted)

    def missing(self) -> list[int]:
        """The chunks that are asked for and not finished, in order."""
        return [chunk for chunk in range(-(-self.wanted // self.chunk)) if not self._finished(chunk)]

    @abstractmethod
    def _finished(self, chunk: int) -> bool: ...

    @abstractmethod
    def write(self, chunk: int, answer: Answer) -> None:
        """Keep the labels of one chunk; an OSError leaves what was there before."""

    @abstractmethod
    def labelled(self) -> int:
        """How many positions have their labels."""

    @abstractmethod
    def finish(self) -> None:
        """Put the labels in the target's place, in one step, and close."""

    def sync(self) -> None:
        os.fsync(self._file)

    def close(self) -> None:
        """Let go of the file; what is in it stays for the next run."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


class ValueStore(LabelStore):
    """One 16-bit value for each position."""

    def __init__(self, target: Path, total: int, wanted: int, chunk: int) -> None:
        work = target.with_name(target.name + ".part")
        super().__init__(target, work, total, wanted, chunk)
        try:
            self._prepare()
        except OSError:
            # Nothing is in it yet that was not there before.
            self.close()
            raise
        self._values: Any = np.memmap(work, "<i2", "r") if total else np.zeros(0, "<i2")

    def _prepare(self) -> None:
        """Fill up the file to its full length, so that a full disk is met before the work and not after."""
        size = os.fstat(self._file).st_size // 2 * 2
        if size == 0 and self.target.exists():
            # An earlier run with a smaller --max left its labels in the target: go on from them.
            size = write_all(self._file, read_value_labels(self.target).tobytes(), 0)
        blank = np.full(1 << 19, UNLABELLED, "<i2").tobytes()
        while size < 2 * self.total:
            size = write_all(self._file, blank[: 2 * self.total - size], size)
        self.sync()

    def _finished(self, chunk: int) -> bool:
        first, end = self.bounds(chunk)
        return not np.any(self._values[first:end] == UNLABELLED)

    def write(self, chunk: int, answer: Answer) -> None:
        assert isinstance(answer, np.ndarray)
        write_all(self._file, answer.astype("<i2").tobytes(), 2 * chunk * self.chunk)

    def labelled(self) -> int:
        return int(np.count_nonzero(self._values != UNLABELLED))

    def finish(self) -> None:
        self.sync()
        os.replace(self.work, self.target)
        self.close()


class MoveStore(LabelStore):
    """A score for every legal move of each position."""

    def __init__(self, target: Path, packed: NDArray[np.uint8], wanted: int, chunk: int) -> None:
        super().__init__(target, target.with_name(target.name + ".journal"), len(packed), wanted, chunk)
        self._packed = packed
        self._where: dict[
            int, tuple[int, int, int]
        ] = {}  # chunk: (place of its labels, their bytes, positions)
        self._end = 0
        self._read_journal()
        if not self._where and target.exists():
            self._take_over(load_move_labels(target))

    def _read_journal(self) -> None:
        """Index the chunks that are whole; cut off what a kill left unfinished behind them."""
        size = os.fstat(self._file).st_size
        if os.pread(self._file, len(JOURNAL_MAGIC), 0) != JOURNAL_MAGIC:
            if size >= len(JOURNAL_MAGIC):
                self.close()
                raise UserError(f"{self.work} is not a journal of this program: move it away")
            write_all(self._file, JOURNAL_MAGIC, 0)
        self._end = len(JOURNAL_MAGIC)
        while len(head := os.pread(self._file, JOURNAL_HEAD.size, self._end)) == JOURNAL_HEAD.size:
            chunk, positions, length, checksum = JOURNAL_HEAD.unpack(head)
            labels = os.pread(self._file, length, self._end + JOURNAL_HEAD.size)
            if len(labels) != length or zlib.crc32(labels, zlib.crc32(head[:12])) != checksum:
                break
            self._note(chunk, positions, length)
        os.ftruncate(self._file, self._end)

    def _note(self, chunk: int, positions: int, length: int) -> None:
        if chunk not in self._where or positions > self._where[chunk][2]:
            self._where[chunk] = (self._end + JOURNAL_HEAD.size, length, positions)
        self._end += JOURNAL_HEAD.size + length

    def _take_over(self, labels: MoveLabels) -> None:
        """Go on from the target of an earlier run with a smaller --max."""
        _, offsets, scores = labels
        for chunk in range(-(-(len(offsets) - 1) // self.chunk)):
            part = offsets[chunk * self.chunk : (chunk + 1) * self.chunk + 1]
            self.write(chunk, (part - part[0], scores[part[0] : part[-1]]))

    def _finished(self, chunk: int) -> bool:
        first, end = self.bounds(chunk)
        return chunk in self._where and self._where[chunk][2] >= end - first

    def write(self, chunk: int, answer: Answer) -> None:
        assert isinstance(answer, tuple)
        offsets, scores = answer
        labels = np.diff(offsets).astype(np.uint8).tobytes() + scores.astype("<i2").tobytes()
        head = struct.pack("<III", chunk, len(offsets) - 1, len(labels))
        checksum = zlib.crc32(labels, zlib.crc32(head))
        # One write at a known place: after an error the next one lands on top of the remains.
        write_all(self._file, head + struct.pack("<I", checksum) + labels, self._end)
        self._note(chunk, len(offsets) - 1, len(labels))

    def labelled(self) -> int:
        return sum(positions for _, _, positions in self._where.values())

    def finish(self) -> None:
        chunks = range(-(-self.wanted // self.chunk))
        write_move_labels(self.target, join_move_labels(map(self._chunk, chunks)))
        if len(self._where) == len(chunks):
            # Else an earlier run with a larger --max got further: its chunks stay for the next one.
            self.work.unlink()
        self.close()

    def _chunk(self, chunk: int) -> MoveLabels:
        place, length, positions = self._where[chunk]
        raw = os.pread(self._file, length, place)
        offsets = offsets_of(np.frombuffer(raw, np.uint8, positions))
        first = chunk * self.chunk
        packed = np.ascontiguousarray(self._packed[first : first + positions])
        return packed, offsets, np.frombuffer(raw, "<i2", offset=positions)


def write_all(file: int, data: bytes, place: int) -> int:
    """Write the data at a place of the file and return where it ends; a full disk cuts writes short."""
    view = memoryview(data)
    while view:
        written = os.pwrite(file, view, place)
        view, place = view[written:], place + written
    return place
