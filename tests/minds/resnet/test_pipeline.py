"""A pipeline whole and small: from a PGN file to an engine that plays, through every kind of end."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

from tabiya import _core  # noqa: E402
from tabiya.cli import main  # noqa: E402
from tabiya.data.fens import read_positions  # noqa: E402
from tabiya.data.labels import load_move_labels  # noqa: E402
from tabiya.data.shards import ShardFolder  # noqa: E402
from tabiya.files import checksum  # noqa: E402
from tabiya.learn.checkpoint import newest_checkpoint  # noqa: E402
from tabiya.learn.sidecar import read_sidecar  # noqa: E402
from tabiya.minds.resnet.judge import Judge  # noqa: E402
from tabiya.minds.resnet.valuing import value_moves  # noqa: E402
from tabiya.player import Limit  # noqa: E402
from tabiya.roster import open_player  # noqa: E402

ROOT = Path(__file__).resolve().parents[3]
TOY = ROOT / "configs" / "pipeline-toy.toml"
FAKE = ROOT / "tests" / "data" / "fake_teacher.py"

Json = dict[str, Any]


def random_game(seed: int, plies: int = 40) -> str:
    rng = np.random.default_rng(seed)
    board, words = _core.Board(), []
    while len(words) < plies and board.outcome() is None:
        moves = board.legal_moves()
        move = moves[rng.integers(len(moves))]
        words.append(board.san(move))
        board.push(move)
    elo, result = 2400 + seed, ("1-0", "0-1", "1/2-1/2")[seed % 3]
    tags = f'[WhiteElo "{elo}"]\n[BlackElo "{elo}"]\n[Result "{result}"]\n'
    return f"{tags}\n{' '.join(words)} {result}\n\n"


def teacher() -> str:
    """A Stockfish where there is one, else the fake."""
    found = shutil.which("stockfish") or shutil.which("stockfish", path="/usr/games")
    return found or f"{sys.executable} {FAKE}"


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Iterator[None]:
    """Small networks on busy cores: a second thread only waits, and equal bits need equal threads."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@contextmanager
