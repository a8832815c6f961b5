"""Lines in, lines out: what both servers need of their pipes."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterable, Iterator
from typing import BinaryIO, Protocol


def spoken_lines(stream: Iterable[bytes]) -> Iterator[str]:
    """Each line as text without its end; bytes that are no UTF-8 become replacement characters."""
    for raw in stream:
        yield raw.decode("utf-8", errors="replace").strip()


class LineServer(Protocol):
    """One side of a conversation in lines."""

    def handle(self, line: str) -> bool: ...
    def end(self) -> None: ...


def converse(server: LineServer, lines: Iterable[bytes] | None = None) -> None:
    """Hand the server line after line of standard input, or `lines`, until it has heard enough."""
    for line in spoken_lines(sys.stdin.buffer if lines is None else lines):
        if not server.handle(line):
            break
    server.end()


class LineWriter:
    """Writes whole lines from any thread; once the reader is gone, silently nothing."""

    def __init__(self, stream: BinaryIO | None = None) -> None:
        self._stream = sys.stdout.buffer if stream is None else stream
        self._lock = threading.Lock()

    def __call__(self, line: str) -> None:
        with self._lock:
            try:
                self._stream.write(line.encode("utf-8", errors="replace") + b"\n")
                self._stream.flush()
            except (BrokenPipeError, ValueError):
                # Nobody listens any more; the end of input will end us.
                return
