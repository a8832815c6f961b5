"""`tabiya eval`: the keys that programs rely on, several players side by side, records, bad input."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import tabiya.roster
from tabiya._core import Board
from tabiya.cli import main
from tabiya.player import Decision, Limit, Player, PlayerError, ScoredMove

START = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"


class Ranks(Player):
    """Ranks the legal moves by their names, from the front or from the back."""

    def __init__(self, from_the_back: bool) -> None:
        self.from_the_back = from_the_back

    def play(self, board: Board, limit: Limit) -> Decision:
        moves = sorted(board.legal_moves(), reverse=self.from_the_back)
        ranked = tuple(ScoredMove(move, score=-float(n)) for n, move in enumerate(moves))
        return Decision(move=moves[0], moves=ranked, wdl=(0.5, 0.5, 0.0), nodes=1)


@pytest.fixture(autouse=True)
def _roster(monkeypatch: pytest.MonkeyPatch) -> None:
    def open_player(name: str) -> Player:
        if name not in ("front", "back"):
            raise PlayerError(f"unknown player {name!r}")
        return Ranks(name == "back")

    monkeypatch.setattr(tabiya.roster, "open_player", open_player)


@pytest.fixture
def inputs(tmp_path: Path) -> dict[str, list[str]]:
    """One small input for each question; Black's first move is a7a5, his last h7h6 (by name)."""
    puzzles = tmp_path / "puzzles.csv"
    puzzles.write_text(
        "PuzzleId,FEN,Moves,Rating,RatingDeviation,Popularity,NbPlays,Themes,GameUrl,OpeningTags\n"
        f"one,{START},e2e4 a7a5,1000,,,,short,,\n"
        f"two,{START},d2d4 h7h6,1300,,,,short,,\n"
        f"bad,{START},d2d5 h7h6,1300,,,,short,,\n"
    )
    labels = tmp_path / "labels.tsv"
    labels.write_text("7k/8/8/8/8/8/P7/K7 w - - 0 1\t40 30 20 10\n")
    endgames = tmp_path / "endgames.epd"
    endgames.write_text("7k/7p/8/8/8/8/P7/K7 w - - 0 1\n")
    games = tmp_path / "games.pgn"
    games.write_text('[Result "*"]\n\n1. a3 a5 *\n')
    eco = tmp_path / "eco"
    eco.mkdir()
    (eco / "a.tsv").write_text("eco\tname\tpgn\nA00\tAnderssen's Opening\t1. a3\n")
    suite = tmp_path / "suite.epd"
    suite.write_text("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - bm a3; id 1;\n")
    return {
        "puzzles": ["--puzzles", str(puzzles)],
        "agree": ["--labels", str(labels), "--split", "all"],
        "endgames": ["--teacher", "back", "--positions", str(endgames), "--teacher-nodes", "9"],
        "openings": ["--pgn", str(games), "--eco", str(eco)],
        "suite": ["--suite", str(suite)],
    }


