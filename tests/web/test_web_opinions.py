"""Opinions and reasons: a mind's own decision, the position with squares blanked, and a lens from outside."""

from __future__ import annotations

import http.client
import json
import time

import pytest

from tabiya._core import Board
from tabiya.errors import UserError
from tabiya.player import Limit
from tabiya.roster import open_player
from tabiya.web.positions import blanked

MATE = "6k1/5ppp/8/8/8/8/8/3RK3 w - - 0 1"


def test_an_opinion_is_the_decision_of_the_player(server):
    answer = server.post("/api/opinion", {"mind": {"name": "turing"}, "fen": MATE}).json
    with open_player("turing") as player:
        decision = player.play(Board(MATE), Limit(nodes=2000))
    assert answer["move"] == decision.move == "d1d8"
    assert answer["san"] == "Rd8#"
    assert answer["score"] == decision.score
    assert answer["nodes"] == decision.nodes
    assert [each["move"] for each in answer["moves"]] == [each.move for each in decision.moves[:8]]


def test_opinions_are_given_at_full_strength_and_know_the_game_so_far(server):
    moves = ["g1f3", "g8f6", "f3g1", "f6g8"]
    answer = server.post("/api/opinion", {"mind": {"name": "resnet"}, "moves": moves}).json
    fen, _, settings = server.scripted.asked[-1]
    assert fen == answer["fen"]
    assert fen.endswith("4 3")
    assert settings["temperature"] == "0.0"


def test_an_opinion_of_a_finished_game_is_a_sentence(server):
    answer = server.post(
        "/api/opinion", {"mind": {"name": "turing"}, "fen": "7k/5Q2/6K1/8/8/8/8/8 b - - 0 1"}
    )
    assert answer.status == 400
    assert "stalemate" in answer.json["error"]


def test_an_opinion_that_nobody_waits_for_is_stopped(server):
    server.scripted.slow = True
    connection = http.client.HTTPConnection("127.0.0.1", server.port)
    body = json.dumps({"mind": {"name": "resnet"}}).encode()
    connection.request("POST", "/api/opinion", body, {"content-type": "application/json"})
    while not server.scripted.asked:
        time.sleep(0.01)
    connection.close()
    assert server.scripted.stopped.wait(10)
    server.scripted.slow = False
    assert server.post("/api/opinion", {"mind": {"name": "resnet"}}).status == 200


def test_a_pawn_that_could_be_taken_en_passant_can_be_blanked():
    board = blanked(Board("4k3/8/8/3pP3/8/8/8/4K3 w - d6 0 1"), ["d5"])
    assert board.fen() == "4k3/8/8/4P3/8/8/8/4K3 w - - 0 1"


def test_a_blanked_square_is_empty_and_its_rights_are_gone():
    board = blanked(Board("r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1"), ["h1", "a8"])
    assert board.fen() == "4k2r/8/8/8/8/8/8/R3K3 w Qk - 0 1"


@pytest.mark.parametrize(
    ("fen", "squares", "sentence"),
    [
        (MATE, ["e1"], "king on e1 cannot be taken away"),
        ("4k3/8/8/8/4r3/8/4P3/4K3 b - - 0 1", ["e2"], "no possible position"),
        (MATE, ["z9"], "squares such as e4"),
        (MATE, "e4", "list of squares"),
    ],
)
def test_what_cannot_be_blanked_is_a_sentence(server, fen, squares, sentence):
    answer = server.post("/api/position", {"fen": fen, "blank": squares})
    assert answer.status == 400
    assert sentence in answer.json["error"]


def test_a_mind_decides_anew_without_what_was_blanked(server):
    whole = server.post("/api/opinion", {"mind": {"name": "turing"}, "fen": MATE}).json
    without = server.post("/api/opinion", {"mind": {"name": "turing"}, "fen": MATE, "blank": ["d1"]}).json
    assert whole["move"] == "d1d8"
    assert without["move"].startswith("e1")


def test_without_a_lens_the_page_is_told_so(server):
    assert server.get("/api/minds").json["lens"] is False
    answer = server.post("/api/why", {"mind": {"name": "turing"}, "fen": MATE})
    assert answer.status == 501
    assert "no lens" in answer.json["error"]


def test_a_lens_is_asked_with_the_player_and_the_position(serve):
    def explain(player, board):
        return {
            "move": "d1d8",
            "squares": {"g8": 1.0, player.name[0] + "1": 0.5},
            "claims": [{"text": board.fen()}],
        }

    server = serve(explain=explain)
    answer = server.post("/api/why", {"mind": {"name": "turing"}, "fen": MATE}).json
    assert answer["squares"] == {"g8": 1.0, "t1": 0.5}
    assert answer["pairs"] == []
    assert answer["claims"] == [{"text": MATE}]


def test_a_lens_that_cannot_look_says_so_on_the_page(serve):
    def explain(player, board):
        raise UserError("turing keeps nothing to look at")

    answer = serve(explain=explain).post("/api/why", {"mind": {"name": "turing"}, "fen": MATE})
    assert answer.status == 400
    assert "nothing to look at" in answer.json["error"]
