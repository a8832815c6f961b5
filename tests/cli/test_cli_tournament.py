"""`tabiya tournament` as a user meets it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tabiya.cli import main

SHORT = ["--games", "2", "--depth", "1", "--max-moves", "5"]


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_a_round_robin_prints_a_list_and_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        main(["tournament", "random", "random?Seed=1", "random?Seed=2", *SHORT, "--anchor", "Seed=1=500"])
        == 0
    )
    out = capsys.readouterr().out
    assert out.startswith("6 games\n")
    assert "anchor" in out
    assert "wins-losses-draws" in out
    assert "White's advantage" in out


def test_a_gauntlet_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["random", "random?Seed=1", "random?Seed=2", *SHORT, "--gauntlet", "--json", "--out", "t"]
    assert main(["tournament", *words]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["games"] == 4
    assert result["form"] == "gauntlet"
    assert len(result["ratings"]["players"]) == 3
    assert result == json.loads(Path("t/result.json").read_text())


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["random"], "at least 2 players"),
        (["random", "random", "--anchor", "random"], "--anchor reads NAME=RATING"),
        (["random", "random", "--anchor", "turing=1500"], "'turing' is none of"),
        (["random", "random", "--anchor", "random=much"], "--anchor reads NAME=RATING"),
        (["random", "random", "--anchor", "random=1", "--anchor", "random=2"], "given twice"),
        (["random", "nobody"], "unknown player 'nobody'"),
    ],
)
def test_a_mistake_is_one_sentence_and_exit_code_2(
    words: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["tournament", *words, *SHORT]) == 2
    captured = capsys.readouterr()
    assert sentence in captured.err
    assert captured.err.count("\n") == 1
