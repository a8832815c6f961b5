"""Monthly files from a server that behaves, and from servers that do not."""

from __future__ import annotations

import hashlib
import http.server
import re
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tabiya.data import download
from tabiya.data.download import Patience, Watch, download_month, file_name, published_sums
from tabiya.errors import UserError

MONTH = "2013-01"
NAME = "lichess_db_standard_rated_2013-01.pgn.zst"
CONTENT = bytes(range(256)) * 4000 + b"the end"
SUM = hashlib.sha256(CONTENT).hexdigest()


class Server(http.server.ThreadingHTTPServer):
    """A Lichess database of one month; its manners can be spoilt."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.files = {f"/standard/{NAME}": CONTENT, "/standard/sha256sums.txt": f"{SUM}  {NAME}\n".encode()}
        self.ranges_honoured = True
        self.shifted_range = 0
        self.cuts: list[int] = []
        """Bytes after which each answer for the month in turn is cut off."""
        self.errors: list[int] = []
        """Status codes with which requests in turn are turned away."""
        self.retry_after: str | None = None
        self.asked: list[str | None] = []
        """The Range header of every request for the month."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class Handler(http.server.BaseHTTPRequestHandler):
    server: Server

    def log_message(self, *_args: Any) -> None:
        pass

    def do_GET(self) -> None:
        server, content = self.server, self.server.files.get(self.path)
        asked = self.headers.get("Range")
        if self.path.endswith(".zst"):
            server.asked.append(asked)
        if server.errors or content is None:
            self.send_response(server.errors.pop(0) if content is not None else 404)
            if server.retry_after:
                self.send_header("Retry-After", server.retry_after)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        start = 0
        if asked and server.ranges_honoured:
            start = int(re.fullmatch(r"bytes=(\d+)-", asked)[1])  # type: ignore[index]
            if start >= len(content):
                self.send_response(416)
                self.send_header("Content-Range", f"bytes */{len(content)}")
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            start += server.shifted_range
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
        else:
            self.send_response(200)
        body = content[start:]
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.path.endswith(".zst") and server.cuts:
            body = body[: server.cuts.pop(0)]
        self.wfile.write(body)
        self.wfile.flush()


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


class Pauses(list[float]):
    """Remembers how long it was asked to sleep and does not."""

    def patience(self, attempts: int = 4) -> Patience:
        return Patience(attempts=attempts, timeout=5, sleep=self.append)


def fetch(
    server: Server, out: Path, pauses: Pauses | None = None, watch: Watch | None = None
) -> download.Downloaded:
    patience = (pauses if pauses is not None else Pauses()).patience()
    sums = published_sums(server.url, patience=patience)
    return download_month(MONTH, out, sums, server.url, patience=patience, watch=watch)


def test_a_month_arrives_whole_and_checked(server: Server, tmp_path: Path) -> None:
    result = fetch(server, tmp_path / "games")
    assert result.file == tmp_path / "games" / NAME
    assert result.file.read_bytes() == CONTENT
    assert (result.bytes, result.fetched, result.sha256) == (len(CONTENT), len(CONTENT), SUM)
    assert [file.name for file in result.file.parent.iterdir()] == [NAME]


def test_a_month_already_there_is_checked_and_not_fetched_again(server: Server, tmp_path: Path) -> None:
    fetch(server, tmp_path)
    assert fetch(server, tmp_path).fetched == 0
    assert server.asked == [None]


def test_a_part_left_by_an_earlier_run_is_continued(server: Server, tmp_path: Path) -> None:
    (tmp_path / f"{NAME}.part").write_bytes(CONTENT[:500_000])
    result = fetch(server, tmp_path)
    assert server.asked == ["bytes=500000-"]
    assert result.fetched == len(CONTENT) - 500_000
    assert result.file.read_bytes() == CONTENT


def test_a_part_that_is_already_whole_is_only_checked(server: Server, tmp_path: Path) -> None:
    (tmp_path / f"{NAME}.part").write_bytes(CONTENT)
    result = fetch(server, tmp_path)
    assert result.fetched == 0
    assert result.file.read_bytes() == CONTENT


def test_a_part_longer_than_the_file_is_begun_anew(server: Server, tmp_path: Path) -> None:
    (tmp_path / f"{NAME}.part").write_bytes(CONTENT + b"of another file")
    assert fetch(server, tmp_path).file.read_bytes() == CONTENT
    assert server.asked == [f"bytes={len(CONTENT) + 15}-", None]


def test_a_server_that_ignores_ranges_sends_the_file_from_its_start(server: Server, tmp_path: Path) -> None:
    server.ranges_honoured = False
    (tmp_path / f"{NAME}.part").write_bytes(CONTENT[:500_000])
    result = fetch(server, tmp_path)
    assert result.file.read_bytes() == CONTENT
    assert result.fetched == len(CONTENT)


def test_a_server_that_answers_with_another_range_is_not_believed(server: Server, tmp_path: Path) -> None:
    server.shifted_range = 3
    part = tmp_path / f"{NAME}.part"
    part.write_bytes(CONTENT[:500_000])
    with pytest.raises(UserError, match="answered from byte 500003 when asked from byte 500000"):
        fetch(server, tmp_path)
    assert part.read_bytes() == CONTENT[:500_000]
    assert not (tmp_path / NAME).exists()


def test_a_connection_cut_in_the_middle_is_taken_up_again(server: Server, tmp_path: Path) -> None:
    server.cuts = [300_000, 200_000]
    pauses = Pauses()
    assert fetch(server, tmp_path, pauses).file.read_bytes() == CONTENT
    assert server.asked == [None, "bytes=300000-", "bytes=500000-"]
    assert pauses == [1, 1]  # bytes came each time, so patience began anew


