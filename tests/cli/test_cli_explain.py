"""`tabiya explain` as a user calls it."""

from __future__ import annotations

import json

import pytest

from tabiya.cli import main

FORK = "r1b1k2r/ppp2ppp/8/3N4/8/8/PPP2PPP/R3K2R w KQkq - 0 1"


def test_a_move_is_explained_in_three_files_and_some_sentences(tmp_path, capsys):
    assert main(["explain", "resnet?threads=1", FORK, "--out", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    assert "Nxc7+" in said
    assert "1. " in said
    assert {path.suffix for path in tmp_path.iterdir()} == {".html", ".png", ".json"}


def test_json_alone_writes_no_files(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["explain", "resnet?threads=1", *FORK.split(), "--json", "--pairs", "none"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["move"] == "d5c7"
    assert isinstance(shown["dropped"], int)
    assert list(tmp_path.iterdir()) == []


def test_moves_give_the_position_a_past(capsys):
    assert (
        main(["explain", "random?seed=1", "startpos", "--moves", "e4", "e7e5", "--json", "--nodes", "1"]) == 0
    )
    assert json.loads(capsys.readouterr().out)["fen"].startswith("rnbqkbnr/pppp1ppp/8/4p3/4P3")


def test_speed_counts_the_interventions(capsys):
    assert main(["explain", "resnet?threads=1", "startpos", "--speed", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["occlusion"]["interventions"] >= 64
    assert shown["occlusion"]["seconds"] >= 0
    assert "pairs" not in shown


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        (["resnet", "8/8/8/8/8/8/8/8 w - - 0 1"], "king"),
        (["resnet", "startpos", "--moves", "e5"], "e5"),
        (["resnte", "startpos"], "did you mean 'resnet'"),
        (["random", "R5k1/5ppp/8/8/8/8/5PPP/6K1 b - - 0 1"], "no move to explain"),
        (["resnet", "startpos", "--pairs", "some"], "some"),
        (["human", "startpos"], "cannot be looked into"),
    ],
)
def test_bad_input_is_one_sentence(capsys, words, fault):
    assert main(["explain", *words]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert fault in said
