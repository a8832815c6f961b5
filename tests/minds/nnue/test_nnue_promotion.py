"""An NNUE takes the shipped one's place by games that are searched, and with a manifest of its own kind."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tabiya import _core
from tabiya.cli import main
from tabiya.cli.promote import kind_of
from tabiya.files import checksum
from tabiya.learn import promotion
from tabiya.learn.sidecar import read_sidecar, write_sidecar
from tabiya.minds.nnue import shelf
from tabiya.minds.nnue.promotion import network_inputs, network_parameters, shipped_shelf

QUICK = ["--nodes", "60", "--max-moves", "40", "--elo1", "200"]
WORTH = {"pawn": 1, "knight": 3, "bishop": 3, "rook": 5, "queen": 9, "king": 0}


def counting(path: Path, pawn: float) -> Path:
    """A network that counts wood, a pawn as so many pawns: below zero, it gives everything away."""
    features = _core.FeatureSet("ALL")
    own = np.zeros(features.size, np.float32)
    for number in range(features.size):
        color, piece = features.name(number).split()[:2]
        own[number] = WORTH[piece] / 40 if color == "white" else 0.0
    first = {"biases": np.zeros(1, np.float32), "weights": own}
    none = np.zeros(0, np.float32)
    stack = {
        "l2_biases": np.array([0.5], np.float32),
        "l2_weights": np.array([1.0, -1.0], np.float32),
        "extra_biases": none,
        "extra_weights": none,
        "output_biases": np.array([-3 * pawn], np.float32),
        "output_weights": np.array([6 * pawn], np.float32),
    }
    network = _core.QuantisedNetwork.rounded("ALL", (1, 1, 0, 1), (0, 6, 10, 600), first, [stack])
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(network.content())
    return path


@pytest.fixture
def shipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A shelf of its own with a network that gives everything away."""
    folder = tmp_path / "assets"
    monkeypatch.setattr(shelf, "SHIPPED", folder)
    monkeypatch.chdir(tmp_path)
    network = counting(folder / "main.nnue", -1)
    write_sidecar(network, kind="nnue", inputs=network_inputs(network), parameters=7, measured={"elo": 900})
    return folder


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def test_a_run_that_wins_replaces_the_shipped_network(
    shipped: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old = checksum(shipped / "main.nnue")
    candidate = counting(tmp_path / "run" / "step-00000020.nnue", 1)
    (tmp_path / "run" / "config.json").write_text('{"mind": "nnue", "batch": 100}')
    log = [
        {"step": 20, "seconds": 90.0, "loss": 0.5},
        {"step": 20, "seconds": 93.0, "validation_games_loss": 0.25},
        {"step": 30, "seconds": 140.0, "loss": 0.4},
    ]
    (tmp_path / "run" / "log.jsonl").write_text("".join(json.dumps(line) + "\n" for line in log))
    assert main(["promote", "run", *QUICK, "--json"]) == 0
    outcome = json.loads(capsys.readouterr().out)
    assert outcome["match"]["pace"] == {"nodes": 60}
    assert sorted(content(shipped)) == ["main.json", "main.nnue"]
    assert (shipped / "main.nnue").read_bytes() == candidate.read_bytes()
    manifest = read_sidecar(shipped / "main.nnue")
    assert (manifest["name"], manifest["kind"], manifest["features"]) == ("main", "nnue", "ALL")
    assert manifest["shape"] == {"l1": 1, "l2": 1, "extra": 0, "buckets": 1}
    assert manifest["parameters"] == 768 + 1 + 2 + 1 + 1 + 1
    assert manifest["config"] == {"mind": "nnue", "batch": 100}
    assert manifest["trained_on"] == {
        "steps": 20,
        "device_minutes": 1.55,
        "validation_games_loss": 0.25,
        "positions_seen": 2000,
    }
    won = manifest["measured"]["promotion"]
    assert (won["sprt"]["verdict"], won["replaced"], won["faults"]) == ("H1", old, {})
    assert "elo" not in manifest["measured"]
    # Games of other networks are never taken for these.
    settings = json.loads(Path(outcome["record"]).with_name("settings.json").read_text())
    assert settings["players"] == [f"candidate-{checksum(candidate)[:12]}", f"shipped-{old[:12]}"]


def test_a_network_that_loses_changes_nothing(
    shipped: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good = counting(tmp_path / "good.nnue", 1)
    assert main(["promote", str(good), "--force", "for the test"]) == 0
    before = content(shipped)
    bad = counting(tmp_path / "bad.nnue", -1)
    capsys.readouterr()
    assert main(["promote", str(bad), *QUICK]) == 1
    assert "the shipped network stays" in capsys.readouterr().out
    assert content(shipped) == before


def test_what_cannot_be_promoted_is_refused_before_any_game(
    shipped: Path, tmp_path: Path, make_network: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    before = content(shipped)
    damaged = tmp_path / "damaged.nnue"
    damaged.write_bytes(make_network("whole.nnue").read_bytes()[:-9])
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "config.json").write_text('{"mind": "nnue"}')
    for words, sentence in {
        (str(damaged),): f"{damaged} cannot be used",
        (str(tmp_path / "none.nnue"),): "no network",
        ("run",): "no .nnue file in the folder run",
        (str(shipped / "main.nnue"),): "is the shipped network already",
        (str(make_network("other.nnue")), "--games", "9000"): "9000 games need 4500 different openings",
        (str(make_network("other.nnue")), "--nodes", "0"): "--nodes must be at least 1, got 0",
    }.items():
        assert main(["promote", *words]) == 2
        said = capsys.readouterr().err
        assert sentence in said
        assert said.count("\n") == 1
    assert content(shipped) == before
    assert not (tmp_path / "results").exists()


def test_a_kill_between_the_two_renames_is_mended(
    shipped: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    class KilledError(BaseException):
        pass

    real, done = os.replace, list[object]()

    def replace(*names: str) -> None:
        if done:
            raise KilledError
        done.append(names)
        real(*names)

    candidate = counting(tmp_path / "new.nnue", 1)
    with monkeypatch.context() as patch:
        patch.setattr(promotion.os, "replace", replace)
        with pytest.raises(KilledError):
            shipped_shelf().install(candidate, {"forced": "for the test"})
    assert shelf.network_path("", shipped) == shipped / "main.nnue"
    assert main(["promote", str(candidate), *QUICK]) == 2
    assert "finished an earlier promotion of main.nnue" in capsys.readouterr().err
    assert sorted(content(shipped)) == ["main.json", "main.nnue"]
    assert read_sidecar(shipped / "main.nnue")["measured"]["promotion"]["forced"] == "for the test"


def test_a_folder_tells_by_its_config_or_its_files_whose_network_it_holds(tmp_path: Path) -> None:
    assert kind_of(tmp_path) == "resnet"
    (tmp_path / "a.nnue").touch()
    assert kind_of(tmp_path) == "nnue"
    (tmp_path / "config.json").write_text('{"mind": "resnet"}')
    assert kind_of(tmp_path) == "resnet"
    assert kind_of(tmp_path / "a.nnue") == "nnue"


def test_parameters_are_counted_in_the_file(make_network: Callable[..., Path]) -> None:
    path = make_network("n.nnue", l1=16, l2=8)
    assert network_parameters(path) == 768 * 16 + 16 + 2 * 16 * 8 + 8 + 8 + 1
