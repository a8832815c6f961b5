"""Who may ask, and what every answer carries: the page's outer wall.

A server on the loopback address can still be reached by any web page that the
same browser shows. So a request is answered only if its Host is this server
(a strange name that points here is an attack known as DNS rebinding) and its
Origin, where the browser names one, is this server too. Every answer forbids
the browser to load or send anything elsewhere.
"""

from __future__ import annotations

import ipaddress
import json
from collections.abc import Iterable

from starlette.types import ASGIApp, Message, Receive, Scope, Send

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)

_HEADERS = [
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), microphone=(), geolocation=()"),
]


class Guard:
    """Wraps the application: refuses strangers, adds the headers."""

    def __init__(self, app: ASGIApp, names: Iterable[str] = (), addresses: bool = False) -> None:
        """`names` may stand in Host beside localhost; `addresses`: any IP address may, too.

        An address cannot be rebound by a stranger's name server, a name can;
        so a server that listens beyond this machine takes addresses.
        """
        self._app = app
        self._names = {"localhost", *(name.lower() for name in names)}
        self._addresses = addresses

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", []), *_HEADERS]
            await send(message)

        wrong = self._wrong(scope)
        if wrong is None:
            await self._app(scope, receive, send_guarded)
            return
        body = json.dumps({"error": wrong}).encode()
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
        await send_guarded({"type": "http.response.start", "status": 403, "headers": headers})
        await send_guarded({"type": "http.response.body", "body": body})

    def _wrong(self, scope: Scope) -> str | None:
        """Why this request is not answered, or None."""
        given: dict[str, list[str]] = {}
        for name, value in scope["headers"]:
            given.setdefault(name.decode("latin-1"), []).append(value.decode("latin-1"))
        hosts = given.get("host", [])
        if len(hosts) != 1 or not self._known(hosts[0]):
            return "this server answers only under its own address"
        own = f"{scope.get('scheme', 'http')}://{hosts[0]}".lower()
        if any(origin.lower() != own for origin in given.get("origin", [])):
            return "a page of another origin may not use this server"
        if "cross-site" in given.get("sec-fetch-site", []) and given.get("sec-fetch-mode") != ["navigate"]:
            return "a page of another site may not use this server"
        return None

    def _known(self, host: str) -> bool:
        name = host_name(host)
        if name in self._names:
            return True
        try:
            address = ipaddress.ip_address(name)
        except ValueError:
            return False
        return address.is_loopback or self._addresses


def host_name(host: str) -> str:
    """The name or address in a Host header, without its port.

    >>> host_name("Example.org:80"), host_name("[::1]:8080")
    ('example.org', '::1')
    """
    host = host.strip().lower()
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0]
