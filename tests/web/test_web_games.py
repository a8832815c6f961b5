"""Games at the page, without a browser: moves, minds, clocks, endings, and what brings a game back."""

from __future__ import annotations

import io
import json
import threading
import time

import chess.pgn
import pytest

from tabiya._core import Board
from tabiya.web import limits

LADDER = "6k1/8/R7/1R6/8/8/8/K7 w - - 0 1"


def test_a_new_game_has_its_legal_moves_by_name(server):
    game = server.new_game()
    assert game["your_turn"]
    assert set(game["position"]["legal"]) == set(Board().legal_moves())
    assert game["position"]["legal"]["g1f3"] == "Nf3"


def test_the_mind_answers_a_move(server):
    game = server.new_game()
    state = server.act(game, "move", move="e2e4", ply=0).json
    assert [each["san"] for each in state["moves"]] == ["e4"]
    state = server.settled(game)
    assert [each["san"] for each in state["moves"]] == ["e4", "a5"]
    assert state["your_turn"]
    assert state["last"]["black"]["wdl"] == [0.2, 0.3, 0.5]
    assert state["shares"] == [None, pytest.approx(0.65)]


def test_a_mind_with_white_begins(server):
    state = server.settled(server.new_game(white={"name": "resnet"}, black=None))
    assert [each["move"] for each in state["moves"]] == ["a2a3"]


@pytest.mark.parametrize(
    ("move", "sentence"),
    [
        ("e2e5", "cannot go to e5"),
        ("Ke3", "no king of yours can reach e3"),
        ("hello", "not a move"),
        ("a7a6", "not yours"),
        ("x" * 21, "too long"),
    ],
)
def test_an_illegal_move_is_a_sentence_and_changes_nothing(server, move, sentence):
    game = server.new_game()
    answer = server.act(game, "move", move=move)
    assert answer.status == 400
    assert sentence in answer.json["error"]
    assert server.get(f"/api/games/{game['id']}").json["moves"] == []


def test_a_stale_page_cannot_move_twice(server):
    game = server.new_game()
    server.act(game, "move", move="e2e4", ply=0)
    server.settled(game)
    assert server.act(game, "move", move="d2d4", ply=0).status == 409


def test_out_of_turn_is_out_of_turn(server):
    server.scripted.slow = True
    game = server.new_game()
    server.act(game, "move", move="e2e4")
    assert server.act(game, "move", move="d2d4").status == 409


def test_take_back_while_the_mind_thinks_stops_it(server):
    server.scripted.slow = True
    game = server.new_game()
    server.act(game, "move", move="e2e4")
    while not server.scripted.asked:
        time.sleep(0.01)
    state = server.act(game, "takeback").json
    assert state["moves"] == []
    assert state["your_turn"]
    assert server.scripted.stopped.wait(10)
    # The thought that was stopped must not be played.
    time.sleep(0.2)
    assert server.get(f"/api/games/{game['id']}").json["moves"] == []


def test_take_back_after_the_answer_takes_both_moves(server):
    game = server.new_game()
    server.act(game, "move", move="e2e4")
    server.settled(game)
    assert server.act(game, "takeback").json["moves"] == []
    assert server.act(game, "takeback").status == 409


def test_a_game_that_was_lost_can_be_taken_back(server):
    game = server.new_game(start=LADDER)
    server.act(game, "move", move="Rb7")
    server.settled(game)
    state = server.act(game, "move", move="Ra8").json
    assert (state["result"], state["reason"]) == ("1-0", "checkmate")
    assert state["position"]["legal"] == {}
    state = server.act(game, "takeback").json
    assert state["result"] == "*"
    assert state["position"]["fen"].startswith("8/1R6") or len(state["moves"]) == 2


def test_resigning_ends_the_game(server):
    game = server.new_game()
    state = server.act(game, "resign").json
    assert (state["result"], state["reason"]) == ("0-1", "resignation")
    assert server.act(game, "resign").status == 409
    assert server.act(game, "move", move="e4").status == 409


@pytest.mark.parametrize(("wdl", "result"), [((0.1, 0.3, 0.6), "1/2-1/2"), ((0.6, 0.3, 0.1), "*")])
def test_a_mind_takes_a_draw_if_it_does_not_stand_better(server, wdl, result):
    server.scripted.wdl = wdl
    game = server.new_game()
    server.act(game, "move", move="e4")
    server.settled(game)
    state = server.act(game, "draw").json
    assert state["result"] == result
    assert ("declines" in state["note"]) == (result == "*")