def made_once(tmp_path_factory: pytest.TempPathFactory, name: str) -> Iterator[tuple[Path, bool]]:
    """A folder that all workers of the test run share, and whether it is this one's part to fill it."""
    shared = tmp_path_factory.getbasetemp()
    shared = shared.parent if "PYTEST_XDIST_WORKER" in os.environ else shared
    folder, made = shared / name, shared / f"{name}.made"
    with (shared / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield folder, not made.exists()
        made.touch()


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The toy's own file, with 300 random games and the teacher of this machine."""
    with made_once(tmp_path_factory, "pipeline-toy") as (folder, mine):
        if mine:
            folder.mkdir(exist_ok=True)
            (folder / "games.pgn").write_text("".join(map(random_game, range(300))))
            text = TOY.read_text().replace('"games.pgn"', f'"{folder / "games.pgn"}"')
            text = text.replace('command = "stockfish"', f'command = "{teacher()}"')
            (folder / "toy.toml").write_text(text)
    return folder / "toy.toml"


Capture = pytest.CaptureFixture[str]


def run_phase(phase: str, config: Path, work: Path, *options: str) -> int:
    return main(["pipeline", phase, str(config), "--out", str(work), *options])


@pytest.fixture(scope="module")
def whole(config: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The work folder of a pipeline that nothing disturbed; to be read only."""
    with made_once(tmp_path_factory, "pipeline-whole") as (work, mine):
        for phase in "abc" if mine else "":
            assert run_phase(phase, config, work, "--json") == 0
    return work


def copied(whole: Path, target: Path, *parts: str) -> Path:
    """A work folder that came as far as these parts."""
    for part in parts:
        (target / part).parent.mkdir(parents=True, exist_ok=True)
        copy = shutil.copytree if (whole / part).is_dir() else shutil.copy2
        copy(whole / part, target / part)
    return target


PHASE_A = ("a", "a.onnx", "a.json")
PHASE_B = (*PHASE_A, "b", "b.onnx", "b.json")


def edited(config: Path, target: Path, *changes: tuple[str, str]) -> Path:
    """A config with other settings; each old text must be there."""
    text = config.read_text()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, 1)
    target.write_text(text)
    return target


def refusal(capsys: Capture, phase: str, config: Path, work: Path, *options: str) -> str:
    """The one sentence with which the program refuses."""
    capsys.readouterr()
    assert run_phase(phase, config, work, *options) == 2
    error = capsys.readouterr().err
    assert error.startswith("tabiya: ")
    assert error.count("\n") == 1
    return error


def files_of(work: Path) -> dict[str, str]:
    """Every file of a work folder with its checksum, TensorBoard's aside."""
    return {
        str(path.relative_to(work)): checksum(path)
        for path in sorted(work.rglob("*"))
        if path.is_file() and "tensorboard" not in path.parts
    }


def records_of(work: Path, *stages: str) -> dict[str, Json]:
    """What the records say, but for times."""
    records = {stage: json.loads((work / f"{stage}.json").read_text()) for stage in stages}
    for record in records.values():
        del record["seconds"]
        record["did"].pop("teacher_seconds", None)
    return records


def keys_of(path: Path) -> set[int]:
    packed = read_positions(path) if path.suffix == ".fen" else load_move_labels(path)[0]
    return set(_core.position_keys(packed).tolist())


# From games to an engine ----------------------------------------------------------------------------------


def test_from_games_to_an_engine_that_plays_in_three_phases(whole: Path) -> None:
    for name in ("a", "b", "c01", "c02", "c03"):
        assert read_sidecar(whole / f"{name}.onnx")["kind"] == "resnet"
    with open_player(f"resnet:{whole}") as player:
        board = _core.Board()
        while board.outcome() is None and board.ply < 30:
            decision = player.play(board, Limit(movetime=0.1))
            assert decision.nodes == 1
            board.push(decision.move)  # an illegal one would be refused here
        assert board.ply > 5


def test_the_manifest_says_what_the_network_learned_from(whole: Path) -> None:
    learned = read_sidecar(whole / "c03.onnx")["trained_on"]
    games = ShardFolder.open(whole / "a" / "games")
    assert [tier["weight"] for tier in games.manifest["options"]["tiers"]] == [3.0, 1.0]
    assert (learned["games"], learned["positions"]) == (300, games.count("train"))
    assert learned["all_move_labels"] == len(load_move_labels(whole / "c" / "3" / "labels.moves")[0]) > 400
    assert learned["self_play_games"] == 3 * 16
    assert learned["positions_seen"] == 64 * (40 + 30 + 30 + 3 * 20)
    assert {"a/train", "b/distil", "c/3/train"} <= learned["hours"].keys()


def test_every_iteration_learns_from_all_that_was_labelled_before(whole: Path) -> None:
    labels = [whole / "b" / "labels.moves"]
    labels += [whole / "c" / str(number) / "labels.moves" for number in (1, 2, 3)]
    for number, (before, after) in enumerate(pairwise(labels), 1):
        gained = keys_of(whole / "c" / str(number) / "gained.moves")
        assert keys_of(after) == keys_of(before) | gained
        assert gained
        assert not gained & keys_of(before)


def test_the_teacher_is_asked_about_mistakes_only(whole: Path) -> None:
    folder = whole / "c" / "1"
    with np.load(folder / "played.npz", allow_pickle=False) as stored:
        packed, likeliest = stored["packed"], stored["likeliest"]
    judge = Judge.load(whole / "b" / "distil", "cpu")
    _, offsets, scores = value_moves(judge, packed)
    played_worse = {
        int(key)
        for key, slot, first, end in zip(
            _core.position_keys(packed), likeliest, offsets[:-1], offsets[1:], strict=True
        )
        if scores[first + slot] < scores[first:end].max()
    }
    asked = keys_of(folder / "asked.fen")
    assert asked
    assert asked <= played_worse
    assert len(asked) < len(packed) / 2


def test_own_labels_are_the_network_s_value_of_every_successor(whole: Path) -> None:
    packed, offsets, scores = load_move_labels(whole / "b" / "own" / "0000.moves")
    assert len(packed) > 450
    sample = slice(0, 50)
    _, expected_offsets, expected = value_moves(Judge.load(whole / "b" / "train", "cpu"), packed[sample])
    assert offsets[:51].tolist() == expected_offsets.tolist()
    assert np.abs(scores[: offsets[50]].astype(int) - expected).max() <= 1


# Going on -------------------------------------------------------------------------------------------------


def test_what_is_finished_is_not_done_again(whole: Path, config: Path, capsys: Capture) -> None:
    before = files_of(whole)
    assert run_phase("b", config, whole) == 0
    out = capsys.readouterr().out
    assert out.count("done before") == 7
    assert "resnet:" in out
    assert files_of(whole) == before


def test_records_come_as_json_and_nothing_else(whole: Path, config: Path, capsys: Capture) -> None:
    assert run_phase("a", config, whole, "--json") == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["phase"], report["complete"]) == ("a", True)
    assert report["network"] == str(whole / "a.onnx")
    assert [stage["stage"] for stage in report["stages"]] == ["a/extract", "a/train", "a/export"]
    assert report["stages"][0]["did"]["games"] == 300


DYING = """
import importlib, os, signal, sys
module, cls, method, count = sys.argv[1:5]
owner = importlib.import_module(module)
owner = getattr(owner, cls) if cls else owner
whole, calls = getattr(owner, method), []
def dies(*given, **named):
    answer = whole(*given, **named)
    calls.append(method)
    if len(calls) == int(count):
        os.kill(os.getpid(), signal.SIGKILL)
    return answer
setattr(owner, method, dies)
from tabiya.cli import main
sys.exit(main(sys.argv[5:]))
"""


@pytest.mark.parametrize(
    ("phase", "begun", "deaths", "stages", "network"),
    [
        (
            "b",
            PHASE_A,
            [
                ("tabiya.data.label_store", "MoveStore", "write", 3),
                ("tabiya.minds.resnet.training", "Run", "save", 2),
                ("tabiya.minds.resnet.pipeline.phase_b", "", "value_moves", 1),
            ],
            ("b/curate", "b/label", "b/join", "b/train", "b/value", "b/distil", "b/export"),
            "b.onnx",
        ),
        (
            "c",
            PHASE_B,
            [("tabiya.minds.resnet.pipeline.phase_c", "", "self_play", 1)],
            ("c/1/selfplay", "c/1/choose", "c/1/label", "c/1/join", "c/1/train", "c/1/export"),
            "c01.onnx",
        ),
    ],
    ids=["labelling, training, valuing", "self-play"],
)
def test_kill_nine_in_a_phase_changes_neither_records_nor_network(
    whole: Path,
    config: Path,
    tmp_path: Path,
    phase: str,
    begun: tuple[str, ...],
    deaths: list[tuple[str, str, str, int]],
    stages: tuple[str, ...],
    network: str,
) -> None:
    killed = copied(whole, tmp_path / "killed", *begun)
    words = ["pipeline", phase, str(config), "--out", str(killed)]
    words += ["--iteration", "1"] if phase == "c" else []
    for module, cls, method, count in deaths:
        ended = subprocess.run(
            [sys.executable, "-c", DYING, module, cls, method, str(count), *words],
            env={**os.environ, "OMP_NUM_THREADS": "1"},
            stdout=subprocess.DEVNULL,
        )
        assert ended.returncode == -signal.SIGKILL
    assert main(words) == 0
    assert records_of(killed, *stages) == records_of(whole, *stages)
    assert checksum(killed / network) == checksum(whole / network)


def test_minutes_that_are_over_leave_the_phase_to_go_on_with(
    whole: Path, config: Path, tmp_path: Path, capsys: Capture
) -> None:
    work = tmp_path / "work"
    assert run_phase("a", config, work, "--minutes", "0.00001", "--json") == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["complete"], report["network"]) == (False, None)
    assert run_phase("a", config, work) == 0
    assert checksum(work / "a.onnx") == checksum(whole / "a.onnx")


