"""How soon the page answers: from the start of the server to its first answer, and from a move to the reply.

    python -m tabiya.bench.web --out results/web-speed.json

Measured over HTTP against a server process of its own, as a browser would
meet it: the time from starting `tabiya serve` to the first page and to the list
of minds, which a page has before it offers a game, and for each mind without
search the time from sending a move until the game with the mind's answer is
there. Times of a machine that does other work say little, so the load stands
beside them.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path
from time import perf_counter, sleep
from typing import Any

from tabiya.arena.provenance import provenance
from tabiya.files import write_json

MINDS = ("resnet", "transformer")
OPENING = ("e2e4", "d2d4", "g1f3", "c2c4", "b1c3", "g2g3", "a2a3", "h2h3", "e2e3", "d2d3")
STEP = 0.001
PATIENCE = 60.0


class Server:
    """`tabiya serve` on a free port, until the block ends."""

    def __enter__(self) -> Server:
        began = perf_counter()
        command = [sys.executable, "-m", "tabiya", "serve", "--port", "0", "--json"]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        text = ""
        while "}" not in text:
            line = self._process.stdout.readline()
            if not line:
                raise RuntimeError("the server did not start")
            text += line
        self._port = int(json.loads(text)["url"].rstrip("/").rpartition(":")[2])
        self.ask("GET", "/")
        self.start_s = perf_counter() - began
        # As the page does before it offers a game: the answer comes once every mind was opened.
        self.ask("GET", "/api/minds")
        self.minds_s = perf_counter() - began
        return self

    def __exit__(self, *_exception: object) -> None:
        self._process.terminate()
        self._process.wait(30)

    @property
    def process(self) -> int:
        """Its number, for those who want to know its size."""
        return self._process.pid

    def ask(self, method: str, path: str, body: Any = None) -> bytes:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=PATIENCE)
        try:
            sent = None if body is None else json.dumps(body)
            connection.request(method, path, sent, {"content-type": "application/json"})
            answer = connection.getresponse()
            content = answer.read()
            if answer.status != 200:
                raise RuntimeError(f"{path}: {content.decode(errors='replace')[:200]}")
            return content
        finally:
            connection.close()

    def reply_ms(self, mind: str, move: str) -> float:
        """Milliseconds from a first move until the mind's answer is there to be shown."""
        game = json.loads(self.ask("POST", "/api/games", {"new": {"black": {"name": mind}}}))["id"]
        began = perf_counter()
        self.ask("POST", f"/api/games/{game}/move", {"move": move})
        while perf_counter() - began < PATIENCE:
            if len(json.loads(self.ask("GET", f"/api/games/{game}"))["moves"]) > 1:
                return 1000 * (perf_counter() - began)
            sleep(STEP)
        raise RuntimeError(f"{mind} did not answer {move}")


def measure(starts: int, games: int) -> dict[str, Any]:
    """The figures, as they stand in the record."""
    times: list[float] = []
    ready: list[float] = []
    replies: dict[str, list[float]] = {mind: [] for mind in MINDS}
    for _ in range(starts):
        with Server() as server:
            times.append(server.start_s)
            ready.append(server.minds_s)
            for mind in MINDS:
                for number in range(games):
                    replies[mind].append(server.reply_ms(mind, OPENING[number % len(OPENING)]))
    return {
        "question": "How soon does the page answer: after its start, and after a move?",
        "start_to_first_answer_s": _figures(times),
        "start_to_all_minds_s": _figures(ready),
        "first_in_a_fresh_server_ms": {m: _figures(all_[::games]) for m, all_ in replies.items()},
        "move_to_reply_ms": {mind: _figures(found) for mind, found in replies.items()},
        "load_average": round(os.getloadavg()[0], 2),
        **provenance(),
    }


def _figures(times: list[float]) -> dict[str, float | int]:
    rounded = {"median": statistics.median(times), "worst": max(times)}
    return {name: round(value, 3) for name, value in rounded.items()} | {"times": len(times)}


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tabiya.bench.web", description="How soon the page answers."
    )
    parser.add_argument("--starts", type=int, default=5, metavar="N", help="servers to start (5)")
    parser.add_argument("--games", type=int, default=10, metavar="N", help="games with each mind (10)")
    parser.add_argument("--out", type=Path, metavar="FILE", help="where the record goes")
    args = parser.parse_args(words)
    found = measure(max(1, args.starts), max(1, args.games))
    if args.out is not None:
        write_json(args.out, found)
    print(json.dumps(found, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
