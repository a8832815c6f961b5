"""One search in the background, that the UCI and xboard servers can stop, wait for, or disown.

A server must answer while its player thinks. The player runs in a thread of
its own; `stop` is repeated until it is heard, because the first call may come
before the player has begun.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from tabiya._core import Board
from tabiya.player import Decision, Limit, Player

_STOP_AGAIN_SECONDS = 0.004


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
        self._thread = threading.Thread(target=self._think, name="thinking", daemon=True)

    def start(self) -> None:
        """Begin; apart from making it, so that its owner can know it before it answers."""
        self._thread.start()

    def _think(self) -> None:
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
        return self._thread.is_alive() and not self._disowned

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
        self._thread.join(timeout)
        return not self._thread.is_alive()
