"""Numbered lines out of compressed files, and compressed files to write lines to.

Beside what `tabiya.files` gives, a reader here learns the number of each line,
the checksum and the progress in stored bytes, with bounded memory even where a
line has no end. The endings .gz, .bz2 and .zst are known.
"""

from __future__ import annotations

import bz2
import gzip
import hashlib
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import IO, Any, TypeAlias, cast

from tabiya.errors import UserError
from tabiya.files import replacing as replacing

Report: TypeAlias = Callable[[int], None]
"""Is told of each step's amount (bytes, lines), for a progress bar."""

LONGEST_LINE = 1 << 20
"""Bytes of a line that are kept; what is longer is cut, so that memory stays bounded."""

CHUNK = 1 << 16


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


def numbered_lines(file: Path, digest: hashlib._Hash, report: Report) -> Iterator[tuple[int, bytes]]:
    """The lines that hold anything, with their numbers from 1.

    `digest` sees the bytes as they are stored, `report` how many were read.
    """
    number, rest = 0, b""
    for chunk in chain(_content(file, digest, report), [b"\n"]):
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


def _content(file: Path, digest: hashlib._Hash, report: Report) -> Iterator[bytes]:
    new_decoder = _DECODERS.get(file.suffix)
    decoder: Any = None
    with file.open("rb") as stream:
        while chunk := stream.read(CHUNK):
            digest.update(chunk)
            report(len(chunk))
            if new_decoder is None:
                yield chunk
                continue
            while chunk:
                decoder = decoder or new_decoder()
                yield _decoded(decoder, chunk, file)
                chunk = decoder.unused_data if decoder.eof else b""
                decoder = None if decoder.eof else decoder
    if decoder is not None:
        raise UserError(f"{file} is cut off: the end of its {file.suffix} data is missing")


def _decoded(decoder: Any, chunk: bytes, file: Path) -> bytes:
    try:
        return bytes(decoder.decompress(chunk))
    except Exception as error:  # zlib.error, OSError and ZstdError have no other ancestor in common
        raise UserError(f"{file} is damaged: {error}") from None


def _zstd_decoder() -> Any:
    import zstandard

    return zstandard.ZstdDecompressor().decompressobj()


_DECODERS: dict[str, Callable[[], Any]] = {
    ".gz": lambda: zlib.decompressobj(wbits=31),
    ".bz2": bz2.BZ2Decompressor,
    ".zst": _zstd_decoder,
}
