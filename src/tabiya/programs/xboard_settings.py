"""xboard's list of engines: one option of many in a file that xboard writes whenever it ends.

The option is called firstChessProgramNames and its value stands in braces, an
engine a line: a name in quotes, then the options that start it. xboard itself
writes `-firstChessProgramNames {`, older versions `/firstChessProgramNames={`.
Nothing outside the braces is changed, and inside them only lines that are ours.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from tabiya.errors import UserError
from tabiya.programs.engine import PREFIX, Edit, Engine, serves_a_mind, words_of

OPTION = "firstChessProgramNames"
_START = re.compile(rf"^[ \t]*[-/]{OPTION}\b", re.MULTILINE)
_LIST = re.compile(rf"^[ \t]*[-/]{OPTION}[ \t]*=?[ \t]*\{{([^}}]*)\}}", re.MULTILINE)
_OURS = re.compile(rf'^"({PREFIX}[^"]+)" -fcp ("[^"]*"|\'[^\']*\'|\S+)(.*)$', re.DOTALL)


def install(text: str, engines: Sequence[Engine], system: str = "") -> Edit:
    """The settings with our engines in them.

    If the user's settings have no list of their own, xboard would show the one
    of `system`, its system-wide settings: that list is then taken over, so that
    no engine vanishes because ours appear.
    """
    body = _body(text)
    if body is None:
        body = _body(system) or ""
    return _rewritten(text, body.split("\n"), engines, remove=None)


def remove(text: str, names: Sequence[str]) -> Edit:
    """The settings without our engines of these names; without any of ours if no name is given."""
    body = _body(text)
    if body is None:
        return Edit(text)
    return _rewritten(text, body.split("\n"), (), remove=names)


def installed(text: str) -> list[str]:
    """The names of our engines in the settings."""
    return [ours[0] for line in (_body(text) or "").split("\n") if (ours := _ours(line))]


def _body(text: str) -> str | None:
    """What stands between the braces; of several lists the last, which is the one xboard heeds."""
    first = text.lstrip()[:1]
    if "\0" in text or (first and first not in ";-/@#"):
        raise UserError("is not a settings file of xboard: its first line is neither an option nor a comment")
    starts, lists = _START.findall(text), _LIST.findall(text)
    if len(starts) != len(lists):
        raise UserError(f"is damaged: the braces of {OPTION} are not closed")
    return lists[-1] if lists else None


def _ours(line: str) -> tuple[str, str, str] | None:
    """Name, quoted command and further options of a line that is ours."""
    match = _OURS.match(line)
    if match is None or not serves_a_mind(words_of(_unquoted(match[2]))):
        return None
    return match[1], match[2], match[3]


def _rewritten(text: str, lines: list[str], engines: Sequence[Engine], remove: Sequence[str] | None) -> Edit:
    edit = Edit(text)
    wanted = {engine.name: engine for engine in engines}
    kept = []
    for line in lines:
        ours = _ours(line)
        if ours is None:
            if any(line.startswith(f'"{name}"') for name in wanted):
                raise UserError(f"has an engine of that name that is not ours: rename it first: {line}")
            kept.append(line)
        elif remove is not None and (not remove or ours[0] in remove):
            edit.removed.append(ours[0])
        elif ours[0] in wanted:
            name, _command, options = ours
            # Whatever the user added behind the command (-fd, -variant, a book) stays.
            new = f'"{name}" -fcp {_quoted(wanted.pop(name))}{options}'
            (edit.unchanged if new == line else edit.updated).append(name)
            kept.append(new)
        else:
            kept.append(line)
    if kept and kept[-1].strip() == "":
        kept.pop()
    for name, engine in wanted.items():
        kept.append(f'"{name}" -fcp {_quoted(engine)}')
        edit.added.append(name)
    if edit.added or edit.updated or edit.removed:
        edit.text = _with_body(text, "".join(f"{line}\n" for line in kept))
    return edit


def _quoted(engine: Engine) -> str:
    command = engine.command()
    return f"'{command}'" if '"' in command else f'"{command}"'


def _unquoted(value: str) -> str:
    return value[1:-1] if value[:1] in ("'", '"') else value


def _with_body(text: str, body: str) -> str:
    lists = list(_LIST.finditer(text))
    if lists:
        return text[: lists[-1].start(1)] + body + text[lists[-1].end(1) :]
    gap = "" if not text or text.endswith("\n") else "\n"
    return f"{text}{gap}-{OPTION} {{{body}}}\n"