def test_a_fallen_flag_ends_the_game_without_a_request(server):
    kept = server.new_game(clock={"seconds": 5})["kept"]
    kept = kept | {"id": "a" * 20, "clock": kept["clock"] | {"white": 0.05}}
    game = server.post("/api/games", {"kept": kept}).json
    for _ in range(200):
        state = server.get(f"/api/games/{game['id']}").json
        if state["result"] != "*":
            break
        time.sleep(0.02)
    assert (state["result"], state["reason"]) == ("0-1", "time forfeit")


def test_the_increment_is_added_and_the_other_clock_runs(server):
    game = server.new_game(clock={"seconds": 60, "increment": 10})
    assert game["clock"]["running"] == "white"
    server.act(game, "move", move="e4")
    clock = server.settled(game)["clock"]
    assert 60 < clock["white"] <= 70
    assert 60 < clock["black"] <= 70


def test_a_searchless_mind_varies_its_openings_and_then_plays_its_best(server):
    game = server.new_game()
    moves = ["e4", "d4", "c4", "Nc3", "Nf3", "Be2"]
    for move in moves:
        server.act(game, "move", move=move)
        server.settled(game)
    temperatures = [float(settings["temperature"]) for _, _, settings in server.scripted.asked]
    assert all(each > 0 for each in temperatures[:5])
    assert temperatures[5] == 0


def test_the_temperature_that_was_chosen_is_used(server):
    game = server.new_game(start=LADDER, black={"name": "resnet", "temperature": 1.5})
    server.act(game, "move", move="Rb7")
    server.settled(game)
    assert server.scripted.asked[0][2]["temperature"] == "1.5"


def test_nodes_reach_a_searching_mind(serve):
    server = serve(minds={"turing": "scripted"})
    game = server.new_game(black={"name": "turing", "nodes": 123})
    server.act(game, "move", move="e4")
    server.settled(game)
    assert server.scripted.asked[0][1].nodes == 123


def test_a_saved_game_is_pgn_that_others_read(server):
    game = server.new_game(start=LADDER)
    server.act(game, "move", move="Rb7")
    server.settled(game)
    server.act(game, "move", move="Ra8")
    answer = server.get(f"/api/games/{game['id']}/pgn")
    assert "attachment" in answer.headers["content-disposition"]
    read = chess.pgn.read_game(io.StringIO(answer.body.decode()))
    assert read.headers["Result"] == "1-0"
    assert read.headers["FEN"] == LADDER
    assert read.end().board().is_checkmate()


def test_a_game_goes_on_from_a_pgn(server):
    game = server.new_game(start='[Event "x"]\n\n1. e4 e5 2. Nf3 Nc6 *')
    assert [each["san"] for each in game["moves"]] == ["e4", "e5", "Nf3", "Nc6"]
    assert game["your_turn"]


@pytest.mark.parametrize(
    ("start", "sentence"),
    [
        ("rnbqkbnr/ppppppp/8/8 w KQkq - 0 1", "malformed FEN"),
        ("8/8/8/8/8/8/8/8 w - - 0 1", "missing king"),
        ("4k3/8/8/8/8/8/4r3/4K2k w - - 0 1", "too many kings"),
        ("7k/5Q2/6K1/8/8/8/8/8 b - - 0 1", "stalemate"),
        ("1. e4 e5 2. Ke3", "PGN is broken"),
        ("hello there", "neither a FEN nor a PGN"),
        ("x" * 200_000, "neither a FEN nor a PGN"),
        ("<script>alert(1)</script>", "neither a FEN nor a PGN"),
        ('[Variant "Atomic"]\n\n1. e4 e5 2. Qh5 Ke7 3. Qxe5', ""),
    ],
)
def test_a_bad_start_is_one_short_sentence_and_the_rest_goes_on(server, start, sentence):
    answer = server.post("/api/games", {"new": {"black": {"name": "random"}, "start": start}})
    if sentence:
        assert answer.status == 400
        assert sentence in answer.json["error"]
        assert len(answer.json["error"]) <= 300
    assert answer.status in (200, 400)
    assert server.new_game()["your_turn"]


def test_a_mind_whose_file_is_missing_is_a_sentence_and_the_rest_goes_on(serve, missing_mind):
    server = serve(minds={"genetic": missing_mind})
    listing = {mind["name"]: mind["missing"] for mind in server.get("/api/minds").json["minds"]}
    assert "no genome is shipped" in listing["genetic"]
    assert listing["turing"] is None
    state = server.settled(server.new_game(white={"name": "genetic"}, black=None))
    assert state["paused"]
    assert "no genome is shipped" in state["note"]
    game = server.new_game()
    server.act(game, "move", move="e4")
    assert len(server.settled(game)["moves"]) == 2