def test_a_line_that_brings_nothing_is_given_up_and_the_part_kept(server: Server, tmp_path: Path) -> None:
    server.cuts = [300_000, 0, 0, 0, 0, 0]
    pauses = Pauses()
    with pytest.raises(UserError, match=r"300,000 of 1,024,007 bytes; gave up after 4 tries"):
        fetch(server, tmp_path, pauses)
    assert pauses == [1, 2, 4]
    assert (tmp_path / f"{NAME}.part").read_bytes() == CONTENT[:300_000]
    assert not (tmp_path / NAME).exists()
    server.cuts = []
    assert fetch(server, tmp_path).fetched == len(CONTENT) - 300_000


def test_a_busy_server_is_given_the_time_it_asks_for(server: Server, tmp_path: Path) -> None:
    server.errors, server.retry_after = [503, 429], "17"
    pauses = Pauses()
    assert fetch(server, tmp_path, pauses).file.read_bytes() == CONTENT
    assert pauses == [17, 17]


def test_a_server_that_stays_busy_is_given_up(server: Server) -> None:
    server.errors = [500] * 9
    with pytest.raises(UserError, match=r"500 Internal Server Error; gave up after 4 tries"):
        published_sums(server.url, patience=Pauses().patience())


def test_a_file_with_the_wrong_sum_is_thrown_away_and_told(server: Server, tmp_path: Path) -> None:
    server.files[f"/standard/{NAME}"] = CONTENT[:-1] + b"?"
    with pytest.raises(UserError, match=f"the server publishes {SUM}: it was thrown away"):
        fetch(server, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_strange_file_under_the_final_name_is_left_alone(server: Server, tmp_path: Path) -> None:
    (tmp_path / NAME).write_bytes(b"mine")
    with pytest.raises(UserError, match="is not the published one: move it away"):
        fetch(server, tmp_path)
    assert (tmp_path / NAME).read_bytes() == b"mine"


def test_a_month_that_is_not_listed_is_refused_with_those_that_are(server: Server, tmp_path: Path) -> None:
    sums = published_sums(server.url)
    with pytest.raises(
        UserError, match=r"no lichess_db_standard_rated_2031-12.*its months are 2013-01 to 2013-01"
    ):
        download_month("2031-12", tmp_path, sums, server.url)


def test_a_listed_month_that_is_gone_is_told_at_once(server: Server, tmp_path: Path) -> None:
    sums = published_sums(server.url)
    del server.files[f"/standard/{NAME}"]
    pauses = Pauses()
    with pytest.raises(UserError, match="the server says 404"):
        download_month(MONTH, tmp_path, sums, server.url, patience=pauses.patience())
    assert pauses == []


def test_a_server_without_sums_is_no_lichess_database(server: Server) -> None:
    with pytest.raises(UserError, match=r"/atomic/sha256sums\.txt: the server says 404"):
        published_sums(server.url, "atomic")
    server.files["/standard/sha256sums.txt"] = b"<html>welcome</html>"
    with pytest.raises(UserError, match="holds no SHA-256 sums"):
        published_sums(server.url)


def test_nobody_at_the_address_is_one_sentence() -> None:
    with pytest.raises(UserError, match=r"refused.*gave up after 4 tries"):
        published_sums("http://127.0.0.1:1", patience=Pauses().patience())


@pytest.mark.parametrize("month", ["2013", "2013-13", "2013-1", "13-01", "../etc", "2013-01\n", ""])
def test_a_misspelt_month_is_refused(month: str) -> None:
    with pytest.raises(UserError, match="a month must read YYYY-MM"):
        file_name(month)


@pytest.mark.parametrize("address", ["file:///etc", "database.lichess.org", "ftp://host"])
def test_only_web_addresses_are_taken(address: str) -> None:
    with pytest.raises(UserError, match="--base-url must begin with http"):
        published_sums(address)


def test_a_disk_too_small_is_told_before_the_bytes_come(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _folder: SimpleNamespace(free=1000))
    with pytest.raises(UserError, match=r"needs 0\.0 GB more, .* has 0\.0 GB free"):
        fetch(server, tmp_path)


def test_a_disk_that_fills_up_ends_the_download_and_keeps_the_part(server: Server, tmp_path: Path) -> None:
    part = tmp_path / f"{NAME}.part"
    part.symlink_to("/dev/full")
    pauses = Pauses()
    with pytest.raises(UserError, match=r"cannot write .*\.part: No space left on device"):
        fetch(server, tmp_path, pauses)
    assert pauses == []
    assert part.is_symlink()
    assert not (tmp_path / NAME).exists()


def test_progress_starts_where_the_part_ends_and_reaches_the_total(server: Server, tmp_path: Path) -> None:
    (tmp_path / f"{NAME}.part").write_bytes(CONTENT[:500_000])
    tasks: list[list[Any]] = []
    watch = Watch(
        lambda task, total, done: tasks.append([task, total, done]),
        lambda count: tasks[-1].__setitem__(2, tasks[-1][2] + count),
    )
    fetch(server, tmp_path, watch=watch)
    assert tasks == [[NAME, len(CONTENT), len(CONTENT)], [f"checking {NAME}", len(CONTENT), len(CONTENT)]]


def test_a_folder_that_cannot_be_written_is_told_at_once(server: Server, tmp_path: Path) -> None:
    (tmp_path / f"{NAME}.part").mkdir()
    pauses = Pauses()
    with pytest.raises(IsADirectoryError):
        fetch(server, tmp_path, pauses)
    assert pauses == []
