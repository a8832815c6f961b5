"""One search in the background, that the UCI and xboard servers can stop, wait for, or disown.

A server must answer while its player thinks. The player runs in a thread of
its own; `stop` is repeated until it is heard, because the first call may come
before the player has begun.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from typing import ClassVar

from tabiya._core import Board
from tabiya.player import Decision, Limit, Player

_STOP_AGAIN_SECONDS = 0.004


class _Worker:
    """A thread that does one job after another.

    Waking it is quicker than starting a thread: on a busy machine a new one
    may wait several milliseconds for its first turn, and a clock is running.
    """

    _idle: ClassVar[list[_Worker]] = []

    def __init__(self) -> None:
        self._jobs: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        threading.Thread(target=self._work, name="thinking", daemon=True).start()

    @classmethod
    def do(cls, job: Callable[[], None]) -> None:
        """Have a thread that is free, or a new one, do the job."""
        try:
            worker = cls._idle.pop()
        except IndexError:
            worker = cls()
        worker._jobs.put(job)

    def _work(self) -> None:
        while True:
            self._jobs.get()()
            self._idle.append(self)


class Thought:
    """`player` thinking about `board`; `tell` gets the decision or the exception, unless disowned.

    With `held`, the answer waits for `release` (or `stop`), as `go infinite` demands.
    """

    def __init__(
        self,
        player: Player,
        board: Board,
        limit: Limit,
        tell: Callable[[Decision | Exception], None],
        held: bool = False,
    ) -> None:
        self._player = player
        self._board = board.copy()
        self._limit = limit
        self._tell = tell
        self._may_tell = threading.Event()
        if not held:
            self._may_tell.set()
        self._decided = threading.Event()
        self._stopping = False
        self._disowned = False
        self._over = threading.Event()

    def start(self) -> None:
        """Begin; apart from making it, so that its owner can know it before it answers."""
        _Worker.do(self._think)

    def _think(self) -> None:
        try:
            self._decide_and_tell()
        finally:
            self._over.set()

    def _decide_and_tell(self) -> None:
        answer: Decision | Exception
        try:
            answer = self._player.play(self._board, self._limit)
        except Exception as error:
            # Whatever a mind breaks on, the server lives to say so.
            answer = error
        finally:
            self._decided.set()
        self._may_tell.wait()
        if not self._disowned:
            self._tell(answer)

    @property
    def running(self) -> bool:
        """Whether an answer is still to come."""
        return not (self._over.is_set() or self._disowned)

    def release(self) -> None:
        """A held answer may be told as soon as it is there."""
        self._may_tell.set()

    def stop(self) -> None:
        """Ask for the best move so far; returns at once."""
        self.release()
        if not self._stopping:
            self._stopping = True
            threading.Thread(target=self._stop_until_heard, name="stopping", daemon=True).start()

    def _stop_until_heard(self) -> None:
        while not self._decided.is_set():
            self._player.stop()
            self._decided.wait(_STOP_AGAIN_SECONDS)

    def disown(self) -> None:
        """Stop, and never tell."""
        self._disowned = True
        self.stop()

    def wait_decided(self, timeout: float) -> bool:
        """Wait until the player is free again, told or not; False if `timeout` seconds were not enough."""
        return self._decided.wait(timeout)

    def wait(self, timeout: float) -> bool:
        """Wait until everything is told; False if `timeout` seconds were not enough."""
        return self._over.wait(timeout)
