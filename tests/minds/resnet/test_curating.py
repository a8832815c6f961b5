"""Hard positions by what a network's second look tells."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from tabiya import _core  # noqa: E402
from tabiya.cli import main  # noqa: E402
from tabiya.data.labels import held_out  # noqa: E402
from tabiya.learn.checkpoint import save_checkpoint  # noqa: E402
from tabiya.minds.resnet import curating  # noqa: E402
from tabiya.minds.resnet.curating import hardest, told  # noqa: E402
from tabiya.minds.resnet.judge import Judge  # noqa: E402
from tabiya.minds.resnet.network import ResNet, ResNetShape  # noqa: E402
from tabiya.minds.resnet.reconsidering import Reconsidering  # noqa: E402

SHAPE = {"blocks": 1, "channels": 8, "squeeze": 4}
PUZZLES = "PuzzleId,FEN,Moves,Rating,Themes\none,6k1/5ppp/8/8/8/8/5PPP/R5K1 b - - 0 1,h7h6 a1a8,600,mate\n"
PUZZLE = "6k1/5pp1/7p/8/8/8/5PPP/R5K1 w - - 0 2"


@pytest.fixture
def judge() -> Judge:
    torch.manual_seed(3)
    return Judge(ResNet(ResNetShape(**SHAPE)), torch.device("cpu"))


def test_a_position_with_one_move_tells_nothing(judge: Judge, monkeypatch: pytest.MonkeyPatch):
    keen = Reconsidering(sources=(), moves=80, least=0.0, temperature=1e-4)
    monkeypatch.setattr(curating, "SECOND_LOOK", keen)
    packed = np.concatenate(
        [_core.pack_fens(["7k/8/8/8/8/8/1r6/K7 w - - 0 1"]), _core.random_positions(9, 1)]
    )
    tells = told(judge, packed, 1)
    assert tells.shape == (10,)
    assert tells[0] == 0
    assert (tells[1:] > 0.01).all()


def test_the_hardest_are_those_that_are_told_most_and_none_is_held_out():
    packed = _core.random_positions(400, 2)
    tells = np.random.default_rng(4).random(400).astype(np.float32)
    few = hardest(packed, tells, least=0.3, maximum=20)
    allowed = np.flatnonzero(~held_out(packed))
    assert len(allowed) < 400
    assert sorted(few) == sorted(allowed[np.argsort(-tells[allowed])[:20]])
    assert list(few) != sorted(few)
    everything = hardest(packed, tells, least=0.3, maximum=None)
    assert sorted(everything) == [row for row in allowed if tells[row] >= 0.3]


def test_the_command_lists_hard_positions_away_from_puzzles(
    tmp_path: Path, judge: Judge, capsys: pytest.CaptureFixture[str]
):
    network = tmp_path / "step-00000001.safetensors"
    weights = {f"model.{name}": value for name, value in judge.network.state_dict().items()}
    save_checkpoint(network, weights, {"step": 1, "config": {"shape": SHAPE}})
    fens = _core.unpack_fens(_core.random_positions(60, 5))
    (tmp_path / "own.fen").write_text("\n".join([*fens, PUZZLE]) + "\n")
    (tmp_path / "puzzles.csv").write_text(PUZZLES)
    words = ["data", "curate", tmp_path / "own.fen", "--network", network, "--device", "cpu", "--told", "0"]
    words += ["--puzzles", tmp_path / "puzzles.csv", "--out", tmp_path / "hard.fen", "--json"]
    assert main([str(word) for word in words]) == 0
    report = json.loads(capsys.readouterr().out)
    hard = (tmp_path / "hard.fen").read_text().splitlines()
    assert report["looked_at"] == 61
    assert report["hard"] == len(hard) > 50
    assert PUZZLE not in hard
    assert set(hard) == set(fens)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--told", "0.1"], "--network"),
        (["--network", "x", "--gap", "0.1"], "needs no labels"),
        (["--network", "x", "--told", "-1"], "negative"),
    ],
)
def test_options_that_do_not_go_together(tmp_path: Path, capsys, options: list[str], says: str):
    (tmp_path / "own.fen").write_text(PUZZLE + "\n")
    words = ["data", "curate", str(tmp_path / "own.fen"), "--out", str(tmp_path / "hard.fen"), *options]
    assert main(words) == 2
    assert says in capsys.readouterr().err


def test_labels_are_no_list_of_positions(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "own.moves").write_bytes(b"")
    words = ["data", "curate", tmp_path / "own.moves", "--out", tmp_path / "hard.fen", "--network", "x"]
    assert main([str(word) for word in words]) == 2
    assert "a list (.fen, .epd)" in capsys.readouterr().err
