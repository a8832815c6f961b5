"""`tabiya match` as a user meets it: JSON, files, and one sentence for every mistake."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tabiya.cli import main

SHORT = ["--games", "4", "--depth", "1", "--max-moves", "5"]


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_json_has_the_promised_keys(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["match", "random", "random", *SHORT, "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert set(result) >= {
        "games",
        "wins",
        "draws",
        "losses",
        "score_share",
        "elo",
        "elo_95",
        "los",
        "pgn",
    }
    assert result["games"] == 4
    assert Path(result["pgn"]).exists()
    assert Path(result["pgn"]).parts[0] == "results"


def test_the_same_command_finds_its_folder_again(capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(2):
        assert main(["match", "random", "random", *SHORT]) == 0
    assert len(list(Path("results").iterdir())) == 1
    assert main(["match", "random", "random", *SHORT, "--seed", "2"]) == 0
    assert len(list(Path("results").iterdir())) == 2
    assert "random against random (2): 4 games" in capsys.readouterr().out


def test_people_read_elo_pairs_and_where_the_games_are(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--sprt", "0,400", "--out", "m", "--pgn", "games.pgn", "--concurrency", "2"]
    assert main(["match", "random", "random", *SHORT, *words]) == 0
    out = capsys.readouterr().out
    assert "Elo " in out
    assert "pairs by points" in out
    assert "SPRT [0, 400] logistic" in out
    assert "games games.pgn, result m/result.json" in out
    assert Path("m/result.json").exists()


def test_a_book_with_fewer_openings_than_pairs_is_mentioned(capsys: pytest.CaptureFixture[str]) -> None:
    Path("book.epd").write_text("rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - 0 1\n")
    assert main(["match", "random", "random", *SHORT, "--book", "book.epd"]) == 0
    assert "the book has 1 openings for 2 pairs" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["random", "nobody"], "unknown player 'nobody'"),
        (["random", "uci:/no/such/engine"], "/no/such/engine"),
        (["random", "random", "--games", "0"], "at least 1 game"),
        (["random", "random", "--games", "ten"], "--games"),
        (["random", "random", "--tc", "soon"], "a time control reads"),
        (["random", "random", "--tc", "10", "--movetime", "5"], "exclude each other"),
        (["random", "random", "--movetime", "0.1"], "milliseconds, at least 1; 0.1 is less"),
        (["random", "random", "--nodes", "0"], "nodes must be at least 1"),
        (["random", "random", "--depth", "-1"], "depth must be at least 1"),
        (["random", "random", "--movetime", "-1"], "movetime must not be negative"),
        (["random", "random", "--concurrency", "0"], "at least 1"),
        (["random", "random", "--margin", "-1"], "--margin must not be negative"),
        (["random", "random", "--resign", "500"], "--resign reads CP,MOVES"),
        (["random", "random", "--draw", "10,5"], "--draw reads CP,MOVES,FROM"),
        (["random", "random", "--resign", "0,5"], "resign score must be at least 1"),
        (["random", "random", "--max-moves", "0"], "max moves must be at least 1"),
        (["random", "random", "--sprt", "5"], "a test reads elo0,elo1"),
        (["random", "random", "--book", "none.pgn"], "none.pgn"),
        (
            ["random", "random", "--book", "book.pgn", "--games", "2"],
            "line 3 of book.pgn breaks off at 'Ke3'",
        ),
        (["random", "random", "--syzygy", "nowhere"], "no folder of Syzygy tables at nowhere"),
        (["random", "random", "--out", "book.pgn"], "book.pgn"),
        (["random", "random", "--pgn", "book.pgn", "--out", "m"], "book.pgn holds other games already"),
        (["random"], "the following arguments are required"),
    ],
)
def test_a_mistake_is_one_sentence_and_exit_code_2(
    words: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("book.pgn").write_text('\n\n[Event "?"]\n[Result "*"]\n1. e4 e5 2. Ke3 *\n')
    before = Path("book.pgn").read_bytes()
    assert main(["match", *words]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert sentence in captured.err
    assert captured.err.count("\n") == 1
    assert Path("book.pgn").read_bytes() == before
    assert [path.name for path in Path().iterdir()] == ["book.pgn"]


def test_two_strengths_of_stockfish(stockfish: str, capsys: pytest.CaptureFixture[str]) -> None:
    strong = f"uci:{stockfish}?UCI_LimitStrength=true&UCI_Elo=2400&name=sf2400"
    weak = f"uci:{stockfish}?UCI_LimitStrength=true&UCI_Elo=1350&name=sf1350"
    words = ["--games", "4", "--nodes", "2000", "--concurrency", "2", "--max-moves", "150", "--json"]
    assert main(["match", strong, weak, *words]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["players"] == ["sf2400", "sf1350"]
    assert result["games"] == 4
    assert result["faults"] == {}
    assert result["score_share"] >= 0.5
    text = Path(result["pgn"]).read_text()
    assert "[%eval " in text
    assert main(["elo", result["pgn"], "--json"]) == 0
    again = json.loads(capsys.readouterr().out)
    assert [again[key] for key in ("wins", "elo", "elo_95", "los")] == [
        result[key] for key in ("wins", "elo", "elo_95", "los")
    ]


def test_a_mind_may_be_given_a_name_for_the_games(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = ["random?name=one", "random?name=other", "--games", "2", "--depth", "1", "--max-moves", "3"]
    assert main(["match", *words, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["players"] == ["one", "other"]
