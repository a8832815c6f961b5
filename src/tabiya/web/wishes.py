"""What a request asks for, read and checked: sizes, kinds and ranges of every value from outside.

Beyond this file a value is what its type says. A wrong one is answered with a
sentence that names it and what would have been right.
"""

from __future__ import annotations

import asyncio
import json
import math
import re
from collections.abc import Iterable
from typing import Any

from starlette.requests import ClientDisconnect, Request

from tabiya.web import limits
from tabiya.web.refusal import Refusal

_GAME_ID = re.compile(r"[A-Za-z0-9_-]{16,32}")
_SQUARE = re.compile(r"[a-h][1-8]")


async def read_json(request: Request) -> dict[str, Any]:
    """The JSON object in a request's body; what is too large is not read to its end."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise Refusal("a request must be of the type application/json", 415)
    try:
        body = await asyncio.wait_for(_body(request), limits.BODY_SECONDS)
    except TimeoutError:
        raise Refusal("the request did not arrive in time", 408) from None
    except ClientDisconnect:
        raise Refusal("the request broke off") from None
    try:
        value = json.loads(body, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        raise Refusal("the request is not JSON") from None
    if not isinstance(value, dict):
        raise Refusal("the request must be a JSON object")
    return value


async def _body(request: Request) -> bytes:
    announced = request.headers.get("content-length", "")
    if announced.isdecimal() and int(announced) > limits.LARGEST_BODY:
        raise _too_large()
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > limits.LARGEST_BODY:
            raise _too_large()
        parts.append(part)
    return b"".join(parts)


def _too_large() -> Refusal:
    return Refusal(f"that is too large: at most {limits.LARGEST_BODY // 1024} kB can be sent at once", 413)


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


def refuse_others(wish: dict[str, Any], known: Iterable[str], where: str = "the request") -> None:
    """A name that nobody knows is a slip, not a wish."""
    for name in wish:
        if name not in set(known):
            raise Refusal(f"unknown entry {name!r} in {where}; it takes {', '.join(known)}")


def text(wish: dict[str, Any], name: str, longest: int = 200) -> str:
    value = wish.get(name, "")
    if not isinstance(value, str):
        raise Refusal(f"{name} must be text")
    if len(value) > longest:
        raise Refusal(f"{name} is too long: {len(value):,} characters, at most {longest:,} are read")
    return value


def number(wish: dict[str, Any], name: str, low: float, high: float) -> float | None:
    """A number in [low, high]; None where there is none."""
    value = wish.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Refusal(f"{name} must be a number")
    if (isinstance(value, float) and not math.isfinite(value)) or not low <= value <= high:
        raise Refusal(f"{name} must lie between {low:g} and {high:g}, not {str(value)[:20]}")
    return float(value)


def whole(wish: dict[str, Any], name: str, low: int, high: int) -> int | None:
    value = number(wish, name, low, high)
    if value is not None and value != int(value):
        raise Refusal(f"{name} must be a whole number, not {value:g}")
    return None if value is None else int(value)


def table(wish: dict[str, Any], name: str) -> dict[str, Any] | None:
    value = wish.get(name)
    if value is not None and not isinstance(value, dict):
        raise Refusal(f"{name} must be a JSON object")
    return value


def moves(wish: dict[str, Any], name: str = "moves") -> list[str]:
    """Moves in UCI; whether they are legal is the board's to say."""
    value = wish.get(name, [])
    if not isinstance(value, list) or not all(isinstance(each, str) and len(each) <= 5 for each in value):
        raise Refusal(f"{name} must be a list of moves such as e2e4")
    if len(value) > limits.LONGEST_GAME:
        raise Refusal(f"a game here has at most {limits.LONGEST_GAME} half-moves, not {len(value)}")
    return value


def squares(wish: dict[str, Any], name: str) -> list[str]:
    value = wish.get(name, [])
    if not isinstance(value, list) or len(value) > 64:
        raise Refusal(f"{name} must be a list of squares")
    for each in value:
        if not isinstance(each, str) or not _SQUARE.fullmatch(each):
            raise Refusal(f"{name} must be squares such as e4")
    return list(dict.fromkeys(value))


def game_id(value: str) -> str:
    if not _GAME_ID.fullmatch(value):
        raise Refusal("that is not the name of a game", 404)
    return value
