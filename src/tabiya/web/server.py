"""The server itself: a socket, the application on it, and an end that leaves nobody hanging."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Callable, Sequence

import uvicorn

from tabiya.errors import UserError
from tabiya.web.app import Page, create_app

GRACE_SECONDS = 2


def listening(host: str, port: int) -> socket.socket:
    """A socket that listens; a sentence where the address cannot be had."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (socket.gaierror, OverflowError, UnicodeError):
        raise UserError(f"there is no address {host!r} on this machine") from None
    family, kind, protocol, _, address = found[0]
    made = socket.socket(family, kind, protocol)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(address)
        made.listen(256)
    except OSError as error:
        made.close()
        why = error.strerror or str(error)
        raise UserError(f"cannot listen on {host}, port {port} ({why}): choose another with --port") from None
    return made


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach the address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def url_of(host: str, port: int) -> str:
    name = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, f"[{host}]" if ":" in host else host)
    return f"http://{name}:{port}/"


class _Server(uvicorn.Server):
    """Uvicorn, but pages that wait for news are let go before it waits for them."""

    def __init__(self, config: uvicorn.Config, page: Page, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._page, self._ready = page, ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await self._page.rooms.close()
        await super().shutdown(sockets)


def make_server(
    page: Page, host: str, names: Sequence[str] = (), ready: Callable[[], None] = lambda: None
) -> uvicorn.Server:
    """The server, to be run on a socket from `listening`; `ready` is called when it answers."""
    allowed = [host, *names]
    config = uvicorn.Config(
        create_app(page, allowed, addresses=not is_loopback(host)),
        log_level="warning",
        access_log=False,
        server_header=False,
        ws="none",
        timeout_keep_alive=30,
        timeout_graceful_shutdown=GRACE_SECONDS,
    )
    return _Server(config, page, ready)
