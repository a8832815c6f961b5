"""A phase of the pipeline on another machine: its results here, whatever happens to the connection."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("onnxruntime")

from tabiya import _core
from tabiya.cli import main
from tabiya.data.labels import load_move_labels
from tabiya.errors import UserError
from tabiya.learn.checkpoint import newest_checkpoint
from tabiya.learn.log import read_log
from tabiya.player import Limit
from tabiya.remote.errand import inputs, relative
from tabiya.remote.host import Host
from tabiya.remote.job import Job
from tabiya.roster import open_player

ROOT = Path(__file__).resolve().parents[2]
FAKE = ROOT / "tests" / "data" / "fake_teacher.py"
TOY = ROOT / "configs" / "pipeline-toy.toml"


def random_game(seed: int) -> str:
    chance = np.random.default_rng(seed)
    board, words = _core.Board(), []
    while len(words) < 30 and board.outcome() is None:
        moves = board.legal_moves()
        move = moves[chance.integers(len(moves))]
        words.append(board.san(move))
        board.push(move)
    return f'[WhiteElo "2500"]\n[BlackElo "2500"]\n[Result "1-0"]\n\n{" ".join(words)} 1-0\n\n'


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the toy's config and some games in it, where the command is given."""
    folder = tmp_path / "here"
    folder.mkdir()
    shutil.copy(TOY, folder / "toy.toml")
    (folder / "games.pgn").write_text("".join(map(random_game, range(60))))
    monkeypatch.chdir(folder)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    return folder


def there(tmp_path: Path) -> list[str]:
    return ["--remote-dir", str(tmp_path / "there"), "--remote-python", sys.executable]


def begun(command: list[str]) -> subprocess.Popen[str]:
    words = [sys.executable, "-m", "tabiya", *command]
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def wait_for(happens: Callable[[], object], process: subprocess.Popen[str]) -> None:
    end = time.monotonic() + 300
    while not happens():
        assert process.poll() is None, process.communicate()[0]
        assert time.monotonic() < end
        time.sleep(0.02)


def held_python(tmp_path: Path) -> tuple[Path, Path]:
    """A Python that does not end while we look, however fast the machine, and the file that holds it."""
    waits, held = tmp_path / "python", tmp_path / "held"
    waits.write_text(
        f'#!/bin/sh\n{sys.executable} "$@"\ncode=$?\nwhile [ -e {held} ]; do sleep 0.1; done\nexit $code\n'
    )
    waits.chmod(0o755)
    held.touch()
    return waits, held


def cut_once(server, process: subprocess.Popen[str]) -> None:
    """The server drops every connection it has; one is taken up again."""
    cut = server.connections()
    assert cut
    for connection in cut:
        os.kill(connection, signal.SIGKILL)
    wait_for(lambda: set(server.connections()) - set(cut), process)


