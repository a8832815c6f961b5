"""A mind as a chess program sees it, and what was done to that program's list of engines.

Every engine we enter is called "Tabiya MIND". By that name, and by a command
that serves a mind, our entries are known from all others, which are not ours to
touch.

    >>> Engine("/opt/tabiya", "uci", "nnue").command()
    '/opt/tabiya uci nnue'
"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tabiya.errors import UserError

PREFIX = "Tabiya "
PROTOCOLS = ("uci", "xboard")


@dataclass(frozen=True)
class Engine:
    """One line of a list of engines."""

    program: str
    """Absolute path of the `tabiya` to start."""
    protocol: str
    mind: str
    starter: str = ""
    """Path of the mind's own file, for programs that need one (see `tabiya.programs.starter`)."""

    @property
    def name(self) -> str:
        return PREFIX + self.mind

    @property
    def words(self) -> list[str]:
        return [self.program, self.protocol, self.mind]

    def command(self) -> str:
        """The words as one line, those with a space in double quotes."""
        return " ".join(f'"{word}"' if " " in word else word for word in self.words)


@dataclass
class Edit:
    """The new text of a settings file, and the names of our engines in it by what became of them."""

    text: str
    added: list[str] = field(default_factory=list)
    updated: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)


def words_of(command: str) -> list[str]:
    """A command line's words; none if its quotes do not close."""
    try:
        return shlex.split(command)
    except ValueError:
        return []


def serves_a_mind(words: Sequence[str]) -> bool:
    """Whether a command's words end as ours do: `uci MIND` or `xboard MIND`."""
    return len(words) >= 2 and words[-2] in PROTOCOLS


def refuse_odd_characters(engine: Engine) -> None:
    """No settings file here can quote these safely, so they never get that far."""
    for word in (engine.program, engine.mind):
        odd = [letter for letter in word if letter in "\"'{}\\" or not letter.isprintable()]
        if odd:
            raise UserError(f"{word!r} contains {odd[0]!r}, which chess programs' settings cannot hold")


def program_in_use() -> str:
    """The absolute path of the `tabiya` program that runs now.

    Symbolic links stay as they are: the path in a virtual environment finds its
    packages, the one it leads to may not.
    """
    called = Path(sys.argv[0])
    candidates = [shutil.which(str(called)) if called.stem == "tabiya" else None]
    # `python -m tabiya` has no program of its own; the one installed beside that Python is the same.
    candidates.append(shutil.which("tabiya", path=str(Path(sys.executable).parent)))
    candidates.append(shutil.which("tabiya"))
    for found in candidates:
        if found is not None:
            return os.path.abspath(found)
    raise UserError(
        "no program `tabiya` is installed beside this Python or on the PATH: name one with --tabiya"
    )
