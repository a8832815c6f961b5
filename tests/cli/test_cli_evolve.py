"""`tabiya evolve` as a user meets it."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from tabiya.cli import main

SMALL = Path(__file__).resolve().parents[1] / "minds" / "genetic" / "small.conf"


def evolve(*words: object) -> int:
    return main(["evolve", *(str(word) for word in words)])


def test_a_pool_is_evolved_shown_and_played(tmp_path, capsys):
    assert evolve(SMALL, "--out", tmp_path, "--every-round") == 0
    out = capsys.readouterr().out
    assert out.count("Gene pool ID: 0") == out.count("Gene pool ID: 1") == 10
    assert "40 games in 10 turns" in out
    assert "Most wins:" in out
    assert main(["move", f"genetic:{tmp_path / 'pool.txt'}", "startpos", "--depth", "2", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["move"]) == 4


def test_the_last_figures_as_json(tmp_path, capsys):
    assert evolve(SMALL, "--out", tmp_path, "--games", 8, "--json") == 0
    assert json.loads(capsys.readouterr().out)["games"] == 8
    assert evolve(SMALL, "--out", tmp_path, "--games", 12, "--json") == 0
    figures = json.loads(capsys.readouterr().out)
    assert (figures["games"], figures["games_this_run"]) == (12, 4)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (("gene pool count = 2\n", ""), "lacks the setting 'gene pool count'"),
        (("population = 4", "population = -4"), "must be an even number of at least 2, got '-4'"),
        (("seed = 7", "sead = 7"), "did you mean 'seed'?"),
    ],
)
def test_a_bad_config_is_one_sentence_and_writes_nothing(tmp_path, capsys, change, sentence):
    path = tmp_path / "bad.conf"
    path.write_text(SMALL.read_text().replace(*change))
    out = tmp_path / "out"
    assert evolve(path, "--out", out) == 2
    error = capsys.readouterr().err
    assert sentence in error
    assert error.count("\n") == 1
    assert not out.exists()


def test_a_truncated_pool_file_is_one_sentence_and_stays_as_it_is(tmp_path, capsys):
    evolve(SMALL, "--out", tmp_path, "--games", 8, "--json")
    pool = tmp_path / "pool.txt"
    pool.write_bytes(pool.read_bytes()[:1000])
    capsys.readouterr()
    assert evolve(SMALL, "--out", tmp_path) == 2
    assert "is cut short" in capsys.readouterr().err
    assert pool.stat().st_size == 1000


@pytest.mark.parametrize("words", [("--games", 0), ("--minutes", -1), ("--concurrency", 0)])
def test_a_senseless_limit_is_refused(tmp_path, capsys, words):
    assert evolve(SMALL, "--out", tmp_path, *words) == 2
    assert "must be more than 0" in capsys.readouterr().err


def running(folder: Path) -> subprocess.Popen[str]:
    """An evolution with no end of its own, some turns after its start."""
    path = folder / "endless.conf"
    path.write_text(SMALL.read_text().replace("maximum games = 40\n", ""))
    run = subprocess.Popen(
        [sys.executable, "-m", "tabiya", "evolve", str(path), "--out", str(folder), "--json"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # Who runs the tests in the background may have Ctrl-C ignored, and children inherit that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    try:
        wait_for(lambda: turns(folder) > 1)
    except BaseException:
        run.kill()
        raise
    return run


def turns(folder: Path) -> int:
    try:
        return int(json.loads((folder / "pool.txt_state.json").read_text())["world"]["turn"])
    except FileNotFoundError:
        return 0


def wait_for(condition, seconds: float = 180.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)


def test_ctrl_c_stops_at_once_and_the_pool_goes_on(tmp_path, capsys):
    run = running(tmp_path)
    run.send_signal(signal.SIGINT)
    _, error = run.communicate(timeout=60)
    assert run.returncode == 130
    assert "goes on with" in error
    games = 4 * turns(tmp_path)
    assert evolve(SMALL, "--out", tmp_path, "--games", games + 4, "--json") == 0
    assert json.loads(capsys.readouterr().out)["games"] == games + 4


def test_ctrl_z_stops_after_the_running_games_and_fg_goes_on(tmp_path):
    run = running(tmp_path)
    try:
        run.send_signal(signal.SIGTSTP)
        wait_for(lambda: stopped(run.pid))
        before = turns(tmp_path)
        run.send_signal(signal.SIGCONT)
        wait_for(lambda: turns(tmp_path) > before + 1)
    finally:
        run.send_signal(signal.SIGCONT)
        run.send_signal(signal.SIGINT)
        run.communicate(timeout=60)


def stopped(process: int) -> bool:
    return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "T"


def test_at_a_terminal_keys_pause_go_on_and_end(tmp_path):
    path = tmp_path / "endless.conf"
    path.write_text(SMALL.read_text().replace("maximum games = 40\n", ""))
    ours, theirs = pty.openpty()
    run = subprocess.Popen(
        [sys.executable, "-m", "tabiya", "evolve", str(path), "--out", str(tmp_path)],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "100", "LINES": "50"},
    )
    os.close(theirs)
    shown: list[bytes] = []
    reader = threading.Thread(target=read_all, args=(ours, shown), daemon=True)
    reader.start()
    try:
        wait_for(lambda: b"Gene pool ID" in b"".join(shown))
        os.write(ours, b"p")
        wait_for(lambda: b"paused; p goes on, q ends" in b"".join(shown))
        before = turns(tmp_path)
        time.sleep(0.3)
        assert turns(tmp_path) == before
        os.write(ours, b"p")
        wait_for(lambda: turns(tmp_path) > before)
        os.write(ours, b"q")
        assert run.wait(60) == 0
    finally:
        run.kill()
        run.wait()
    reader.join(10)
    os.close(ours)
    assert b"the oldest survivor is" in b"".join(shown)


def read_all(descriptor: int, into: list[bytes]) -> None:
    """All that comes, until the other end is closed, which Linux tells as an error."""
    with contextlib.suppress(OSError):
        while piece := os.read(descriptor, 4096):
            into.append(piece)
