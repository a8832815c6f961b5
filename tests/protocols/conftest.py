"""Engines that misbehave, and a conversation with a server that runs in this process."""

from __future__ import annotations

import shlex
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from tabiya.player import Player, PlayerName
from tabiya.protocols import engines

ENGINES = Path(__file__).parent / "engines"

OpenMisbehaving = Callable[..., Player]


@pytest.fixture
def misbehaving(request: pytest.FixtureRequest) -> OpenMisbehaving:
    """Opens misbehaving_uci.py or misbehaving_xboard.py in one of its modes; closed after the test."""

    def start(mode: str, *arguments: str, kind: str = "uci", **options: str) -> Player:
        command = [str(ENGINES / f"misbehaving_{kind}.py"), mode, *arguments]
        name = PlayerName(kind, sys.executable, options={"args": shlex.join(command), "name": mode} | options)
        player = engines.open_player(name)
        request.addfinalizer(player.close)
        return player

    return start


class Talk:
    """What a server wrote, line by line, from whatever thread."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._news = threading.Condition()

    def __call__(self, line: str) -> None:
        with self._news:
            self.lines.append(line)
            self._news.notify_all()

    def wait_for(self, start: str, timeout: float = 60.0) -> str:
        """The first line that begins so, now or within `timeout` seconds."""

        def found() -> str | None:
            return next((line for line in self.lines if line.startswith(start)), None)

        with self._news:
            self._news.wait_for(lambda: found() is not None, timeout)
            line = found()
        assert line is not None, f"no line {start!r} among {self.lines}"
        return line

    def starting(self, start: str) -> list[str]:
        return [line for line in self.lines if line.startswith(start)]


@pytest.fixture
def talk() -> Talk:
    return Talk()
