"""`tabiya data stats`, `download`, `export` and `import` as a user meets them."""

from __future__ import annotations

import functools
import hashlib
import http.server
import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tabiya import _core
from tabiya.cli import main

MONTH_FILE = "lichess_db_standard_rated_2013-01.pgn.zst"


@pytest.fixture
def folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    """A data folder made of lines, as a user would make one."""
    fens = _core.unpack_fens(_core.random_positions(300, 21))
    lines = (
        {
            "fen": fen,
            "game": i // 10,
            "result": (i // 10) % 3 - 1,
            "white_elo": 2000 + i,
            "black_elo": 2100,
            "eval": i,
        }
        for i, fen in enumerate(fens)
    )
    file = tmp_path / "lines.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert main(["data", "import", str(file), "--out", str(tmp_path / "folder")]) == 0
    assert "positions to train on" in capsys.readouterr().out
    return tmp_path / "folder"


def test_stats_prints_tables_with_bars(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["data", "stats", str(folder)]) == 0
    text = capsys.readouterr().out
    assert f"{folder}: 300 positions of 30 games" in text
    for word in (
        "split",
        "result",
        "average rating",
        "half-moves played",
        "duplicates",
        "█",
        "evaluations   300",
    ):
        assert word in text


def test_stats_prints_its_figures_as_json(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["data", "stats", str(folder), "--json"]) == 0
    stats = json.loads(capsys.readouterr().out)
    assert stats["positions"] == 300 == sum(stats["splits"].values())
    assert {"games", "results", "ratings", "plies", "evaluations", "tiers", "duplicates", "labels"} <= set(
        stats
    )


def test_stats_draws_a_picture(folder: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib, the extra `plot`, is not installed")
    assert main(["data", "stats", str(folder), "--plot", str(tmp_path / "picture.svg")]) == 0
    assert "<svg" in (tmp_path / "picture.svg").read_text()


def test_an_export_imported_again_exports_the_same(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = tmp_path / "first.jsonl.zst", tmp_path / "second.jsonl"
    assert main(["data", "export", str(folder), "--out", str(first), "--split", "all", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"positions": 300, "out": str(first)}
    assert main(["data", "import", str(first), "--out", str(tmp_path / "again"), "--json"]) == 0
    counts = json.loads(capsys.readouterr().out)
    assert (counts["positions"], counts["broken"]) == (300, 0)
    assert main(["data", "export", str(folder), "--out", str(second), "--max", "25"]) == 0
    assert len(second.read_text().splitlines()) == 25


def test_skipped_lines_are_named_on_the_way(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "lines.jsonl"
    start = json.dumps({"fen": _core.Board().fen()})
    file.write_text("\n".join([start, *["nonsense"] * 7]))
    assert main(["data", "import", str(file), "--out", str(tmp_path / "folder")]) == 0
    told = capsys.readouterr().err.splitlines()
    assert told[0].startswith("tabiya: skipped lines.jsonl:2: not JSON")
    assert told[5] == f"tabiya: skipped 7 lines in all, see {tmp_path}/folder/manifest.json"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    """A server of plain files with one month; Python's own, which knows no ranges."""
    root = tmp_path / "server"
    (root / "standard").mkdir(parents=True)
    content = b"games " * 50_000
    (root / "standard" / MONTH_FILE).write_bytes(content)
    sums = f"{hashlib.sha256(content).hexdigest()}  {MONTH_FILE}\n"
    (root / "standard" / "sha256sums.txt").write_text(sums)

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_args: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(root)))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()
    thread.join()


def test_a_month_is_downloaded_once(server: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["data", "download", "2013-01", "--base-url", server, "--out", str(tmp_path / "games")]
    assert main(words) == 0
    assert "0.3 MB fetched, SHA-256 checked" in capsys.readouterr().out
    assert main([*words, "--json"]) == 0
    (file,) = json.loads(capsys.readouterr().out)["files"]
    assert (file["month"], file["bytes"], file["fetched"]) == ("2013-01", 300_000, 0)
    assert Path(file["file"]).read_bytes() == b"games " * 50_000


# words, and what the one sentence on standard error says
MISTAKES = [
    (["stats", "{tmp}/nowhere"], "no manifest.json in {tmp}/nowhere"),
    (["stats", "{folder}", "--plot", "{tmp}/picture.gif"], "a plot is a .png or a .svg file"),
    (["export", "{folder}"], "--out"),
    (["export", "{folder}", "--out", "{tmp}"], "is a folder"),
    (["export", "{folder}", "--out", "{tmp}/x.jsonl", "--max", "0"], "--max must be at least 1, got 0"),
    (["export", "{folder}", "--out", "{tmp}/x.jsonl", "--split", "test"], "--split"),
    (["export", "{folder}", "--out", "/dev/null/x.jsonl"], "/dev/null"),
    (["import", "{tmp}/nowhere.jsonl", "--out", "{tmp}/new"], "no file {tmp}/nowhere.jsonl"),
    (["import", "{tmp}/lines.jsonl", "--out", "{folder}"], "exists and is not an empty folder"),
    (["import", "{tmp}/lines.jsonl", "--out", "/dev/null/new"], "/dev/null"),
    (["download", "2013-1"], "a month must read YYYY-MM, such as 2013-01, got '2013-1'"),
    (["download", "2013-01", "--base-url", "ftp://here"], "--base-url must begin with http"),
    (["download", "2013-01", "--variant", "draughts"], "--variant"),
]


@pytest.mark.parametrize(("words", "sentence"), MISTAKES)
def test_a_mistake_is_one_sentence_and_changes_nothing(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], sentence: str
) -> None:
    before = {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()}
    filled = [word.replace("{tmp}", str(tmp_path)).replace("{folder}", str(folder)) for word in words]
    assert main(["data", *filled]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.count("\n") == 1
    assert sentence.replace("{tmp}", str(tmp_path)) in told.err
    assert {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()} == before
