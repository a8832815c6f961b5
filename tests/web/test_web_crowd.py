"""Fifty people at once against the four shipped minds, in a server process of its own, twice."""

from __future__ import annotations

import json
import re
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tabiya.bench.web import Server

CLIENTS = 50
REPLIES = 4
MINDS = (
    {"name": "resnet"},
    {"name": "transformer"},
    {"name": "nnue", "nodes": 500},
    {"name": "genetic", "nodes": 500},
)
MEGABYTES_MORE = 100
"""What a second crowd may add: games kept, and buffers; far less than fifty networks would."""


def _resident_megabytes(process: int) -> float:
    status = Path(f"/proc/{process}/status").read_text(encoding="utf-8")
    return int(re.findall(r"VmRSS:\s+(\d+) kB", status)[0]) / 1024


def _play(server: Server, number: int) -> int:
    wish = {"new": {"black": MINDS[number % len(MINDS)]}}
    game = json.loads(server.ask("POST", "/api/games", wish))["id"]
    for reply in range(1, REPLIES + 1):
        legal = json.loads(server.ask("GET", f"/api/games/{game}"))["position"]["legal"]
        server.ask("POST", f"/api/games/{game}/move", {"move": sorted(legal)[number % len(legal)]})
        for _ in range(3000):
            state = json.loads(server.ask("GET", f"/api/games/{game}"))
            if not state["thinking"] and (len(state["moves"]) == 2 * reply or state["result"] != "*"):
                break
            time.sleep(0.02)
        else:
            raise AssertionError(f"no answer to person {number}: {state}")
        if state["result"] != "*":
            return reply
    return REPLIES


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read from /proc")
def test_fifty_people_play_the_real_minds_without_an_error_and_in_bounded_memory():
    with Server() as server, ThreadPoolExecutor(CLIENTS) as crowd:
        sizes = []
        for _ in range(2):
            played = list(crowd.map(lambda number: _play(server, number), range(CLIENTS)))
            assert min(played) >= 1
            assert sum(played) > CLIENTS * (REPLIES - 1)
            sizes.append(_resident_megabytes(server.process))
    assert sizes[1] < sizes[0] + MEGABYTES_MORE
    assert sizes[1] < 1500
