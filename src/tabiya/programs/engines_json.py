"""Lists of engines kept as a JSON array: PyChess's and Cute Chess's engines.json.

An entry starts the mind's own file: Cute Chess takes the whole command for a
file, and PyChess tells engines apart by the checksum of theirs.

The array is edited as text: an entry that is not ours keeps its every byte. Of
an entry that is ours only the keys that start it are set; what the program or
the user wrote beside them (options, level, checksum) stays.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from tabiya.errors import UserError
from tabiya.programs import starter
from tabiya.programs.engine import PREFIX, Edit, Engine

_DECODER = json.JSONDecoder()


@dataclass(frozen=True)
class Shape:
    """How one program writes an engine."""

    indent: int
    """Of an object's keys, as the program itself would write them."""
    at_first: dict[str, Any]
    """Keys of a new entry that are the program's and the user's afterwards."""
    at_change: dict[str, Any]
    """Keys to set whenever a command has changed."""


# PyChess asks an engine for its options when `recheck` is set, and fills in its checksum itself.
PYCHESS = Shape(
    indent=1,
    at_first={"country": "unknown", "comment": "", "level": 20},
    at_change={"recheck": True},
)
CUTECHESS = Shape(indent=4, at_first={"workingDirectory": "", "stderrFile": ""}, at_change={})


def start_keys(engine: Engine) -> dict[str, Any]:
    """The keys by which a program starts the engine."""
    return {"name": engine.name, "protocol": engine.protocol, "command": engine.starter}


def is_ours(entry: dict[str, Any]) -> bool:
    """Whether an entry has a name and a starter such as ours."""
    file = PurePath(str(entry.get("command"))).name
    return str(entry.get("name")).startswith(PREFIX) and file.startswith(starter.PREFIX)


def install(text: str, engines: Sequence[Engine], shape: Shape) -> Edit:
    """The list with our engines in it; an empty text is an empty list."""
    entries = _entries(text)
    edit = Edit(text)
    replaced: dict[tuple[int, int], str] = {}
    wanted = {engine.name: engine for engine in engines}
    for span, entry in entries:
        engine = wanted.get(str(entry.get("name")))
        if engine is None:
            continue
        if not is_ours(entry):
            raise UserError(f"has an engine {engine.name!r} that is not ours: rename it first")
        del wanted[engine.name]
        start = start_keys(engine)
        if all(entry.get(key) == value for key, value in start.items()):
            edit.unchanged.append(engine.name)
        else:
            edit.updated.append(engine.name)
            replaced[span] = _written(entry | start | shape.at_change, shape.indent)
    for (start_at, end), new in sorted(replaced.items(), reverse=True):
        edit.text = edit.text[:start_at] + new + edit.text[end:]
    for engine in wanted.values():
        edit.text = _appended(edit.text, start_keys(engine) | shape.at_first | shape.at_change, shape.indent)
        edit.added.append(engine.name)
    return edit


def remove(text: str, names: Sequence[str]) -> Edit:
    """The list without our engines of these names; without any of ours if no name is given."""
    edit = Edit(text)
    while True:
        # Each removal moves what stands behind it, so the list is read anew.
        entries = _entries(edit.text)
        found = [
            index
            for index, (_span, entry) in enumerate(entries)
            if is_ours(entry) and (not names or entry["name"] in names)
        ]
        if not found:
            return edit
        index = found[0]
        (start, end), entry = entries[index]
        # The comma goes too: the one before, or, of the first entry, the one behind.
        if index > 0:
            start = entries[index - 1][0][1]
        elif len(entries) > 1:
            end = entries[1][0][0]
        edit.text = edit.text[:start] + edit.text[end:]
        edit.removed.append(entry["name"])


def installed(text: str) -> list[str]:
    """The names of our engines in the list."""
    return [entry["name"] for _span, entry in _entries(text) if is_ours(entry)]


def _written(entry: dict[str, Any], indent: int) -> str:
    return _nested(json.dumps(entry, ensure_ascii=False, indent=indent, sort_keys=True), indent)


def _nested(lines: str, indent: int) -> str:
    return lines.replace("\n", "\n" + " " * indent)


def _appended(text: str, entry: dict[str, Any], indent: int) -> str:
    new = _written(entry, indent)
    entries = _entries(text)
    if entries:
        end = entries[-1][0][1]
        return f"{text[:end]},\n{' ' * indent}{new}{text[end:]}"
    return f"[\n{' ' * indent}{new}\n]\n"


def _entries(text: str) -> list[tuple[tuple[int, int], dict[str, Any]]]:
    """Every engine of the list with the place where it stands in the text."""
    if not text.strip():
        return []
    try:
        whole = json.loads(text)
    except ValueError as error:
        raise UserError(f"is no JSON ({error})") from None
    if not isinstance(whole, list) or not all(isinstance(entry, dict) for entry in whole):
        raise UserError("is not a list of engines")
    found = []
    at = text.index("[") + 1
    for _entry in whole:
        at = text.index("{", at)  # between entries stand only spaces and one comma
        entry, end = _DECODER.raw_decode(text, at)
        found.append(((at, end), entry))
        at = end
    return found
