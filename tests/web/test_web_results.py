"""The pages beside the board: ratings, training and evolution, from files that may be odd or damaged."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tabiya.minds.genetic import pool_files
from tabiya.minds.genetic.config import read_config
from tabiya.minds.genetic.evolution import Evolution
from tabiya.web.archive import Archive, thinned
from tabiya.web.evolution import PARTS, _course

GAMES = """[Event "x"]
[White "resnet"]
[Black "turing"]
[Result "1-0"]

1. e4 e5 2. Qh5 Nc6 3. Bc4 Nf6 4. Qxf7# 1-0

[Event "x"]
[White "turing"]
[Black "resnet"]
[Result "1/2-1/2"]

1. d4 1/2-1/2
"""


def rating_list(folder: Path) -> None:
    folder.mkdir(parents=True)
    players = [
        {"name": "resnet", "rating": 1700.5, "rating_95": [1650, 1750], "games": 40, "score_share": 0.7},
        {"name": "random", "rating": None, "rating_95": [None, 300], "games": 40, "score_share": 0.0},
    ]
    result = {"kind": "tournament", "question": "Who?", "games": 80, "ratings": {"players": players}}
    (folder / "result.json").write_text(json.dumps(result))
    (folder / "games.pgn").write_text(GAMES)


def test_an_empty_folder_and_a_missing_one_are_empty_pages(serve, tmp_path):
    server = serve(tmp_path, tmp_path / "nowhere")
    assert server.get("/api/results/ratings").json == {"lists": [], "matches": [], "evaluations": []}
    assert server.get("/api/results/training").json == {"runs": []}
    assert server.get("/api/results/evolution").json == {"pools": []}


def test_a_rating_list_is_shown_with_its_intervals(serve, tmp_path):
    rating_list(tmp_path / "list")
    (found,) = serve(tmp_path).get("/api/results/ratings").json["lists"]
    assert [player["name"] for player in found["players"]] == ["resnet", "random"]
    assert found["players"][0]["rating_95"] == [1650, 1750]
    assert found["players"][1]["rating"] is None
    assert found["games_at_hand"]


def test_matches_and_evaluations_are_told_apart_and_other_files_passed_over(serve, tmp_path):
    match = {"players": ["a", "b"], "elo": 12.5, "elo_95": [None, 40], "wins": 1, "draws": 2, "losses": 3}
    (tmp_path / "match.json").write_text(json.dumps(match))
    evaluation = {"question": "puzzles", "player": "resnet", "figures": {"solved_share": 0.5, "by": [1]}}
    (tmp_path / "eval.json").write_text(json.dumps(evaluation))
    for name, text in {"broken": "{", "list": "[1]", "odd": '{"players": 3}', "deep": "[" * 10**5}.items():
        (tmp_path / f"{name}.json").write_text(text)
    (tmp_path / "infinite.json").write_text('{"players": ["x", "y"], "elo": Infinity}')
    answer = serve(tmp_path).get("/api/results/ratings")
    assert answer.status == 200
    assert {each["elo"] for each in answer.json["matches"]} == {12.5, None}
    (found,) = answer.json["evaluations"]
    assert found["figures"] == {"solved_share": 0.5}


def test_any_game_of_a_list_can_be_played_through(serve, tmp_path):
    rating_list(tmp_path / "list")
    server = serve(tmp_path)
    key = server.get("/api/results/ratings").json["lists"][0]["key"]
    games = server.get(f"/api/results/games/{key}").json["games"]
    assert [(game["white"], game["result"]) for game in games] == [("resnet", "1-0"), ("turing", "1/2-1/2")]
    first = server.get(f"/api/results/game/{key}?number=0").json
    assert [each["san"] for each in first["moves"]][-1] == "Qxf7#"
    assert [each["san"] for each in server.get(f"/api/results/game/{key}?number=1").json["moves"]] == ["d4"]
    for wrong in ("2", "-1", "x", "99999999999"):
        assert server.get(f"/api/results/game/{key}?number={wrong}").status in (400, 404)


def test_a_list_longer_than_a_leaf_is_leafed_through_to_its_last_game(serve, tmp_path, monkeypatch):
    monkeypatch.setattr("tabiya.web.ratings.MOST_LISTED_GAMES", 3)
    rating_list(tmp_path / "list")
    (tmp_path / "list" / "games.pgn").write_text("\n".join([GAMES] * 4))
    server = serve(tmp_path)
    key = server.get("/api/results/ratings").json["lists"][0]["key"]
    numbers = []
    for start in (0, 3, 6):
        answer = server.get(f"/api/results/games/{key}?number={start}").json
        assert answer["total"] == 8
        numbers += [game["number"] for game in answer["games"]]
    assert numbers == list(range(8))
    last = server.get(f"/api/results/game/{key}?number=7").json
    assert (last["white"], [each["san"] for each in last["moves"]]) == ("turing", ["d4"])


def test_games_that_came_along_compressed_are_played_through_too(serve, tmp_path):
    from tabiya.reports.rating_table import keep_games

    rating_list(tmp_path / "list")
    keep_games(tmp_path / "list" / "games.pgn", tmp_path / "list" / "games.pgn.bz2")
    (tmp_path / "list" / "games.pgn").unlink()
    server = serve(tmp_path)
    found = server.get("/api/results/ratings").json["lists"][0]
    assert found["games_at_hand"]
    game = server.get(f"/api/results/game/{found['key']}?number=0").json
    assert game["moves"][-1]["san"] == "Qxf7#"


def test_an_anchor_is_shown_as_one_with_what_its_games_say(serve, tmp_path):
    rating_list(tmp_path / "list")
    path = tmp_path / "list" / "result.json"
    content = json.loads(path.read_text())
    content["ratings"]["players"][0] |= {"anchor": True, "as_if_free_95": [1640, 1720]}
    path.write_text(json.dumps(content))
    (found,) = serve(tmp_path).get("/api/results/ratings").json["lists"]
    assert found["players"][0]["anchor"] is True
    assert found["players"][0]["as_if_free_95"] == [1640, 1720]


def test_a_list_whose_games_stayed_behind_says_so(serve, tmp_path):
    rating_list(tmp_path / "list")
    (tmp_path / "list" / "games.pgn").unlink()
    server = serve(tmp_path)
    found = server.get("/api/results/ratings").json["lists"][0]
    assert not found["games_at_hand"]
    assert "not here" in server.get(f"/api/results/games/{found['key']}").json["error"]


def test_the_curves_of_a_run_are_its_log_thinned(serve, tmp_path):
    run = tmp_path / "run"
    run.mkdir()
    lines = [{"step": 0, "seconds": 0.1, "note": "4 M parameters"}]
    lines += [{"step": step, "seconds": step / 10, "loss": 3 - step / 1000} for step in range(1, 1001)]
    lines += [{"step": 1000, "seconds": 100.0, "validation_loss": 2.5, "odd": None}]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (run / "log.jsonl").write_text(text + '{"step": 1001, "lo')
    server = serve(tmp_path)
    (about,) = server.get("/api/results/training").json["runs"]
    assert (about["name"], about["step"], about["note"]) == ("run", 1000, "4 M parameters")
    curves = server.get(f"/api/results/curves/{about['key']}").json["curves"]
    assert set(curves) == {"loss", "validation_loss"}
    assert len(curves["loss"]) == 400
    assert curves["loss"][0] == [1, 2.999]
    assert curves["loss"][-1] == [1000, 2.0]


@pytest.fixture(scope="module")
def pool(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("pools")
    config = folder / "small.conf"
    config.write_text(
        "maximum simultaneous games = 2\ngene pool population = 4\ngene pool count = 2\n"
        "pool swap interval = 6\nminimum game time = 1\nmaximum game time = 2\ngame time increment = 0.5\n"
        "oscillating time = yes\ngene pool file = pool.txt\nseed = 7\ngame nodes = 300\nmaximum games = 40\n"
    )
    with Evolution(folder / "pool.txt", read_config(config)) as evolution:
        evolution.run()
    return folder


def test_a_gene_pool_shows_its_priorities_and_a_family(serve, pool):
    server = serve(pool)
    (about,) = server.get("/api/results/evolution").json["pools"]
    assert about["games"] == 40
    history = server.get(f"/api/results/pool/{about['key']}").json
    assert "Total Force" in history["priorities"]
    assert set(history["pieces"]) == {"P", "N", "B", "R", "Q", "K"}
    with pool_files.opened(pool / "pool.txt", pool / "pool.txt") as content:
        alive = {number for numbers in pool_files.living(content).values() for number in numbers}
    assert set(history["living"]) == alive
    assert history["family"]["ancestors"][0]["id"] == history["family"]["id"]
    youngest = max(history["living"])
    other = server.get(f"/api/results/pool/{about['key']}?number={youngest}").json
    assert other["family"]["id"] == youngest
    assert server.get(f"/api/results/pool/{about['key']}?number=999999").status == 400


def test_the_course_of_a_gene_counts_every_stretch_of_births_alike():
    """Most genomes of an excerpt are of the last births; they are one stretch all the same."""
    early = [(birth, 1.0) for birth in range(0, 9000, 100)]
    late = [(birth, 5.0) for birth in range(9001, 10_000)]
    ids, values = zip(*early, *late, strict=True)
    course = _course(ids, values)
    assert len(course) == PARTS
    assert sum(value == 1.0 for _, value in course) == 54
    assert [birth for birth, _ in course] == sorted(birth for birth, _ in course)


def test_any_ancestor_can_be_played(serve, pool):
    server = serve(pool)
    key = server.get("/api/results/evolution").json["pools"][0]["key"]
    ancestor = server.get(f"/api/results/pool/{key}").json["family"]["ancestors"][-1]["id"]
    choice = {"name": "genetic", "pool": key, "genome": ancestor, "nodes": 200}
    game = server.new_game(black=choice)
    assert game["black"]["title"] == f"Genetic {ancestor}"
    server.act(game, "move", move="e4")
    state = server.settled(game)
    assert len(state["moves"]) == 2, state["note"]
    assert state["kept"]["black"] == choice


def test_a_damaged_pool_does_not_hide_the_others(serve, pool, tmp_path):
    (tmp_path / "bad.txt").write_text("ID: 1\n")
    (tmp_path / "bad.txt_state.json").write_text("{")
    found = serve(tmp_path, pool).get("/api/results/evolution").json["pools"]
    assert sorted(bool(each["broken"]) for each in found) == [False, True]


def test_a_folder_with_too_many_files_is_cut(tmp_path, monkeypatch):
    from tabiya.web import limits

    monkeypatch.setattr(limits, "MOST_FILES", 3)
    for number in range(9):
        (tmp_path / f"{number}.json").write_text("{}")
    assert len(Archive([tmp_path]).files(".json")) == 3


def test_thinning_keeps_both_ends():
    assert thinned(list(range(1000)), 5) == [0, 250, 500, 749, 999]
    assert thinned([1, 2], 5) == [1, 2]
