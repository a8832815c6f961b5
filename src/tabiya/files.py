"""Files as this program reads and writes them: compressed or not, and never half of one.

The endings .gz, .bz2, .xz and .zst are known here. A compressed file that was
cut off or damaged is refused with a sentence (the libraries' own readers take
a cut for the end), and a file that is written appears only when it is whole.
"""

from __future__ import annotations

import bz2
import gzip
import hashlib
import io
import json
import lzma
import os
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import chain
from pathlib import Path
from typing import IO, Any, TypeAlias, cast

from tabiya.errors import UserError

Report: TypeAlias = Callable[[int], None]
"""Is told of each step's amount (bytes, lines), for a progress bar."""

LONGEST_LINE = 1 << 20
"""Bytes of a line that are kept; what is longer is cut, so that memory stays bounded."""

CHUNK = 1 << 16


def _zstd_decoder() -> Any:
    import zstandard

    return zstandard.ZstdDecompressor().decompressobj()


_DECODERS: dict[str, Callable[[], Any]] = {
    ".gz": lambda: zlib.decompressobj(wbits=31),
    ".bz2": bz2.BZ2Decompressor,
    ".xz": lzma.LZMADecompressor,
    ".zst": _zstd_decoder,
}


def _content(path: Path, see: Callable[[bytes], None] = lambda _stored: None) -> Iterator[bytes]:
    """A file's content in pieces, decompressed as its ending says; `see` is shown the stored bytes."""
    new_decoder = _DECODERS.get(path.suffix)
    decoder: Any = None
    with _opened(path) as stream:
        while chunk := stream.read(CHUNK):
            see(chunk)
            if new_decoder is None:
                yield chunk
                continue
            while chunk:
                decoder = decoder or new_decoder()
                yield _decoded(decoder, chunk, path)
                chunk = decoder.unused_data if decoder.eof else b""
                decoder = None if decoder.eof else decoder
    if decoder is not None:
        raise UserError(f"{path} is cut off: the end of its {path.suffix} data is missing")


def _opened(path: Path) -> IO[bytes]:
    try:
        return path.open("rb")
    except FileNotFoundError:
        raise UserError(f"no file {path}") from None
    except IsADirectoryError:
        raise UserError(f"{path} is a folder, a file is needed") from None


def _decoded(decoder: Any, chunk: bytes, path: Path) -> bytes:
    try:
        return bytes(decoder.decompress(chunk))
    except Exception as error:  # the libraries raise errors of no common kind
        raise UserError(f"{path} is damaged: {error}") from None


class _Pieces(io.RawIOBase):
    """Pieces of bytes as a file."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces, self._ready = pieces, b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._ready:
            piece = next(self._pieces, None)
            if piece is None:
                return 0
            self._ready = piece
        size = min(len(buffer), len(self._ready))
        buffer[:size] = self._ready[:size]
        self._ready = self._ready[size:]
        return size


def open_binary(path: str | Path) -> IO[bytes]:
    """A file's content as bytes, decompressed as its ending says."""
    path = Path(path)
    _opened(path).close()  # a missing file is said now, not at the first read
    return io.BufferedReader(_Pieces(_content(path)), CHUNK)


def open_text(path: str | Path) -> IO[str]:
    """A file's content as UTF-8 text, decompressed as its ending says; odd bytes become '�'."""
    return io.TextIOWrapper(open_binary(path), encoding="utf-8-sig", errors="replace", newline=None)


def numbered_lines(
    path: Path, digest: hashlib._Hash | None = None, report: Report = lambda _bytes: None
) -> Iterator[tuple[int, bytes]]:
    """The lines that hold anything, with their numbers from 1.

    `digest` sees the bytes as they are stored, `report` how many were read.
    """

    def see(stored: bytes) -> None:
        if digest is not None:
            digest.update(stored)
        report(len(stored))

    number, rest = 0, b""
    for chunk in chain(_content(path, see), [b"\n"]):
        first, newline, others = chunk.partition(b"\n")
        rest = (rest + first)[:LONGEST_LINE]
        if not newline:
            continue
        *whole, after = others.split(b"\n")
        for line in [rest, *whole]:
            number += 1
            if line.strip():
                yield number, line
        rest = after


def checksum(path: Path) -> str:
    """SHA-256 of a file as it lies on disk."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def refuse_other_settings(folder: Path, before: dict[str, Any], now: dict[str, Any]) -> None:
    """Work that was begun in a folder goes on with the settings it was begun with, or not at all."""
    for name, value in now.items():
        if before.get(name) != value:
            raise UserError(
                f"{folder} was begun with {name} = {before.get(name)!r}, now it is {value!r}: "
                "use the same settings to go on, or another --out"
            )


def hold_to_settings(path: Path, settings: dict[str, Any]) -> None:
    """Keep the settings of the work in a folder in this file of it, and refuse others than it has."""
    if path.exists():
        refuse_other_settings(path.parent, json.loads(path.read_text()), settings)
    write_json(path, settings)


@contextmanager
def claimed(lock: Path) -> Iterator[bool]:
    """Whether this process is the one that holds the lock file; it does until it ends, however that is."""
    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("ab") as file:
        try:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except ImportError:
            yield True  # no such locks on this system
        except BlockingIOError:
            yield False
        else:
            yield True


@contextmanager
def in_turn(lock: Path) -> Iterator[None]:
    """Wait until no other process holds the lock file, and hold it; one that dies lets go of it."""
    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("ab") as file:
        with suppress(ImportError):  # no such locks on this system
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX)
        yield


@contextmanager
def replacing(target: Path) -> Iterator[Path]:
    """A temporary path beside `target` that becomes it if all goes well and leaves no trace if not."""
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        yield temporary
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def compressed(path: Path, suffix: str) -> Iterator[IO[bytes]]:
    """`path` opened for writing, compressed as `suffix` (.gz, .zst, else not at all) says."""
    with path.open("wb") as raw:
        if suffix == ".gz":
            # No name and no time in the header: equal content gives equal files.
            with gzip.GzipFile("", "wb", 6, raw, mtime=0) as zipped:
                yield cast(IO[bytes], zipped)
        elif suffix == ".zst":
            import zstandard

            with zstandard.ZstdCompressor(level=6).stream_writer(raw, closefd=False) as zstd:
                yield cast(IO[bytes], zstd)
        else:
            yield raw


def write_json(path: Path, value: Any) -> None:
    """Write a record as indented JSON, whole or not at all."""
    with replacing(path) as part:
        part.write_text(json.dumps(value, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
