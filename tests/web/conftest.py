"""A real server on a free port of this machine, a client for it, and a browser where there is one."""

from __future__ import annotations

import http.client
import json
import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tabiya._core import Board
from tabiya.player import Decision, Limit, Player, PlayerError, PlayerOption, ScoredMove
from tabiya.roster import KINDS, open_player

LADDER = "6k1/8/R7/1R6/8/8/8/K7 w - - 0 1"
"""White mates with Rb7 and Ra8, whatever is answered."""


class Scripted(Player):
    """Plays the first legal move by name, and remembers how it was asked."""

    name = "scripted"

    def __init__(self) -> None:
        self.settings: dict[str, str] = {}
        self.asked: list[tuple[str, Limit, dict[str, str]]] = []
        self.stopped = threading.Event()
        self.slow = False
        self.broken = False
        self.wdl = (0.2, 0.3, 0.5)

    def play(self, board: Board, limit: Limit) -> Decision:
        self.asked.append((board.fen(), limit, dict(self.settings)))
        if self.broken:
            raise RuntimeError("a fuse blew")
        if self.slow:
            self.stopped.clear()
            assert self.stopped.wait(30)
        moves = sorted(board.legal_moves())
        share = 1 / len(moves)
        return Decision(
            move=moves[0], wdl=self.wdl, moves=tuple(ScoredMove(move, p=share) for move in moves), nodes=1
        )

    def stop(self) -> None:
        self.stopped.set()

    def options(self) -> tuple[PlayerOption, ...]:
        return (PlayerOption("temperature", "string", "0"), PlayerOption("top_p", "string", "1"))

    def set_option(self, name: str, value: str) -> None:
        self.settings[name] = value


class Answer:
    def __init__(self, status: int, headers: dict[str, str], body: bytes) -> None:
        self.status, self.headers, self.body = status, headers, body

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Serving:
    """A server in a thread; `opened` are the names that were opened, in order."""

    def __init__(self, folders: list[Path], explain: Any = None, minds: dict[str, Any] | None = None) -> None:
        from tabiya.web.app import Page

        self.scripted = Scripted()
        self.opened: list[str] = []
        self._minds = minds or {}
        self._make_page: Callable[[], Page] = lambda: Page(self._open, KINDS, folders, explain)
        self.port = 0
        self.start()

    def _open(self, name: str) -> Player:
        self.opened.append(name)
        if name in self._minds:
            found = self._minds[name]
            if isinstance(found, Exception):
                raise found
            if found == "scripted":
                return self.scripted
            return open_player(found) if isinstance(found, str) else found
        if name == "resnet":
            return self.scripted
        return open_player(name)

    def start(self) -> None:
        from tabiya.web.server import listening, make_server

        self.page = self._make_page()
        self._socket = listening("127.0.0.1", self.port)
        self.port = self._socket.getsockname()[1]
        ready = threading.Event()
        self._server = make_server(self.page, "127.0.0.1", ready=ready.set)
        self._thread = threading.Thread(target=self._server.run, args=([self._socket],), daemon=True)
        self._thread.start()
        assert ready.wait(20)

    def stop(self) -> None:
        self._server.should_exit = True
        self._thread.join(20)
        self._socket.close()
        assert not self._thread.is_alive()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/"

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> Answer:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        sent = None
        if body is not None:
            sent = body if isinstance(body, bytes) else json.dumps(body).encode()
            headers = {"content-type": "application/json"} | headers
        try:
            connection.request(
                method, path, sent, {name.replace("_", "-"): text for name, text in headers.items()}
            )
            answer = connection.getresponse()
            return Answer(
                answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()
            )
        finally:
            connection.close()

    def get(self, path: str, **headers: str) -> Answer:
        return self.ask("GET", path, None, **headers)

    def post(self, path: str, body: Any, **headers: str) -> Answer:
        return self.ask("POST", path, body, **headers)

    def new_game(self, **wish: Any) -> dict[str, Any]:
        answer = self.post("/api/games", {"new": {"black": {"name": "resnet"}} | wish})
        assert answer.status == 200, answer.body
        return answer.json

    def act(self, game: dict[str, Any], action: str, **wish: Any) -> Answer:
        return self.post(f"/api/games/{game['id']}/{action}", wish)

    def settled(self, game: dict[str, Any]) -> dict[str, Any]:
        """The game once no mind is thinking."""
        for _ in range(1500):
            state = self.get(f"/api/games/{game['id']}").json
            if not state["thinking"]:
                return state
            time.sleep(0.02)
        raise AssertionError(f"the mind never answered: {state}")


@pytest.fixture
def serve() -> Iterator[Callable[..., Serving]]:
    """Starts servers that end with the test."""
    started: list[Serving] = []

    def start(*folders: Path, explain: Any = None, minds: dict[str, Any] | None = None) -> Serving:
        started.append(Serving(list(folders), explain, minds))
        return started[-1]

    yield start
    for each in started:
        each.scripted.stop()
        each.stop()


@pytest.fixture
def server(serve) -> Serving:
    """One server; its `resnet` is scripted, its other minds are real."""
    return serve()


@pytest.fixture(scope="module")
def shared() -> Iterator[Serving]:
    """One server for the tests of a file that leave nothing behind."""
    started = Serving([])
    yield started
    started.stop()


@pytest.fixture
def missing_mind() -> PlayerError:
    return PlayerError("no genome is shipped yet: name one with genetic:pool.txt")


def _required(reason: str) -> None:
    if os.environ.get("CI"):
        pytest.fail(f"{reason}, and CI installs it")
    pytest.skip(reason)


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """A headless Chromium, driven by Playwright."""
    path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if path is None:
        _required("chromium is not installed")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        _required("playwright is not installed")
    arguments = [
        "--no-sandbox",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
    ]
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=arguments)
        yield browser
        browser.close()


class Visit:
    """A tab, with what went wrong in it and whom it spoke to."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.errors: list[str] = []
        self.hosts: set[str] = set()
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("console", lambda line: self.errors.append(line.text) if line.type == "error" else None)
        page.on("request", lambda request: self.hosts.add(request.url.split("/")[2]))


@pytest.fixture
def visit(chromium) -> Iterator[Callable[..., Visit]]:
    """Opens tabs, each in a browser profile of its own unless one is given; no error in any console."""
    contexts: list[Any] = []
    visits: list[Visit] = []

    def go(
        url: str, *, width: int = 1280, height: int = 900, dark: bool = False, beside: Any = None
    ) -> Visit:
        context = beside
        if context is None:
            context = chromium.new_context(
                viewport={"width": width, "height": height},
                color_scheme="dark" if dark else "light",
                # A phone's width comes with a finger.
                has_touch=width < 500,
            )
            context.set_default_timeout(30_000)
            contexts.append(context)
        made = Visit(context.new_page())
        visits.append(made)
        made.page.goto(url)
        return made

    yield go
    for context in contexts:
        context.close()
    # What the browser itself notes of a refused request is no fault of the page's.
    assert [error for each in visits for error in each.errors if "Failed to load resource" not in error] == []
