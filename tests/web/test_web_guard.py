"""Safe by default: who is answered, how much may be asked, and what no request can reach."""

from __future__ import annotations

import argparse
import http.client
import json

import pytest

from tabiya.cli import serve as command
from tabiya.errors import UserError
from tabiya.web import limits
from tabiya.web.server import is_loopback, listening


def test_without_options_only_this_machine_can_reach_the_page():
    parser = argparse.ArgumentParser()
    command.add_arguments(parser)
    host = parser.parse_args([]).host
    assert is_loopback(host)
    with listening(host, 0) as bound:
        assert bound.getsockname()[0] == "127.0.0.1"


def test_a_port_in_use_is_one_sentence():
    with listening("127.0.0.1", 0) as taken, pytest.raises(UserError, match="choose another with --port"):
        listening("127.0.0.1", taken.getsockname()[1])


@pytest.mark.parametrize(
    "host", ["evil.example", "localhost.evil.example", "10.1.2.3", "", "127.0.0.1.evil.example"]
)
def test_another_host_name_is_refused(shared, host):
    assert shared.get("/", host=host).status == 403
    assert shared.get("/api/minds", host=f"{host}:{shared.port}").status == 403


def test_the_loopback_names_are_answered(shared):
    for host in (f"127.0.0.1:{shared.port}", "localhost", f"[::1]:{shared.port}"):
        assert shared.get("/", host=host).status == 200


def test_an_address_is_answered_only_by_a_server_that_listens_beyond_this_machine():
    from tabiya.web.guard import Guard

    def known(guard: Guard, host: str) -> bool:
        return guard._wrong({"headers": [(b"host", host.encode())], "scheme": "http"}) is None

    async def nothing(*_):
        raise AssertionError

    assert not known(Guard(nothing), "192.168.1.7:8642")
    assert known(Guard(nothing, addresses=True), "192.168.1.7:8642")
    assert not known(Guard(nothing, addresses=True), "rebound.example")
    assert known(Guard(nothing, names=["Chess.Home"], addresses=True), "chess.home:8642")


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://127.0.0.1:1", "http://localhost"])
def test_another_origin_is_refused(shared, origin):
    wish = {"new": {"black": {"name": "random"}}}
    before = len(shared.page.rooms)
    assert shared.post("/api/games", wish, origin=origin).status == 403
    assert shared.get("/api/minds", origin=origin).status == 403
    assert len(shared.page.rooms) == before


def test_the_page_itself_is_an_origin_that_may_ask(shared):
    wish = {"new": {"black": {"name": "random"}}}
    assert shared.post("/api/games", wish, origin=f"http://127.0.0.1:{shared.port}").status == 200


def test_a_picture_on_another_site_gets_no_answer(shared):
    assert shared.get("/api/minds", sec_fetch_site="cross-site", sec_fetch_mode="no-cors").status == 403
    assert shared.get("/", sec_fetch_site="cross-site", sec_fetch_mode="navigate").status == 200


@pytest.mark.parametrize("path", ["/", "/static/app.js", "/api/minds", "/nowhere", "/api/games/xyz"])
def test_every_answer_forbids_the_browser_to_go_elsewhere(shared, path):
    headers = shared.get(path).headers
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "script-src 'self'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert "http" not in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert "access-control-allow-origin" not in headers


@pytest.mark.parametrize(
    "path",
    [
        "/static/../app.py",
        "/static/..%2fapp.py",
        "/static/%2e%2e/app.py",
        "/static/..%5capp.py",
        "/static//etc/passwd",
        "/static/app.py",
        "/../../etc/passwd",
        "/api/results/games/..%2f..%2fetc%2fpasswd",
        "/api/results/curves/%2Fetc%2Fpasswd",
        "/api/results/pool/../../x",
        "/api/games/..%2f..%2fx",
    ],
)
def test_no_path_from_outside_reaches_the_file_system(shared, path):
    answer = shared.get(path)
    assert answer.status == 404
    assert set(answer.json) == {"error"}


@pytest.mark.parametrize(
    "name",
    [
        "uci:/bin/sh",
        "xboard:/bin/sh",
        "human",
        "resnet:/etc/passwd",
        "genetic:/etc/passwd#1",
        "turing?depth=6",
        "",
        "RESNET",
    ],
)
def test_only_minds_of_the_list_can_be_named(shared, name):
    for path, wish in (
        ("/api/games", {"new": {"black": {"name": name}}}),
        ("/api/opinion", {"mind": {"name": name}}),
        ("/api/why", {"mind": {"name": name}}),
    ):
        answer = shared.post(path, wish)
        assert answer.status == 400
        assert "no mind called" in answer.json["error"]
    assert name not in shared.opened


def test_an_ancestor_must_be_of_a_pool_that_the_server_found(shared):
    for pool in ("/etc/passwd", "0123456789abcdef", "../pool.txt"):
        answer = shared.post("/api/games", {"new": {"black": {"name": "genetic", "pool": pool, "genome": 1}}})
        assert answer.status == 400
        assert "no such gene pool" in answer.json["error"]
    assert all("passwd" not in name and "pool" not in name for name in shared.opened)


