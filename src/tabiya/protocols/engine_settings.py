"""What the written name of an outside engine says: which program, run how, with which options."""

from __future__ import annotations

import math
import os
import shlex
from dataclasses import dataclass, field

from tabiya.player import PlayerError, PlayerName
from tabiya.protocols import engine_path


@dataclass(frozen=True, kw_only=True)
class EngineSettings:
    """How an outside engine is run; the lower-case option names of its written name."""

    name: str
    """What the player is called; the file's name unless `name=` says otherwise."""

    args: tuple[str, ...] = ()
    """Arguments after the command, from `args=`, split as a shell would."""

    start_timeout: float = 10.0
    """Seconds it may take to greet us."""

    margin: float = 10.0
    """Seconds beyond the limit's own time before it counts as hung."""

    patience: float = 120.0
    """Seconds for a move when the limit (nodes, depth) names no time."""

    multipv: int = 1
    """Candidate moves to ask for; UCI alone, and beyond 1 the engine analyses rather than plays."""

    options: dict[str, str] = field(default_factory=dict)
    """What is left: the engine's own options."""


def find_program(where: str) -> str:
    """The absolute path of a program, given by path or found where engines are."""
    path = engine_path.find_program(os.path.expanduser(where))
    if path is not None:
        return os.path.abspath(path)
    if os.path.isdir(where):
        raise PlayerError(f"the engine {where!r} is a folder, not a program")
    if os.path.exists(where):
        raise PlayerError(f"the engine {where!r} is not executable: try chmod +x")
    raise PlayerError(f"there is no engine {where!r}")


def read_settings(name: PlayerName, where: str) -> EngineSettings:
    """Our own settings taken out of the name's options; the rest is for the engine."""
    rest = dict(name.options)

    def number(key: str, default: float) -> float:
        text = rest.pop(key, None)
        if text is None:
            return default
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not 0 < value < math.inf:
            raise PlayerError(f"{key} of {where!r} must be a number above 0, not {text!r}")
        return value

    try:
        args = tuple(shlex.split(rest.pop("args", "")))
    except ValueError as error:
        raise PlayerError(f"args of {where!r} cannot be taken apart: {error}") from error
    return EngineSettings(
        name=rest.pop("name", "") or os.path.splitext(os.path.basename(where))[0] or where,
        args=args,
        start_timeout=number("start_timeout", EngineSettings.start_timeout),
        margin=number("margin", EngineSettings.margin),
        patience=number("patience", EngineSettings.patience),
        multipv=int(number("multipv", 1)),
        options=rest,
    )
