"""`tabiya tournament` as a user meets it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tabiya.cli import main

ROOT = Path(__file__).resolve().parents[2]
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


LIST = """\
out = "list"
depth = 1
max_moves = 5
games = 4
[[players]]
name = "anchor"
player = "random?Seed=1"
anchor = 500
within = 400
[[players]]
name = "other"
player = "random"
within = 400
"""


def test_a_list_from_a_file_is_played_until_it_is_sharp_and_goes_on(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("list.toml").write_text(LIST)
    assert main(["tournament", "--config", "list.toml", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result == json.loads(Path("list/result.json").read_text())
    assert {line["name"] for line in result["ratings"]["players"]} == {"anchor", "other"}
    assert main(["tournament", "--config", "list.toml"]) == 0
    assert "known" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("old", "new", "words", "sentence"),
    [
        ("depth = 1", "dpeth = 1", [], "did you mean 'depth'?"),
        ('"other"', '"anchor"', [], "the same name"),
        ("within = 400", "within = 0", [], "wider than 0"),
        ("", "", ["random"], "stand in the file"),
        ('out = "list"', 'out = "list"\ntake = ["no.pgn"]', [], "no file no.pgn"),
    ],
)
def test_a_mistake_in_the_file_of_a_list_is_one_sentence(
    old: str, new: str, words: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("list.toml").write_text(LIST.replace(old, new))
    assert main(["tournament", *words, "--config", "list.toml"]) == 2
    captured = capsys.readouterr()
    assert sentence in captured.err
    assert captured.err.count("\n") == 1


def test_the_list_that_is_shipped_has_minds_simple_players_and_anchors_at_their_intervals() -> None:
    from tabiya.cli.tournament_config import ListConfig
    from tabiya.learn.config import load_config

    config = load_config(ROOT / "configs" / "rating-list.toml", ListConfig)
    within = {player.name: player.within for player in config.players}
    # The rest are rungs: weaker settings of these, and one engine more.
    assert all(within[name] <= 30 for name in ("resnet", "transformer", "nnue", "genetic"))
    assert all(within[name] <= 75 for name in ("turing", "montecarlo", "random"))
    outside = [player for player in config.players if player.player.startswith("uci:")]
    assert sum(player.within <= 30 for player in outside) >= 6
    assert sum(player.anchor is not None for player in config.players) >= 3
    played = json.loads((ROOT / "results" / "rating-list" / "result.json").read_text())
    known = {line["name"]: line for line in played["ratings"]["players"]}
    assert {name: line["within"] for name, line in known.items()} == within
    assert all(line["sharp"] for line in known.values())