@pytest.mark.parametrize(
    ("choice", "sentence"),
    [
        ({"name": "turing", "nodes": limits.MOST_NODES + 1}, "nodes must lie between"),
        ({"name": "turing", "nodes": 0}, "nodes must lie between"),
        ({"name": "turing", "nodes": 1.5}, "whole number"),
        ({"name": "turing", "nodes": "many"}, "must be a number"),
        ({"name": "turing", "nodes": True}, "must be a number"),
        ({"name": "turing", "nodes": 10**400}, "nodes must lie between"),
        ({"name": "resnet", "temperature": 99}, "temperature must lie between"),
        ({"name": "resnet", "temprature": 1}, "unknown entry 'temprature'"),
    ],
)
def test_strength_beyond_the_limits_is_refused(shared, choice, sentence):
    answer = shared.post("/api/games", {"new": {"black": choice}})
    assert answer.status == 400
    assert sentence in answer.json["error"]


@pytest.mark.parametrize(
    "clock",
    [{"seconds": 1e9}, {"seconds": 60, "increment": 1e9}, {"seconds": -1}, {}, {"seconds": 60, "x": 1}],
)
def test_a_clock_beyond_the_limits_is_refused(shared, clock):
    assert shared.post("/api/games", {"new": {"black": {"name": "random"}, "clock": clock}}).status == 400


def test_no_thought_is_longer_than_the_house_allows(server):
    game = server.new_game(clock={"seconds": limits.LONGEST_CLOCK})
    server.act(game, "move", move="e4")
    server.settled(game)
    (_, limit, _), *_ = server.scripted.asked
    assert 0 < limit.movetime <= limits.THOUGHT_SECONDS


def test_a_body_that_is_too_large_is_refused_by_its_announced_size(shared):
    answer = shared.post("/api/position", {"start": "x" * limits.LARGEST_BODY})
    assert answer.status == 413
    assert "too large" in answer.json["error"]


def test_a_body_that_does_not_announce_its_size_is_cut_off(shared):
    def pieces():
        for _ in range(200):
            yield b" " * 64 * 1024

    connection = http.client.HTTPConnection("127.0.0.1", shared.port, timeout=20)
    headers = {"content-type": "application/json", "transfer-encoding": "chunked"}
    try:
        connection.request("POST", "/api/position", pieces(), headers, encode_chunked=True)
        status = connection.getresponse().status
    except (ConnectionError, http.client.HTTPException):
        status = 413  # the shared has hung up on us, as it may
    finally:
        connection.close()
    assert status == 413
    assert shared.get("/api/minds").status == 200


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b"null", b"[" * 100_000, b'{"start": NaN}', b"\xff\xfe", b'"x"']
)
def test_what_is_not_a_json_object_is_one_sentence(shared, body):
    answer = shared.post("/api/position", body)
    assert answer.status == 400
    assert set(answer.json) == {"error"}


def test_a_form_of_another_page_cannot_pass_for_json(shared):
    answer = shared.post("/api/games", b'{"new": {}}', content_type="text/plain")
    assert answer.status == 415


def test_games_are_limited_and_the_one_that_makes_room_can_come_back(server, monkeypatch):
    monkeypatch.setattr(limits, "MOST_GAMES", 3)
    games = [server.new_game() for _ in range(5)]
    assert len(server.page.rooms) == 3
    assert server.get(f"/api/games/{games[0]['id']}").status == 404
    back = server.post("/api/games", {"kept": games[0]["kept"]})
    assert back.status == 200
    assert back.json["id"] == games[0]["id"]
    assert len(server.page.rooms) == 3


def test_games_between_minds_that_run_at_once_are_limited(server, monkeypatch):
    monkeypatch.setattr(limits, "MOST_WATCHED", 2)
    server.scripted.slow = True
    both = {"white": {"name": "resnet"}, "black": {"name": "resnet"}}
    first = server.new_game(**both)
    server.new_game(**both)
    assert server.post("/api/games", {"new": both}).status == 503
    assert server.act(first, "pause").status == 200
    assert server.post("/api/games", {"new": both}).status == 200


def test_open_connections_are_limited(server, monkeypatch):
    monkeypatch.setattr(limits, "MOST_STREAMS", 0)
    game = server.new_game()
    answer = server.get(f"/api/games/{game['id']}/news")
    assert answer.status == 503
    assert "too many" in answer.json["error"]


def test_a_game_has_a_longest_length(server):
    shuffle = ["g1f3", "g8f6", "f3g1", "f6g8"]
    kept = server.new_game()["kept"] | {"moves": shuffle * 300}
    answer = server.post("/api/games", {"kept": kept})
    assert answer.status == 400
    assert "at most" in answer.json["error"]


def test_a_fault_of_ours_shows_nothing_of_the_inside(server, monkeypatch):
    def broken():
        raise RuntimeError("/secret/path")

    monkeypatch.setattr(server.page.catalogue, "listing", broken)
    answer = server.get("/api/minds")
    assert answer.status == 500
    assert "secret" not in json.dumps(answer.json)
