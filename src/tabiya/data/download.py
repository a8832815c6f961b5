"""The monthly Lichess game files: fetched, resumed and checked, and nothing half-done under a final name.

A month is up to 30 GB, so a broken line must cost nothing: bytes go to a
`.part` file that the next attempt, or the next run, continues. The file gets
its name only when its SHA-256 is the one that the server publishes.
"""

from __future__ import annotations

import hashlib
import http.client
import os
import re
import shutil
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from io import FileIO
from pathlib import Path

from tabiya.errors import UserError

BASE_URL = "https://database.lichess.org"

VARIANTS = (
    "standard",
    "antichess",
    "atomic",
    "chess960",
    "crazyhouse",
    "horde",
    "kingOfTheHill",
    "racingKings",
    "threeCheck",
)

CHUNK = 1 << 18
MAX_SUMS = 1 << 22
"""Bytes of a sums file that are read; the real one has some 20,000."""

NETWORK_ERRORS = (OSError, http.client.HTTPException)
"""What a bad line raises; urllib's own errors are OSErrors, and so is a time-out."""


@dataclass(frozen=True, kw_only=True)
class Patience:
    """How long to put up with a bad line."""

    attempts: int = 8
    """Tries in a row that bring no byte before giving up."""

    first_pause: float = 1.0
    """Seconds before the second try; each further pause is twice the last."""

    longest_pause: float = 60.0
    timeout: float = 60.0
    """Seconds of silence after which a connection counts as dead."""

    sleep: Callable[[float], None] = time.sleep


@dataclass(frozen=True)
class Downloaded:
    """One month on disk, its sum checked."""

    month: str
    file: Path
    bytes: int
    sha256: str
    fetched: int
    """Bytes that came over the line in this run; 0 if the file was there already."""


@dataclass
class Watch:
    """What a download tells about itself; the face turns it into a bar."""

    started: Callable[[str, int, int], None] = lambda _task, _total, _done: None
    """A task's name, its bytes in all, and those done before it began."""
    advanced: Callable[[int], None] = lambda _bytes: None
    paused: Callable[[str], None] = lambda _why: None


def file_name(month: str, variant: str = "standard") -> str:
    """The name that Lichess gives a month's rated games.

    >>> file_name("2013-01")
    'lichess_db_standard_rated_2013-01.pgn.zst'
    """
    if not re.fullmatch(r"20\d\d-(0[1-9]|1[0-2])", month):
        raise UserError(f"a month must read YYYY-MM, such as 2013-01, got {month!r}")
    return f"lichess_db_{variant}_rated_{month}.pgn.zst"


def published_sums(
    base_url: str, variant: str = "standard", patience: Patience | None = None
) -> dict[str, str]:
    """File name to SHA-256, as the server's sha256sums.txt has them."""
    url = f"{_checked_base(base_url)}/{variant}/sha256sums.txt"
    patience = patience or Patience()
    failures = 0
    while True:
        try:
            with _open(url, patience.timeout) as response:
                text = response.read(MAX_SUMS).decode("ascii", "replace")
                break
        except NETWORK_ERRORS as error:
            failures += 1
            _pause_or_give_up(url, error, failures, patience, Watch())
    sums = {}
    for line in text.splitlines():
        if match := re.fullmatch(r"([0-9a-fA-F]{64})[ \t]+\*?(\S+)", line.strip()):
            sums[match[2]] = match[1].lower()
    if not sums:
        raise UserError(f"{url} holds no SHA-256 sums: is {base_url} a Lichess database server?")
    return sums


def download_month(
    month: str,
    out: Path,
    sums: dict[str, str],
    base_url: str = BASE_URL,
    variant: str = "standard",
    patience: Patience | None = None,
    watch: Watch | None = None,
) -> Downloaded:
    """Bring one month into the folder `out`; a file already there is only checked."""
    name = file_name(month, variant)
    patience, watch = patience or Patience(), watch or Watch()
    if name not in sums:
        raise UserError(f"no {name} at {base_url}: {_months_there(sums)}")
    target, part = out / name, out / f"{name}.part"
    if target.exists():
        if _sha256(target, watch) != sums[name]:
            raise UserError(
                f"{target} exists but its SHA-256 is not the published one: move it away to fetch it anew"
            )
        return Downloaded(month, target, target.stat().st_size, sums[name], 0)
    out.mkdir(parents=True, exist_ok=True)
    fetched = _fetch(f"{_checked_base(base_url)}/{variant}/{name}", part, patience, watch)
    found = _sha256(part, watch)
    if found != sums[name]:
        # Kept, it would be continued for ever: its end is already there.
        part.unlink()
        raise UserError(
            f"{name} arrived with SHA-256 {found}, the server publishes {sums[name]}: "
            "it was thrown away, run the same command to fetch it anew"
        )
    os.replace(part, target)
    return Downloaded(month, target, target.stat().st_size, sums[name], fetched)


def _fetch(url: str, part: Path, patience: Patience, watch: Watch) -> int:
    """Bring `part` to the length that the server states, over as many connections as it takes.

    Returns the bytes that came over the line.
    """
    fetched = failures = 0
    # Unbuffered, so that a full disk shows at the write and not once more when the file is closed.
    with part.open("ab", buffering=0) as file:
        while True:
            before = fetched
            try:
                for count in _one_connection(url, file, patience, watch):
                    fetched += count
                os.fsync(file.fileno())
                return fetched
            except _DiskError as error:
                raise UserError(
                    f"cannot write {part}: {error}; the same command goes on where this one stopped"
                ) from None
            except NETWORK_ERRORS as error:
                failures = 1 if fetched > before else failures + 1
                _pause_or_give_up(url, error, failures, patience, watch)


