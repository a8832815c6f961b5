"""The chess programs that `tabiya install-engine` knows, and where their settings lie.

A program with a settings file is three functions from text to text and a path;
one without is asked to be told by hand, and the command lines are printed.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tabiya.errors import UserError
from tabiya.programs import engines_json, xboard_settings
from tabiya.programs.engine import Edit, Engine

XBOARD_SYSTEM = Path("/etc/xboard/xboard.conf")


@dataclass(frozen=True)
class Settings:
    """A settings file that can be edited."""

    path: Callable[[], Path]
    install: Callable[[str, Sequence[Engine]], Edit]
    remove: Callable[[str, Sequence[str]], Edit]
    installed: Callable[[str], list[str]]
    strict: bool
    """Whether the file must be UTF-8; else bytes of any encoding pass through unchanged."""
    note: Callable[[Path], str]
    """What the user should know of the change."""
    then: str
    """What to do in the program with engines that are new."""
    starters: bool = False
    """Whether each engine needs a file of its own, which then lies in a folder beside the settings."""


@dataclass(frozen=True)
class Program:
    """One chess program."""

    name: str
    title: str
    protocol: str
    settings: Settings | None = None
    steps: str = ""
    """Where the settings are the program's alone: what to do there by hand."""


def _config_home() -> Path:
    """XDG_CONFIG_HOME, which must be absolute to count, else ~/.config."""
    written = os.environ.get("XDG_CONFIG_HOME", "")
    return Path(written) if os.path.isabs(written) else Path.home() / ".config"


def _xboard_install(text: str, engines: Sequence[Engine]) -> Edit:
    try:
        system = XBOARD_SYSTEM.read_text(encoding="utf-8", errors="surrogateescape")
        xboard_settings.installed(system)
    except (OSError, UserError):
        system = ""  # then there is no list to take over
    return xboard_settings.install(text, engines, system)


def _xboard_note(path: Path) -> str:
    import pwd  # not on Windows, where xboard is another program

    note = "xboard writes its settings when it ends: it must not run now"
    read = Path(pwd.getpwuid(os.getuid()).pw_dir) / ".xboardrc"
    if path.resolve() != read.resolve():
        note += f". xboard itself reads {read}, whatever HOME says: start it with `xboard -ini {path}`"
    return note


def _engines_json(title: str, shape: engines_json.Shape, then: str) -> Settings:
    """The settings of a program that keeps its engines in engines.json, in a folder of its own."""
    folder = title.lower().replace(" ", "")
    return Settings(
        path=lambda: _config_home() / folder / "engines.json",
        install=partial(engines_json.install, shape=shape),
        remove=engines_json.remove,
        installed=engines_json.installed,
        strict=True,
        note=lambda _path: f"{title} writes its list of engines itself: it must not run now",
        then=then,
        starters=True,
    )


_BY_HAND = "the command is the engine's file, the parameters its arguments; choose the protocol too"

PROGRAMS = {
    program.name: program
    for program in (
        Program(
            "xboard",
            "xboard",
            "xboard",
            Settings(
                path=lambda: Path.home() / ".xboardrc",
                install=_xboard_install,
                remove=xboard_settings.remove,
                installed=xboard_settings.installed,
                strict=False,
                note=_xboard_note,
                then="Engine > Load New 1st Engine",
            ),
        ),
        Program(
            "pychess",
            "PyChess",
            "uci",
            _engines_json(
                "PyChess",
                engines_json.PYCHESS,
                "start PyChess, which asks each new engine for its options, and choose one as a player",
            ),
        ),
        Program(
            "cutechess",
            "Cute Chess",
            "uci",
            _engines_json("Cute Chess", engines_json.CUTECHESS, "Game > New, and choose one under CPU"),
        ),
        Program("arena", "Arena", "uci", steps=f"Engines > Manage > Details > New: {_BY_HAND}"),
        Program("banksia", "Banksia GUI", "uci", steps=f"in its dialog of engines: {_BY_HAND}"),
        Program("lichess-bot", "lichess-bot", "uci"),
    )
}