def test_a_phase_goes_on_without_its_connection_and_its_network_comes_home(
    server, here: Path, tmp_path: Path, capsys
):
    waits, held = held_python(tmp_path)
    where = ["--remote-dir", str(tmp_path / "there"), "--remote-python", str(waits)]
    command = ["pipeline", "a", "toy.toml", *server.options, *where]
    training = tmp_path / "there/files/runs/pipeline-toy/a/train"
    first = begun(command)
    try:
        wait_for(lambda: newest_checkpoint(training), first)
        session = (tmp_path / "there/job/pid").read_text()
        # The server drops the connection, which is taken up again; then the one who asked is killed.
        cut_once(server, first)
    finally:
        first.kill()
        held.unlink()
    said = first.communicate()[0]
    assert "trying again" in said, said

    second = subprocess.run([sys.executable, "-m", "tabiya", *command], capture_output=True, text=True)
    assert second.returncode == 0, second.stderr
    assert "play it: tabiya play human resnet:runs/pipeline-toy/a" in second.stdout
    assert (tmp_path / "there/job/pid").read_text() == session, "one command did it all"
    run = here / "runs/pipeline-toy/a/train"
    assert [line["step"] for line in read_log(run) if "loss" in line] == [10, 20, 30, 40]
    newest = newest_checkpoint(run)
    assert newest is not None
    assert newest.read_bytes() == (training / newest.name).read_bytes()
    with open_player("resnet:runs/pipeline-toy") as player:
        assert player.play(_core.Board(), Limit()).move in _core.Board().legal_moves()

    # What came home is the work of the same command here: nothing is left to do.
    capsys.readouterr()
    assert main(["pipeline", "a", "toy.toml", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["complete"]
    assert main([*command, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == report


def test_labels_and_self_play_are_made_there_and_the_next_phase_builds_on_them(
    server, here: Path, tmp_path: Path, capsys
):
    text = TOY.read_text().replace('command = "stockfish"', f'command = "{sys.executable} {FAKE}"')
    (here / "toy.toml").write_text(text.replace("iterations = 3", "iterations = 1"))
    work, away = here / "runs/pipeline-toy", tmp_path / "there/files/runs/pipeline-toy"
    assert main(["pipeline", "a", "toy.toml", "--json"]) == 0

    # Phase b there, on what phase a made here; the connection is lost once the teacher has spoken.
    waits, held = held_python(tmp_path)
    where = [*server.options, "--remote-dir", str(tmp_path / "there"), "--remote-python", str(waits)]
    asking = begun(["pipeline", "b", "toy.toml", *where])
    try:
        wait_for(lambda: (away / "b/hard.moves").exists(), asking)
        cut_once(server, asking)
    except BaseException:
        asking.kill()
        raise
    finally:
        held.unlink()
    said = asking.communicate(timeout=300)[0]
    assert asking.returncode == 0, said
    assert "trying again" in said
    assert "play it: tabiya play human resnet:runs/pipeline-toy/b" in said
    asked = json.loads((work / "b/hard.moves.json").read_text())
    assert asked["teacher"] == "Fake Teacher 1"
    labels = load_move_labels(work / "b/labels.moves")[0]
    assert 0 < len(labels) <= asked["labelled"]
    assert not (here / "runs/pipeline-toy/c").exists()

    # Phase c there, on what came home of phase b.
    capsys.readouterr()
    assert main(["pipeline", "c", "toy.toml", *where, "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["complete"]
    gained = load_move_labels(work / "c/1/gained.moves")[0]
    assert len(load_move_labels(work / "c/1/labels.moves")[0]) == len(labels) + len(gained)
    with open_player("resnet:runs/pipeline-toy") as player:
        assert player.play(_core.Board(), Limit()).move in _core.Board().legal_moves()

    # Nothing is left to do here, for either of them.
    for phase in ("b", "c"):
        assert main(["pipeline", phase, "toy.toml", "--json"]) == 0
        here_too = json.loads(capsys.readouterr().out)
        assert here_too["complete"]
    assert here_too == report


def test_what_is_wrong_there_is_one_sentence_here(server, here: Path, tmp_path: Path, capsys):
    (here / "toy.toml").write_text("blocsk = 3\n")
    assert main(["pipeline", "a", "toy.toml", *server.options, *there(tmp_path)]) == 2
    said = capsys.readouterr()
    assert "blocsk" in said.out
    assert "Traceback" not in said.out + said.err


def test_another_command_does_not_disturb_one_that_runs(server, here: Path, tmp_path: Path, capsys):
    folder = str(tmp_path / "there")
    key, config = (Path(server.options[server.options.index(name) + 1]) for name in ("--key", "--ssh-config"))
    waits = tmp_path / "waits"
    waits.write_text("#!/bin/sh\nexec sleep 60\n")
    waits.chmod(0o755)
    job = Job(Host(server.options[1], server.port, key, config), folder, str(waits))
    job.prepare()
    job.start(["pipeline"], own_output=False)
    try:
        assert job.find().state == "running"
        assert main(["pipeline", "b", "toy.toml", *server.options, *there(tmp_path)]) == 2
        assert "is at work in" in capsys.readouterr().err
    finally:
        os.killpg(int((tmp_path / "there/job/pid").read_text()), signal.SIGKILL)
    end = time.monotonic() + 60
    while (found := job.find()).state == "running" and time.monotonic() < end:
        time.sleep(0.1)
    assert (found.state, found.code) == ("died", None)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--remote", "me@127.0.0.1", "--port", "1"], "cannot reach me@127.0.0.1"),
        (["--remote", "me@127.0.0.1", "--key", "no-such-key"], "no key no-such-key"),
        (["--remote", "-oProxyCommand=x"], "--remote reads USER@HOST"),
        (["--remote", "me@there", "--port", "70000"], "--port must lie between 1 and 65535"),
        (["--remote", "me@there", "--remote-dir", "a b"], "--remote-dir must be a path"),
        (["--remote", "me@there", "--out", "/elsewhere"], "/elsewhere does not"),
        (["--key", "k"], "--key is for --remote"),
    ],
)
def test_bad_input_is_one_sentence(options: list[str], sentence: str, server, here: Path, capsys):
    # argparse takes a word with a dash for an option unless it is joined to its own.
    joined = [f"{options[0]}={options[1]}", *options[2:]]
    assert main(["pipeline", "a", "toy.toml", *joined]) == 2
    said = capsys.readouterr().err.strip()
    assert sentence in said
    assert said.count("\n") == 0


def test_a_machine_without_rsync_is_named(server, here: Path, tmp_path: Path, monkeypatch, capsys):
    monkeypatch.setattr("tabiya.remote.job.NEEDED", ("rsync-that-nobody-has",))
    assert main(["pipeline", "a", "toy.toml", *server.options, *there(tmp_path)]) == 2
    assert "has no rsync-that-nobody-has: install it there" in capsys.readouterr().err


def test_without_rsync_here_nothing_is_tried(here: Path, monkeypatch, capsys):
    monkeypatch.setattr("shutil.which", lambda program: None if program == "rsync" else f"/bin/{program}")
    assert main(["pipeline", "a", "toy.toml", "--remote", "me@there"]) == 2
    assert "--remote needs rsync, which is not installed here" in capsys.readouterr().err


def test_what_a_config_names_is_brought_along(here: Path):
    (here / "labels").mkdir()
    for name in ("labels/x.moves", "labels/y.moves", "two.pgn", "stockfish"):
        (here / name).touch()
    values = {
        "work": "labels",
        "teacher": {"command": "stockfish"},
        "a": {"games": ["*.pgn"], "sources": [{"path": "labels/x.moves:labels/y.moves"}, {"path": "@games"}]},
    }
    found = inputs("toy.toml", values)
    assert found[0] == "toy.toml"
    assert sorted(found[1:]) == ["games.pgn", "labels/x.moves", "labels/y.moves", "two.pgn"]


@pytest.mark.parametrize("path", ["/data/games.pgn", "../games.pgn"])
def test_a_path_that_means_something_else_there_is_refused(path: str):
    with pytest.raises(UserError, match="put a link to it here"):
        relative(path)
