"""`tabiya train`: a run that plays, bad input in one sentence, and the rates that --speed prints."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")

from tabiya import _core
from tabiya.cli import main
from tabiya.data.labels import write_move_labels

CONFIG = """
mind = "resnet"
steps = 4
batch = 16
warmup_steps = 1
device = "{device}"
bf16 = false
compile = false
[shape]
blocks = 1
channels = 8
squeeze = 4
[[sources]]
kind = "labels"
path = "{labels}"
share = 1.0
"""


@pytest.fixture
def config(tmp_path: Path) -> Path:
    positions = _core.random_positions(200, 11)
    offsets, _, _ = _core.successors(positions)
    write_move_labels(tmp_path / "l.moves", (positions, offsets, np.zeros(offsets[-1], np.int16)))
    path = tmp_path / "tiny.toml"
    path.write_text(CONFIG.format(device="cpu", labels=tmp_path / "l.moves"))
    return path


def test_speed_gives_both_rates_and_leaves_no_run(config: Path, tmp_path: Path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["train", str(config), "--speed", "--json"]) == 0
    figures = json.loads(capsys.readouterr().out)
    assert len(figures["fed_per_second"]) == len(figures["synthetic_per_second"]) == 3
    assert figures["share"] > 0
    assert not (tmp_path / "runs").exists()


def test_what_was_trained_plays_by_the_name_of_its_folder(config: Path, tmp_path: Path, capsys):
    run = tmp_path / "run"
    assert main(["train", str(config), "--out", str(run), "--json"]) == 0
    figures = json.loads(capsys.readouterr().out)
    assert figures["step"] == 4
    assert Path(figures["network"]).parent == run
    assert main(["move", f"resnet:{run}", "startpos", "--json"]) == 0
    decision = json.loads(capsys.readouterr().out)
    assert decision["nodes"] == 1
    assert len(decision["moves"]) == 20


def test_an_unknown_key_is_named(config: Path, tmp_path: Path, capsys):
    config.write_text("stepz = 3\n" + config.read_text())
    assert main(["train", str(config), "--out", str(tmp_path / "run")]) == 2
    assert "stepz" in capsys.readouterr().err


def test_no_gpu_where_one_was_asked_for_is_one_sentence(config: Path, tmp_path: Path, monkeypatch, capsys):
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    config.write_text(config.read_text().replace('"cpu"', '"cuda"'))
    assert main(["train", str(config), "--out", str(tmp_path / "run")]) == 2
    assert "no CUDA device here" in capsys.readouterr().err
