"""Files as this program reads and writes them: compressed or not, and never half of one.

The endings .gz, .bz2, .xz and .zst are known here. A compressed file that was
cut off or damaged is refused with a sentence (the libraries' own readers take
a cut for the end), and a file that is written appears only when it is whole.
"""

from __future__ import annotations

import bz2
import io
import lzma
import os
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from tabiya.errors import UserError

CHUNK = 1 << 18


def _zstd_decoder() -> Any:
    import zstandard

    return zstandard.ZstdDecompressor().decompressobj()


_DECODERS: dict[str, Callable[[], Any]] = {
    ".gz": lambda: zlib.decompressobj(wbits=31),
    ".bz2": bz2.BZ2Decompressor,
    ".xz": lzma.LZMADecompressor,
    ".zst": _zstd_decoder,
}


class _Decoded(io.RawIOBase):
    """The content of a compressed file, member after member."""

    def __init__(self, path: Path) -> None:
        self._path, self._new_decoder = path, _DECODERS[path.suffix]
        self._file = path.open("rb")
        self._decoder: Any = None
        self._ready = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._ready:
            if not self._decode(self._file.read(CHUNK)):
                return 0
        size = min(len(buffer), len(self._ready))
        buffer[:size] = self._ready[:size]
        self._ready = self._ready[size:]
        return size

    def _decode(self, chunk: bytes) -> bool:
        """Decode one chunk of the file; False at its proper end."""
        if not chunk:
            if self._decoder is not None:
                raise UserError(
                    f"{self._path} is cut off: the end of its {self._path.suffix} data is missing"
                )
            return False
        decoded = []
        while chunk:
            self._decoder = self._decoder or self._new_decoder()
            try:
                decoded.append(self._decoder.decompress(chunk))
            except Exception as error:  # zlib, lzma, bz2 and zstandard raise errors of no common kind
                raise UserError(f"{self._path} is damaged: {error}") from None
            chunk = self._decoder.unused_data if self._decoder.eof else b""
            self._decoder = None if self._decoder.eof else self._decoder
        self._ready = b"".join(decoded)
        return True

    def close(self) -> None:
        self._file.close()
        super().close()


def open_binary(path: str | Path) -> IO[bytes]:
    """A file's content as bytes, decompressed as its ending says."""
    path = Path(path)
    try:
        if path.suffix in _DECODERS:
            return io.BufferedReader(_Decoded(path), CHUNK)
        return path.open("rb")
    except FileNotFoundError:
        raise UserError(f"no file {path}") from None
    except IsADirectoryError:
        raise UserError(f"{path} is a folder, a file is needed") from None


def open_text(path: str | Path) -> IO[str]:
    """A file's content as UTF-8 text, decompressed as its ending says; odd bytes become '�'."""
    return io.TextIOWrapper(open_binary(path), encoding="utf-8-sig", errors="replace", newline=None)


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
