"""`tabiya minds`: who is there, and only ratings that were measured."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tabiya.cli import main
from tabiya.cli import minds as cli_minds
from tabiya.learn.sidecar import write_sidecar
from tabiya.roster import KINDS


def minds(capsys, *arguments: str) -> dict[str, dict[str, object]]:
    assert main(["minds", "--json", *arguments]) == 0
    return {mind["kind"]: mind for mind in json.loads(capsys.readouterr().out)["minds"]}


@pytest.fixture(autouse=True)
def assets(tmp_path, monkeypatch) -> Path:
    """A folder of shipped minds in the place of the package's own."""
    monkeypatch.setattr(cli_minds, "ASSETS", tmp_path / "assets")
    return tmp_path / "assets"


def ship(assets: Path, **more) -> Path:
    """A network, as far as `minds` looks at one, with its manifest."""
    network = assets / "resnet" / "main.onnx"
    network.parent.mkdir(parents=True)
    network.write_bytes(b"weights" * 1000)
    write_sidecar(network, kind="resnet", planes=18, parameters=4_160_000, **more)
    return network


def test_every_kind_is_listed_and_nothing_is_claimed_without_a_measurement(capsys, tmp_path):
    found = minds(capsys, "--results", str(tmp_path))
    assert list(found) == list(KINDS)
    assert all(mind["rating"] is None for mind in found.values())
    assert main(["minds", "--results", str(tmp_path)]) == 0
    assert capsys.readouterr().out.count("not measured") == len(KINDS)


def test_the_newest_rating_list_has_the_last_word(capsys, tmp_path):
    for age, rating in ((200, 700.0), (100, 812.5)):
        folder = tmp_path / f"run-{age}"
        folder.mkdir()
        path = folder / "result.json"
        path.write_text(
            json.dumps(
                {"players": [{"name": "turing", "rating": rating, "rating_95": [rating - 9, rating + 9]}]}
            )
        )
        os.utime(path, (1_000_000 - age, 1_000_000 - age))
    turing = minds(capsys, "--results", str(tmp_path))["turing"]
    assert (turing["rating"], turing["rating_95"]) == (812.5, [803.5, 821.5])
    assert turing["measured_in"] == str(tmp_path / "run-100" / "result.json")
    main(["minds", "--results", str(tmp_path)])
    assert "812 (804 to 822)" in capsys.readouterr().out


def test_a_tournament_s_own_result_is_read(capsys, tmp_path):
    (tmp_path / "rating-list").mkdir()
    players = [{"name": "turing", "rating": 1100.0, "rating_95": [1050.0, 1150.0]}]
    content = {"kind": "tournament", "ratings": {"players": players}}
    (tmp_path / "rating-list" / "result.json").write_text(json.dumps(content))
    assert minds(capsys, "--results", str(tmp_path))["turing"]["rating"] == 1100.0


def test_other_files_among_the_results_are_left_alone(capsys, tmp_path):
    for name, text in {
        "a.json": "not json",
        "b.json": "[1, 2]",
        "c.json": '{"players": 3}',
        "d.json": '{"players": [{"name": "turing", "rating": null}, 5, {"rating": 3}]}',
    }.items():
        (tmp_path / name).write_text(text)
    assert minds(capsys, "--results", str(tmp_path))["turing"]["rating"] is None


def test_the_rating_in_the_manifest_is_shown_with_the_size(capsys, tmp_path, assets):
    elo = {"rating": 1912.4, "rating_95": [1880, 1945], "record": "results/ladder/result.json"}
    ship(assets, measured={"elo": elo})
    (tmp_path / "list.json").write_text('{"players": [{"name": "resnet", "rating": 1200}]}')
    resnet = minds(capsys, "--results", str(tmp_path))["resnet"]
    assert (resnet["rating"], resnet["rating_95"]) == (1912.4, [1880, 1945])
    assert resnet["measured_in"] == "results/ladder/result.json"
    assert (resnet["parameters"], resnet["bytes"]) == (4_160_000, 7000)
    main(["minds", "--results", str(tmp_path)])
    said = " ".join(capsys.readouterr().out.split())
    assert "4.16 M parameters" in said
    assert "1912 (1880 to" in said


def test_a_plain_number_will_do_and_other_measurements_are_no_rating(capsys, tmp_path, assets):
    network = ship(assets, measured={"elo": 1700})
    resnet = minds(capsys, "--results", str(tmp_path / "none"))["resnet"]
    assert (resnet["rating"], resnet["rating_95"]) == (1700, None)
    assert resnet["measured_in"] == str(network.with_suffix(".json"))
    write_sidecar(network, kind="resnet", planes=18, parameters=1, measured={"promotion": {"elo": 50}})
    assert minds(capsys, "--results", str(tmp_path / "none"))["resnet"]["rating"] is None


def test_the_manifest_of_another_network_says_nothing(capsys, tmp_path, assets):
    network = ship(assets, measured={"elo": 1700})
    network.write_bytes(b"other weights")
    resnet = minds(capsys, "--results", str(tmp_path / "none"))["resnet"]
    assert (resnet["rating"], resnet["parameters"]) == (None, None)
