"""The page as files and as a command: small, whole, at home; and many people at once."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
import urllib.request
from concurrent.futures import ThreadPoolExecutor

import pytest

from tabiya.cli import main
from tabiya.web.app import STATIC

CLIENTS = 50


def test_the_page_is_under_300_kilobytes_with_everything():
    assert sum(path.stat().st_size for path in STATIC.iterdir()) < 300_000


def test_the_page_names_no_other_host():
    for path in STATIC.iterdir():
        addresses = set(
            re.findall(r"(?:https?:)?//[a-z0-9][a-z0-9.-]+\.[a-z]{2,}[^\s\"']*", path.read_text())
        )
        assert addresses <= {"http://www.w3.org/2000/svg"}, path.name


def test_the_page_has_nothing_that_its_policy_forbids():
    text = (STATIC / "index.html").read_text()
    assert not re.search(r"<style|\sstyle=|\son[a-z]+=|<script(?![^>]*\ssrc=)", text)
    for path in STATIC.glob("*.js"):
        assert not re.search(
            r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function", path.read_text()
        )


def test_what_the_page_loads_is_there(server):
    names = set()
    for path in STATIC.iterdir():
        names |= set(re.findall(r"[\"'](?:/static|\.)/([\w.-]+)[\"']", path.read_text()))
    assert "board.js" in names
    for name in names:
        answer = server.get(f"/static/{name}")
        assert answer.status == 200, name
        assert answer.headers["content-type"].split(";")[0] in (
            "text/javascript",
            "text/css",
            "image/svg+xml",
        )


def test_the_command_says_where_the_page_is_and_ends_on_request():
    command = [sys.executable, "-m", "tabiya", "serve", "--port", "0", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        lines = ""
        while "}" not in lines:
            line = process.stdout.readline()
            assert line, process.stderr and process.stderr.read()
            lines += line
        url = json.loads(lines)["url"]
        assert url.startswith("http://127.0.0.1:")
        with urllib.request.urlopen(url, timeout=20) as answer:
            assert b"Tabiya" in answer.read()
        process.terminate()
        _, complaint = process.communicate(timeout=30)
        assert "Traceback" not in complaint


@pytest.mark.parametrize(
    ("words", "sentence"),
    [(["--port", "99999"], "between 0 and 65535"), (["--host", "no.such.host.invalid"], "no address")],
)
def test_a_wrong_option_is_one_sentence(capsys, words, sentence):
    assert main(["serve", *words]) == 2
    assert sentence in capsys.readouterr().err


def test_fifty_people_play_at_once_without_an_error(serve):
    server = serve(minds={"resnet": "random?seed=1"})
    minds = [{"name": "resnet"}, {"name": "random"}, {"name": "montecarlo", "nodes": 20}]
    threads_before = threading.active_count()

    def person(number: int) -> int:
        game = server.new_game(black=minds[number % len(minds)])
        for _ in range(4):
            state = server.settled(game)
            answer = server.act(game, "move", move=sorted(state["position"]["legal"])[0])
            assert answer.status == 200, answer.body
        return len(server.settled(game)["moves"])

    with ThreadPoolExecutor(CLIENTS) as crowd:
        played = list(crowd.map(person, range(CLIENTS)))
    assert played == [8] * CLIENTS
    assert len(server.page.rooms) == CLIENTS
    # No more players than seats, however many play, and no thought left behind.
    seats = sum(len(bench.idle) for bench in server.page.seats._benches.values())
    assert seats <= 4
    assert threading.active_count() <= threads_before + 40