class _DiskError(Exception):
    """Our own side failed: no use in trying again."""


def _write(file: FileIO, data: bytes) -> None:
    rest = memoryview(data)
    try:
        while rest:
            rest = rest[file.write(rest) :]
    except OSError as error:
        raise _DiskError(error.strerror or str(error)) from None


def _one_connection(url: str, file: FileIO, patience: Patience, watch: Watch) -> Iterator[int]:
    """Continue `file` over one connection; yields the bytes as they are written.

    Returns when the file is complete and raises a network error when the line
    broke before that.
    """
    have = file.seek(0, os.SEEK_END)
    try:
        response = _open(url, patience.timeout, have)
    except urllib.error.HTTPError as error:
        if error.code != 416:
            raise
        # Nothing lies beyond what we have: it is complete, or it is no part of this file.
        if have == _total_in(error.headers.get("Content-Range"), -1):
            return
        file.truncate(0)
        raise ConnectionError(
            "the server has fewer bytes than the .part file, so it was begun anew"
        ) from None
    with response:
        start, total = _stretch(response)
        if start != have:
            # The server ignored the range (or answered with another): what comes is the whole file.
            if start != 0:
                raise ConnectionError(f"the server answered from byte {start} when asked from byte {have}")
            file.truncate(0)
            have = 0
        if total is not None:
            _check_space(file, total - have)
        watch.started(url.rpartition("/")[2], total or 0, have)
        while data := response.read(CHUNK):
            _write(file, data)
            have += len(data)
            watch.advanced(len(data))
            yield len(data)
    if total is not None and have != total:
        raise ConnectionError(f"the connection ended after {have:,} of {total:,} bytes")


def _stretch(response: http.client.HTTPResponse) -> tuple[int, int | None]:
    """Where the answer's bytes begin in the file, and how long the file is."""
    if response.status == 206:
        match = re.fullmatch(r"bytes (\d+)-(\d+)/(\d+|\*)", response.headers.get("Content-Range", ""))
        if match is None:
            raise ConnectionError("the server's answer to a range request does not say which range it is")
        return int(match[1]), None if match[3] == "*" else int(match[3])
    length = response.headers.get("Content-Length", "")
    return 0, int(length) if length.isdigit() else None


def _total_in(content_range: str | None, otherwise: int) -> int:
    match = re.fullmatch(r"bytes \*/(\d+)", content_range or "")
    return int(match[1]) if match else otherwise


def _check_space(file: FileIO, needed: int) -> None:
    folder = Path(str(file.name)).parent
    free = shutil.disk_usage(folder).free
    if needed > free:
        raise UserError(
            f"{file.name} needs {needed / 1e9:.1f} GB more, {folder} has {free / 1e9:.1f} GB free"
        )


def _open(url: str, timeout: float, start: int = 0) -> http.client.HTTPResponse:
    request = urllib.request.Request(url, headers={"User-Agent": "tabiya", "Accept-Encoding": "identity"})
    if start:
        request.add_header("Range", f"bytes={start}-")
    response = urllib.request.urlopen(request, timeout=timeout)
    assert isinstance(response, http.client.HTTPResponse)
    return response


def _pause_or_give_up(url: str, error: Exception, failures: int, patience: Patience, watch: Watch) -> None:
    """Wait before the next try; a UserError where another try is no use."""
    why = (
        str(error.reason) if isinstance(error, urllib.error.URLError) else str(error) or type(error).__name__
    )
    pause = min(patience.longest_pause, patience.first_pause * 2 ** (failures - 1))
    if isinstance(error, urllib.error.HTTPError):
        why = f"{error.code} {error.reason}"
        if error.code < 500 and error.code not in (408, 429):
            raise UserError(f"{url}: the server says {why}") from None
        wanted = error.headers.get("Retry-After", "")
        pause = max(pause, min(600.0, float(wanted))) if wanted.isdigit() else pause
    if failures >= patience.attempts:
        raise UserError(
            f"{url}: {why}; gave up after {failures} tries without a byte, "
            "the same command goes on where this one stopped"
        ) from None
    watch.paused(f"{why}, trying again in {pause:g} s")
    patience.sleep(pause)


def _sha256(file: Path, watch: Watch) -> str:
    """Of what is on the disk, not of what we believe to have written."""
    digest = hashlib.sha256()
    watch.started(f"checking {file.name.removesuffix('.part')}", file.stat().st_size, 0)
    with file.open("rb") as stream:
        while data := stream.read(1 << 20):
            digest.update(data)
            watch.advanced(len(data))
    return digest.hexdigest()


def _checked_base(base_url: str) -> str:
    if not base_url.startswith(("http://", "https://")):
        raise UserError(f"--base-url must begin with http:// or https://, got {base_url!r}")
    return base_url.rstrip("/")


def _months_there(sums: dict[str, str]) -> str:
    months = sorted(match[0] for name in sums if (match := re.search(r"20\d\d-\d\d", name)))
    return f"its months are {months[0]} to {months[-1]}" if months else "it lists no months"
