"""`tabiya move`: one decision, for people and for programs."""

from __future__ import annotations

import json

import pytest

from tabiya._core import Board
from tabiya.cli import main

MATE = "6k1/5ppp/8/8/8/8/8/3RK3 w - - 0 1"


def test_json_has_the_keys_that_programs_rely_on(capsys):
    assert main(["move", "turing", MATE, "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert {"move", "san", "wdl", "nodes", "ms", "moves"} <= set(answer)
    assert (answer["move"], answer["san"], answer["score"]) == ("d1d8", "Rd8#", 29_999)
    assert answer["moves"][0] == {"move": "d1d8", "p": 1.0}
    assert answer["ms"] > 0


def test_win_draw_loss_and_candidates_of_a_player_that_has_them(capsys):
    assert main(["move", "montecarlo?seed=1", "startpos", "--nodes", "200", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert sum(answer["wdl"]) == pytest.approx(1)
    assert answer["nodes"] == 200
    assert {each["move"] for each in answer["moves"]} == set(Board().legal_moves())
    assert all("p" in each for each in answer["moves"])


def test_a_person_gets_the_move_first(capsys):
    assert main(["move", "turing", *MATE.split()]) == 0
    text = capsys.readouterr().out
    assert text.startswith("Rd8#  (d1d8)\n  mate in 1\n")


def test_an_outside_engine_is_asked_the_same_way(capsys, stockfish):
    assert main(["move", f"uci:{stockfish}?multipv=2", MATE, "--depth", "4", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["move"] == "d1d8"
    assert answer["moves"][0]["score"] == 29_999
    assert len(answer["moves"]) == 2


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["turing", "nonsense"], 'malformed FEN "nonsense"'),
        (["turing", "8/8/8/8/8/8/8/8 w - - 0 1"], "illegal position"),
        (["turing", "R5k1/5ppp/8/8/8/8/8/4K3 b - - 0 1"], "there is no move in R5k1"),
        (["turin", "startpos"], "unknown player 'turin', did you mean 'turing'?"),
        (["turing?Depth=x", "startpos"], "Depth must be a whole number, not 'x'"),
        (["turing", "startpos", "--nodes", "0"], "nodes must be at least 1"),
        (["turing"], "the following arguments are required: FEN"),
    ],
)
def test_a_mistake_is_one_sentence_and_exit_2(capsys, arguments, sentence):
    assert main(["move", *arguments]) == 2
    error = capsys.readouterr().err
    assert sentence in error
    assert error.count("\n") == 1