def ask(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    assert main(["eval", *arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


KEYS = {
    "puzzles": {
        "puzzles",
        "solved",
        "solved_share",
        "moves_right_share",
        "by_rating",
        "by_length",
        "by_theme",
    },
    "agree": {"positions", "top1", "top3", "top5", "kendall_tau"},
    "endgames": {"by_men", "teacher"},
    "openings": {"by_family"},
    "suite": {"positions", "right", "share"},
}
ROWS = {
    ("puzzles", "by_rating"): {"from", "to", "puzzles", "solved_share"},
    ("puzzles", "by_length"): {"moves", "puzzles", "solved_share"},
    ("endgames", "by_men"): {"men", "positions", "optimal_share", "value_error"},
    ("openings", "by_family"): {"eco", "name", "positions", "top1", "depth"},
}


@pytest.mark.parametrize("what", KEYS)
def test_json_has_the_keys_that_programs_rely_on(
    what: str, inputs: dict[str, list[str]], capsys: pytest.CaptureFixture[str]
) -> None:
    figures = ask(capsys, what, "front", *inputs[what], "--nodes", "5")
    assert {"player", "limit", "seed"} | KEYS[what] <= set(figures)
    assert figures["limit"] == {"nodes": 5}
    for (question, table), keys in ROWS.items():
        if question == what:
            assert figures[table]
            assert all(keys <= set(row) for row in figures[table])


def test_figures_of_a_known_player(inputs: dict[str, list[str]], capsys: pytest.CaptureFixture[str]) -> None:
    puzzles = ask(capsys, "puzzles", "front", *inputs["puzzles"])
    assert (puzzles["puzzles"], puzzles["solved"], puzzles["skipped"]) == (2, 1, 1)
    agree = ask(capsys, "agree", "front", *inputs["agree"])
    assert (agree["top1"], agree["kendall_tau"]) == (1.0, pytest.approx(1.0))
    openings = ask(capsys, "openings", "front", *inputs["openings"])
    assert openings["by_family"][0]["name"] == "Anderssen's Opening"
    suite = ask(capsys, "suite", "front", *inputs["suite"])
    assert (suite["positions"], suite["right"]) == (1, int(sorted(Board().legal_moves())[0] == "a2a3"))


def test_several_players_make_a_list_with_their_names(
    inputs: dict[str, list[str]], capsys: pytest.CaptureFixture[str]
) -> None:
    both = ask(capsys, "agree", "front", "back", *inputs["agree"])
    assert [(figures["player"], figures["top1"]) for figures in both] == [("front", 1.0), ("back", 0.0)]


@pytest.mark.parametrize("what", KEYS)
def test_the_table_shows_every_player(
    what: str, inputs: dict[str, list[str]], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["eval", what, "front", "back", *inputs[what]]) == 0
    shown = capsys.readouterr().out
    assert "front" in shown
    assert "back" in shown


def test_what_was_left_out_is_said_beside_the_figures(
    inputs: dict[str, list[str]], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["eval", "puzzles", "front", *inputs["puzzles"], "--json"]) == 0
    said = capsys.readouterr().err
    assert "left out 1" in said
    assert "puzzle bad" in said
    assert "puzzles.csv:4" in said


def test_a_record_says_how_to_ask_the_same_again(
    inputs: dict[str, list[str]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ask(capsys, "suite", "front", "back", *inputs["suite"], "--seed", "7", "--out", str(tmp_path / "results"))
    records = [json.loads(path.read_text()) for path in sorted((tmp_path / "results").iterdir())]
    assert {record["player"] for record in records} == {"front", "back"}
    for record in records:
        assert {"question", "limit", "figures", "commit", "seed", "files"} <= set(record)
        assert (record["question"], record["seed"]) == ("suite", 7)
        assert record["files"][0]["name"] == "suite.epd"
        assert len(record["files"][0]["sha256"]) == 64


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["puzzles", "front"], "needs --puzzles FILE"),
        (["puzzles", "front", "--puzzles", "/nowhere/p.csv"], "/nowhere/p.csv"),
        (["agree", "front"], "needs --labels FILE"),
        (["endgames", "front"], "need a judge"),
        (["endgames", "front", "--syzygy", "/nowhere"], "--syzygy must name a folder"),
        (["endgames", "front", "--teacher", "back", "--men", "five"], "--men takes numbers"),
        (["openings", "front"], "needs --pgn FILE"),
        (["openings", "front", "--pgn", "x.pgn"], "needs --eco DIR"),
        (["suite", "front"], "needs --suite FILE"),
        (["suite", "nobody", "--suite", "x.epd"], "unknown player 'nobody'"),
        (["suite", "front", "--suite", "x.epd", "--concurrency", "0"], "--concurrency must be at least 1"),
        (["suite", "front", "--suite", "x.epd", "--nodes", "0"], "nodes must be at least 1"),
        (["suite"], "MIND"),
        (["strength", "front"], "strength"),
        ([], "required"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(
    arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["eval", *arguments]) == 2
    captured = capsys.readouterr()
    assert sentence in captured.err
    assert captured.err.count("\n") == 1
    assert captured.out == ""
