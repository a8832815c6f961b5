"""Finding an engine by what the user calls it: a path, a name, or a command with arguments."""

from __future__ import annotations

import shlex
import shutil

GAMES = "/usr/games"
"""Where Debian keeps chess engines, which is on few people's PATH."""


def find_program(name: str) -> str | None:
    """The full path of a program, looked for on the PATH and among the games; None if there is none."""
    return shutil.which(name) or shutil.which(name, path=GAMES)


def engine_command(command: str) -> list[str] | None:
    """A command's full path and arguments; None if it is not there, ValueError if unreadable."""
    words = [command] if shutil.which(command) else shlex.split(command)
    found = find_program(words[0]) if words else None
    return [found, *words[1:]] if found else None
