"""One outside engine as a process that can be started, asked, and always be got rid of.

python-chess speaks the protocols; this file owns what it leaves open: a limit
on every wait, the end of a process that hangs together with its children, and
one background loop in a daemon thread, so that a forgotten engine never keeps
the program from ending. Where the system can do it, an engine ends with the
program even if that was killed: some engines spin for ever once nobody writes
to them.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import ctypes
import logging
import os
import signal
import sys
import threading
import weakref
from collections.abc import Coroutine
from typing import Any, TypeVar

import chess.engine

Result = TypeVar("Result")

# python-chess logs every odd line of an engine; without a handler these would land on standard error.
logging.getLogger("chess.engine").addHandler(logging.NullHandler())

_PROTOCOLS: dict[str, type[chess.engine.Protocol]] = {
    "uci": chess.engine.UciProtocol,
    "xboard": chess.engine.XBoardProtocol,
}

_PR_SET_PDEATHSIG = 1
"""Linux: the signal that a process gets when the thread that started it is no more."""
_prctl = ctypes.CDLL(None).prctl if sys.platform == "linux" else None

_lock = threading.Lock()
_loop: asyncio.AbstractEventLoop | None = None
_running: weakref.WeakSet[EngineProcess] = weakref.WeakSet()


def _event_loop() -> asyncio.AbstractEventLoop:
    """The loop on which all outside engines are talked to; started with the first of them."""
    global _loop
    with _lock:
        if _loop is None:
            _loop = asyncio.new_event_loop()
            # A broken engine makes python-chess's callbacks raise; the wait for the answer reports it.
            _loop.set_exception_handler(lambda _loop, _context: None)
            threading.Thread(target=_loop.run_forever, name="outside engines", daemon=True).start()
            atexit.register(_end_all)
        return _loop


def _end_all() -> None:
    for process in list(_running):
        process.kill()


def _end_with_parent() -> None:
    """In the new process, before the engine; its parent is the loop's thread, which lives as long as we."""
    if _prctl is not None:
        _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


class EngineProcess:
    """A started engine that answered the protocol's greeting.

    Every method is called from outside the loop's thread and waits for its answer.
    """

    def __init__(self, transport: asyncio.SubprocessTransport, protocol: chess.engine.Protocol) -> None:
        self._transport = transport
        self.protocol = protocol
        self._ended = False
        _running.add(self)

    @classmethod
    def start(cls, kind: str, command: list[str], timeout: float) -> EngineProcess:
        """Start `command` and greet it.

        Raises OSError if it cannot be run, TimeoutError if it does not answer
        within `timeout` seconds, chess.engine.EngineError if it dies or refuses.
        """
        loop = _event_loop()

        async def begin() -> EngineProcess:
            # Its own session: Ctrl-C at our terminal is ours, and one kill reaches its children.
            transport, protocol = await _PROTOCOLS[kind].popen(
                command, start_new_session=True, preexec_fn=_end_with_parent if _prctl else None
            )
            process = cls(transport, protocol)
            try:
                await asyncio.wait_for(protocol.initialize(), timeout)
            except BaseException:
                process.kill()
                raise
            return process

        return asyncio.run_coroutine_threadsafe(begin(), loop).result()

    def ask(self, question: Coroutine[Any, Any, Result], timeout: float | None) -> Result:
        """The answer to one of the protocol's coroutines; TimeoutError after `timeout` seconds."""

        async def bounded() -> Result:
            return await asyncio.wait_for(question, timeout)

        return asyncio.run_coroutine_threadsafe(bounded(), _event_loop()).result()

    def say(self, line: str) -> None:
        """Send one line beside whatever else is going on, such as `stop`."""

        def send() -> None:
            if not self.protocol.returncode.done():
                self.protocol.send_line(line)

        _event_loop().call_soon_threadsafe(send)

    @property
    def pid(self) -> int:
        return self._transport.get_pid()

    @property
    def alive(self) -> bool:
        return not self._ended and not self.protocol.returncode.done()

    def quit(self, timeout: float = 2.0) -> None:
        """Ask it to leave; after `timeout` seconds it is made to."""
        if self.alive:
            with contextlib.suppress(TimeoutError, chess.engine.EngineError, OSError):
                self.ask(self.protocol.quit(), timeout)
        self.kill()

    def kill(self) -> None:
        """End the process and its children at once, whatever state it is in."""
        if self._ended:
            return
        self._ended = True
        _running.discard(self)
        if self._transport.get_returncode() is None:
            with contextlib.suppress(OSError):
                if hasattr(os, "killpg"):
                    os.killpg(self._transport.get_pid(), signal.SIGKILL)
                else:
                    self._transport.kill()
        with contextlib.suppress(RuntimeError):
            _event_loop().call_soon_threadsafe(self._transport.close)
