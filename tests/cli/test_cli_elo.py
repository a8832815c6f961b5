"""`tabiya elo` on games that others played."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tabiya.cli import main


def game(white: str, black: str, result: str, turn: str = "?") -> str:
    tags = f'[Event "e"]\n[Round "{turn}"]\n[White "{white}"]\n[Black "{black}"]\n[Result "{result}"]\n'
    return f"{tags}\n1. e4 e5 {result}\n\n"


@pytest.fixture
def two(tmp_path: Path) -> Path:
    path = tmp_path / "two.pgn"
    path.write_text(game("a", "b", "1-0") * 40 + game("b", "a", "1-0") * 40 + game("b", "a", "1/2-1/2") * 20)
    return path


@pytest.fixture
def three(tmp_path: Path) -> Path:
    path = tmp_path / "three.pgn"
    path.write_text(
        game("a", "b", "1-0") * 3 + game("b", "a", "1-0") + game("b", "c", "1-0") * 3 + game("c", "b", "1-0")
    )
    return path


def test_two_players_get_their_elo(two: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["elo", str(two), "--json", "--sprt", "0,10"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert (result["wins"], result["draws"], result["losses"]) == (40, 20, 40)
    assert result["elo"] == 0
    assert result["elo_95"] == [-61.54, 61.54]
    assert result["los"] == 0.5
    assert "pentanomial" not in result
    assert result["sprt"]["verdict"] == "continue"
    assert result["players"] == ["a", "b"]
    assert result["pgn"] == str(two)


def test_the_other_player_can_be_asked_for(
    three: Path, two: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["elo", str(two), "--player", "b"]) == 0
    assert capsys.readouterr().out.startswith("b against a: 100 games")


def test_pairs_of_a_file_make_a_narrower_interval(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "pairs.pgn"
    path.write_text(
        "".join(game("a", "b", "1-0", f"{n}.1") + game("b", "a", "1-0", f"{n}.2") for n in range(1, 41))
    )
    assert main(["elo", str(path), "--json"]) == 0
    paired = json.loads(capsys.readouterr().out)
    path.write_text(game("a", "b", "1-0") * 40 + game("b", "a", "1-0") * 40)
    assert main(["elo", str(path), "--json"]) == 0
    single = json.loads(capsys.readouterr().out)
    assert paired["pentanomial"] == [0, 0, 40, 0, 0]
    assert paired["elo_95"][1] < single["elo_95"][1]


def test_three_players_get_a_rating_list(three: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["elo", str(three), "--json", "--anchor", "b=1500"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert [player["name"] for player in result["ratings"]["players"]] == ["a", "b", "c"]
    assert result["ratings"]["players"][1]["rating"] == 1500
    assert main(["elo", str(three)]) == 0
    assert "White's advantage" in capsys.readouterr().out


def test_two_players_with_an_anchor_are_a_rating_list_too(
    two: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["elo", str(two), "--json", "--anchor", "a=1000"]) == 0
    assert len(json.loads(capsys.readouterr().out)["ratings"]["players"]) == 2


def test_games_left_out_are_mentioned(two: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with two.open("a") as stream:
        stream.write(game("a", "b", "*"))
    assert main(["elo", str(two)]) == 0
    assert "1 games left out, the first at line 801" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["none.pgn"], "none.pgn"),
        (["empty.pgn"], "no games in empty.pgn"),
        (["unfinished.pgn"], "no game in unfinished.pgn has two players and a result"),
        (["cut.pgn.gz"], "cut.pgn.gz is"),
        (["three.pgn", "--sprt", "0,5"], "--sprt needs the games of 2 players"),
        (["three.pgn", "--anchor", "x=1"], "'x' is none of a, b, c"),
        (["two.pgn", "--player", "x"], "'x' is none of the players: a, b"),
        ([], "required"),
    ],
)
def test_a_mistake_is_one_sentence_and_exit_code_2(
    words: list[str],
    sentence: str,
    two: Path,
    three: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(two.parent)
    Path("empty.pgn").write_text("")
    Path("unfinished.pgn").write_text(game("a", "b", "*"))
    Path("cut.pgn.gz").write_bytes(b"\x1f\x8b\x08\x00\x00")
    assert main(["elo", *words]) == 2
    captured = capsys.readouterr()
    assert sentence in captured.err
    assert captured.err.splitlines()[-1].startswith("tabiya: ")
    assert captured.out == ""
