"""The controls of an evolution at a terminal: Ctrl-Z and keys.

Ctrl-Z lets the running games end and then stops the program as every shell
expects (`fg` goes on). Of the keys, `p` pauses in place and goes on again, `q`
ends the run after the running games. Ctrl-C is Python's own.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import time
from types import FrameType
from typing import Any

KEYS = "p pauses, q ends, Ctrl-Z stops the program after the running games, Ctrl-C at once"


class Controls:
    """Watches for signals and keys while it is entered."""

    def __init__(self) -> None:
        self._suspend = self._paused = self._ending = False
        self._terminal: list[Any] | None = None
        self._old_handler: Any = None

    def __enter__(self) -> Controls:
        self._old_handler = signal.signal(signal.SIGTSTP, self._on_suspend)
        self._key_by_key()
        return self

    def __exit__(self, *_exception: object) -> None:
        self._line_by_line()
        signal.signal(signal.SIGTSTP, self._old_handler)

    def look(self) -> None:
        key = self._key()
        if key == "p":
            self._paused = not self._paused
        elif key == "q":
            self._ending = True

    def holds(self) -> bool:
        return self._suspend or self._paused or self._ending

    def hold(self) -> bool:
        if self._ending:
            return False
        if self._suspend:
            self._suspend = False
            self._line_by_line()
            os.kill(os.getpid(), signal.SIGSTOP)
            self._key_by_key()
            return True
        print("paused; p goes on, q ends", file=sys.stderr)
        while self._paused and not self._ending and not self._suspend:
            time.sleep(0.1)
            self.look()
        return not self._ending

    def _on_suspend(self, _signal: int, _frame: FrameType | None) -> None:
        self._suspend = True

    def _key_by_key(self) -> None:
        if not sys.stdin.isatty():
            return
        import termios
        import tty

        self._terminal = termios.tcgetattr(sys.stdin)
        tty.setcbreak(sys.stdin)

    def _line_by_line(self) -> None:
        if self._terminal is None:
            return
        import termios

        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, self._terminal)
        self._terminal = None

    def _key(self) -> str:
        if self._terminal is None or not select.select([sys.stdin], [], [], 0)[0]:
            return ""
        return os.read(sys.stdin.fileno(), 1).decode("ascii", "replace").lower()