def test_two_machines_share_an_iteration_by_its_parts(
    whole: Path, config: Path, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = copied(whole, tmp_path / "work", *PHASE_B)
    with monkeypatch.context() as without_teacher:
        without_teacher.setattr("shutil.which", lambda *_words, **_path: None)
        assert "no engine" in refusal(capsys, "c", config, work)
        assert run_phase("c", config, work, "--only", "selfplay") == 0
    labelling = edited(config, tmp_path / "labelling.toml", ("[c.train]", '[c.train]\ndevice = "cuda"'))
    assert "run `tabiya pipeline c" in refusal(capsys, "c", config, work, "--only", "train")
    assert run_phase("c", labelling, work, "--only", "label") == 0
    if not torch.cuda.is_available():
        assert "no CUDA device" in refusal(capsys, "c", labelling, work, "--only", "train")
    assert run_phase("c", config, work, "--only", "train", "--iteration", "1") == 0
    assert checksum(work / "c01.onnx") == checksum(whole / "c01.onnx")


def test_labelling_everything_ends_when_the_teacher_s_time_is_spent(
    whole: Path, config: Path, tmp_path: Path
) -> None:
    work = copied(whole, tmp_path / "work", *PHASE_B)
    change = ('label = "mistakes"\nmax_positions = 100', 'label = "all"\nteacher_minutes = 0.00001')
    frugal = edited(config, tmp_path / "frugal.toml", change)
    assert run_phase("c", frugal, work, "--only", "selfplay") == 0
    assert run_phase("c", frugal, work, "--only", "label") == 0
    did = json.loads((work / "c" / "1" / "label.json").read_text())["did"]
    assert did["labelled"] == 64 < did["asked"]  # one chunk, to learn the price
    asked = read_positions(work / "c" / "1" / "asked.fen")
    assert load_move_labels(work / "c" / "1" / "asked.moves")[0].tolist() == asked[:64].tolist()


# What is refused ------------------------------------------------------------------------------------------


def test_other_settings_are_refused_and_nothing_is_touched(
    whole: Path, config: Path, tmp_path: Path, capsys: Capture
) -> None:
    before = files_of(whole)
    other = edited(config, tmp_path / "other.toml", ("blocks = 1", "blocks = 2"))
    assert "shape.blocks = 1, now it is 2" in refusal(capsys, "b", other, whole)
    other = edited(config, tmp_path / "other.toml", ("positions = 500", "positions = 800"))
    assert "positions = 500, now it is 800" in refusal(capsys, "c", other, whole)
    assert files_of(whole) == before


def test_a_teacher_that_is_not_installed_is_missed_before_the_work(
    whole: Path, config: Path, tmp_path: Path, capsys: Capture
) -> None:
    work = copied(whole, tmp_path / "work", *PHASE_A)
    before = files_of(work)
    command = f"command = {json.dumps(teacher())}"
    missing = edited(config, tmp_path / "missing.toml", (command, 'command = "no-such-engine"'))
    assert "no engine 'no-such-engine' found" in refusal(capsys, "b", missing, work)
    assert files_of(work) == before


def _damage_checkpoint(work: Path) -> Path:
    path = newest_checkpoint(work / "a" / "train")
    assert path is not None
    content = bytearray(path.read_bytes())
    content[-100] ^= 1
    path.write_bytes(content)
    return path


def _age_shards(work: Path) -> Path:
    path = work / "a" / "games" / "manifest.json"
    path.write_text(path.read_text().replace('"version": 1', '"version": 99', 1))
    return path


def test_an_iteration_without_mistakes_learns_from_what_there_is(
    whole: Path, config: Path, tmp_path: Path
) -> None:
    work = copied(whole, tmp_path / "work", *PHASE_B)
    faultless = edited(config, tmp_path / "faultless.toml", ("margin = 0.01", "margin = 1.0"))
    assert run_phase("c", faultless, work, "--iteration", "1") == 0
    assert records_of(work, "c/1/join")["c/1/join"]["did"]["gained"] == 0
    assert keys_of(work / "c" / "1" / "labels.moves") == keys_of(work / "b" / "labels.moves")
    assert checksum(work / "c01.onnx") != checksum(work / "b.onnx")


@pytest.mark.parametrize(
    ("harm", "sentence"),
    [(_damage_checkpoint, "is damaged"), (_age_shards, "tabiya-positions version 99")],
    ids=["a damaged checkpoint", "a shard of another version"],
)
def test_bad_files_are_refused_and_once_mended_the_phase_goes_on(
    whole: Path,
    config: Path,
    tmp_path: Path,
    capsys: Capture,
    harm: Callable[[Path], Path],
    sentence: str,
) -> None:
    work = copied(whole, tmp_path / "work", *PHASE_A)
    before = files_of(work)
    harmed = harm(work)
    assert sentence in refusal(capsys, "b", config, work, "--only", "curate")
    shutil.copy2(whole / harmed.relative_to(work), harmed)
    (work / "b" / "curate.json").unlink()
    (work / "b").rmdir()
    assert files_of(work) == before
    assert run_phase("b", config, work, "--only", "curate") == 0
    assert records_of(work, "b/curate") == records_of(whole, "b/curate")


def test_phases_and_parts_have_their_order(
    whole: Path, config: Path, tmp_path: Path, capsys: Capture
) -> None:
    work = tmp_path / "work"
    assert f"run `tabiya pipeline a {config}` first" in refusal(capsys, "b", config, work)
    assert "no part 'lable', it has selfplay, label, train" in refusal(
        capsys, "c", config, whole, "--only", "lable"
    )
    assert "must be 1 to 3" in refusal(capsys, "c", config, whole, "--iteration", "4")
    assert "phase a has no iterations" in refusal(capsys, "a", config, whole, "--iteration", "1")