def test_a_mind_that_appears_later_is_found(serve, missing_mind):
    server = serve(minds={"genetic": missing_mind})
    assert next(m for m in server.get("/api/minds").json["minds"] if m["name"] == "genetic")["missing"]
    server._minds["genetic"] = server.scripted
    assert not next(m for m in server.get("/api/minds").json["minds"] if m["name"] == "genetic")["missing"]


def test_a_mind_that_breaks_pauses_the_game_and_can_be_asked_again(server):
    server.scripted.broken = True
    game = server.new_game()
    server.act(game, "move", move="e4")
    state = server.settled(game)
    assert state["paused"]
    assert "a fuse blew" in state["note"]
    assert state["result"] == "*"
    server.scripted.broken = False
    assert server.act(game, "resume").status == 200
    assert len(server.settled(game)["moves"]) == 2


def test_a_game_survives_the_end_of_the_server(server):
    game = server.new_game(clock={"seconds": 300, "increment": 2})
    server.act(game, "move", move="e4")
    state = server.settled(game)
    server.stop()
    server.start()
    assert server.get(f"/api/games/{game['id']}").status == 404
    back = server.post("/api/games", {"kept": state["kept"]}).json
    assert back["id"] == game["id"]
    assert [each["san"] for each in back["moves"]] == ["e4", "a5"]
    assert back["clock"]["white"] == pytest.approx(state["clock"]["white"], abs=5)
    # A second tab that brings back the same game finds the one that is there.
    server.act(game, "move", move="d4")
    server.settled(game)
    assert len(server.post("/api/games", {"kept": state["kept"]}).json["moves"]) == 4


def test_an_ended_game_comes_back_ended(server):
    state = server.act(server.new_game(), "resign").json
    kept = state["kept"] | {"id": "b" * 22}
    assert server.post("/api/games", {"kept": kept}).json["result"] == "0-1"
    forged = kept | {"id": "c" * 22, "reason": "because I say so"}
    assert server.post("/api/games", {"kept": forged}).json["result"] == "*"


@pytest.mark.parametrize(
    "change",
    [
        {"id": "../x"},
        {"moves": ["e2e5"]},
        {"moves": "e2e4"},
        {"fen": "x"},
        {"white": 1},
        {"extra": 1},
        {"shares": {"a": 1}},
    ],
)
def test_a_kept_game_that_was_tampered_with_does_no_harm(server, change):
    kept = server.new_game()["kept"] | {"id": "d" * 22} | change
    answer = server.post("/api/games", {"kept": kept})
    assert answer.status in (200, 400, 404)
    assert (answer.status == 200) == ("shares" in change)


def test_news_come_by_themselves(server):
    import http.client

    game = server.new_game()
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
    connection.request("GET", f"/api/games/{game['id']}/news")
    stream = connection.getresponse()
    assert stream.headers["content-type"].startswith("text/event-stream")

    def event() -> dict:
        while True:
            line = stream.readline()
            if line.startswith(b"data: "):
                return json.loads(line[6:])

    assert event()["moves"] == []
    server.act(game, "move", move="e4")
    while len((state := event())["moves"]) < 2:
        pass
    assert state["moves"][1]["san"] == "a5"
    connection.close()


def test_two_minds_play_to_the_end(server):
    both = {"white": {"name": "random"}, "black": {"name": "random"}}
    game = server.new_game(start="8/8/8/4k3/8/8/4K2p/8 w - - 0 1", **both)
    state = server.settled(game)
    assert state["result"] in ("1/2-1/2", "0-1")
    assert len(state["shares"]) == len(state["moves"])


def test_a_game_of_minds_that_nobody_watches_is_paused(server, monkeypatch):
    monkeypatch.setattr(limits, "UNWATCHED_SECONDS", 0.1)
    game = server.new_game(white={"name": "random"}, black={"name": "random"}, pace=5)
    assert server.settled(game)["paused"]


def test_a_long_pgn_does_not_keep_others_waiting(server):
    long = "Nf3 Nf6 Ng1 Ng8 " * 1200
    answers = []
    reader = threading.Thread(target=lambda: answers.append(server.post("/api/position", {"start": long})))
    reader.start()
    served = 0
    while reader.is_alive():
        assert server.get("/").status == 200
        served += 1
    reader.join()
    assert answers[0].status == 400
    assert "at most" in answers[0].json["error"]
    assert served > 3


def test_two_people_need_another_board(server):
    answer = server.post("/api/games", {"new": {"white": None, "black": None}})
    assert answer.status == 400
    assert "must be a mind" in answer.json["error"]
