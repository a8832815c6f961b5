"""The files of a gene pool, read: which bytes count, where a genome stands, who is alive.

Beside the pool file `pool.txt` lie `pool.txt_games.txt` (the games, as PGN),
`pool.txt_state.json` (what a run needs to go on) and, during a turn,
`pool.txt_turn.jsonl` (the turn's games so far). The state is written last and
says how much of the others counts, so whatever a killed run left behind it is
not read. A pool file may be large: it is mapped, not loaded.
"""

from __future__ import annotations

import json
import mmap
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

from tabiya._core import Genome
from tabiya.errors import UserError

FORMAT = 1
WINS_TO_BE_TRUSTED = 3
"""Of a file that names no living, the last genome with so many wins is meant."""

Content: TypeAlias = mmap.mmap | bytes

_ID = re.compile(rb"^ID: *(\d+) *\r?$", re.MULTILINE)
_ALIVE = re.compile(rb"^Still alive in pool (\d+): ([\d ]*)$", re.MULTILINE)


def games_file(pool: Path) -> Path:
    return pool.with_name(f"{pool.name}_games.txt")


def state_file(pool: Path) -> Path:
    return pool.with_name(f"{pool.name}_state.json")


def turn_file(pool: Path) -> Path:
    return pool.with_name(f"{pool.name}_turn.jsonl")


def read_state(pool: Path) -> dict[str, Any] | None:
    """What the last turn left; None where no run has been."""
    path = state_file(pool)
    try:
        state = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (ValueError, UnicodeDecodeError) as error:
        raise UserError(f"{path} is damaged: {error}") from None
    if not isinstance(state, dict) or state.get("format") != FORMAT:
        raise UserError(f"{path} is not the state of a gene pool in format {FORMAT}")
    return state


def counted_bytes(pool: Path, state: dict[str, Any] | None, path: Path) -> int:
    """How much of `path`, the pool file or its games, belongs to finished turns."""
    try:
        size = path.stat().st_size
    except FileNotFoundError:
        size = 0
        if state is None:
            raise UserError(f"no file {path}") from None
    if state is None:
        return size
    counted = int(state["bytes"]["genomes" if path == pool else "games"])
    if size < counted:
        raise UserError(
            f"{path} is cut short: {size:,} bytes where its run had written {counted:,}; "
            "restore it, or begin a new pool file"
        )
    return counted


@contextmanager
def opened(pool: Path, path: Path) -> Iterator[Content]:
    """The bytes of the pool file or of its games that count."""
    if path.is_dir():
        raise UserError(f"{path} is a folder, a file of genomes is needed")
    size = counted_bytes(pool, read_state(pool), path)
    if not size:
        yield b""
        return
    with path.open("rb") as file, mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ) as content:
        yield content


def positions(content: Content) -> dict[int, int]:
    """Where each genome begins, by its number, in the order of the file; the last of a number counts."""
    return {int(found[1]): found.start() for found in _ID.finditer(content)}


def start_of(content: Content, id: int) -> int | None:
    """Where the last genome of this number begins, found from the end and without reading the others."""
    at = content.rfind(b"\nID: %d\n" % id)
    if at >= 0:
        return at + 1
    return positions(content).get(id)


def genome_at(content: Content, start: int, path: Path) -> Genome:
    """The genome that begins at `start`; a UserError says what is wrong with it."""
    end = content.find(b"\nEND", start)
    following = content.find(b"\nID:", start)
    if end < 0 or 0 <= following < end:
        cut = content[start : start + 40].decode("utf-8", "replace").partition("\n")[0]
        raise UserError(f"{path} is cut off: the genome with {cut} has no END")
    text = content[start : end + 5].decode("utf-8", "replace")
    try:
        return Genome(text)
    except ValueError as error:
        line = content[:start].count(b"\n")
        raise UserError(f"{path}, genome from line {line + 1} on: {error}") from None


def living_genome(content: Content, id: int, path: Path) -> Genome:
    """A genome that must be there, since it is alive."""
    start = start_of(content, id)
    if start is None:
        raise UserError(f"{path} has lost the genome {id}, which is alive: restore the file")
    return genome_at(content, start, path)


def living(content: Content) -> dict[int, list[int]]:
    """The living by pool, as the last turn left them; empty where none are named."""
    found: dict[int, list[int]] = {}
    end = len(content)
    while (start := content.rfind(b"Still alive in pool ", 0, end)) >= 0:
        line = _ALIVE.match(content, start)
        end = start
        if line is None:
            continue
        if int(line[1]) in found:
            break
        found[int(line[1])] = [int(number) for number in line[2].split()]
    return dict(sorted(found.items()))


def living_lines(members: dict[int, list[int]]) -> str:
    """The living by pool, as `living` reads them back."""
    lines = [f"Still alive in pool {number}: {' '.join(map(str, ids))}\n" for number, ids in members.items()]
    return "".join(lines) + "\n"


def wins(games: Path) -> Counter[int]:
    """Games won, by the number of the genome."""
    found: Counter[int] = Counter()
    seats: dict[str, str] = {}
    tag = re.compile(r'\[(White|Black|Result) "([^"]*)"\]')
    with games.open(encoding="utf-8", errors="replace") as lines:
        for line in lines:
            if match := tag.match(line):
                seats[match[1]] = match[2]
                if match[1] == "Result":
                    winner = {"1-0": "White", "0-1": "Black"}.get(match[2], "")
                    if seats.get(winner, "").isdecimal():
                        found[int(seats[winner])] += 1
    return found


def wins_in(pool: Path) -> Counter[int]:
    """Games won in a run, by the number of the genome; of an excerpt, as its state remembers them."""
    games = games_file(pool)
    if games.exists():
        return wins(games)
    return Counter({int(id): count for id, count in _excerpt_of(pool).get("wins", {}).items()})


def births(pool: Path, genomes: int) -> int:
    """How many were born in a run: the genomes in its file, but more where that is an excerpt."""
    return int(_excerpt_of(pool).get("births", genomes))


def _excerpt_of(pool: Path) -> dict[str, Any]:
    """What the state of an excerpt remembers of the run; nothing where the pool is no excerpt."""
    return (read_state(pool) or {}).get("excerpt") or {}


def chosen_genome(path: Path, part: str = "") -> Genome:
    """The genome that `path` means: number `part`, else the oldest living, else the last proved one."""
    with opened(path, path) as content:
        if part:
            if not part.isdecimal():
                raise UserError(f"a genome's number is a whole number, got #{part}")
            start = start_of(content, int(part))
            if start is None:
                raise UserError(f"there is no genome {part} in {path}: {_range(positions(content))}")
            return genome_at(content, start, path)
        alive = [number for pool in living(content).values() for number in pool]
        if alive:
            return living_genome(content, min(alive), path)
        starts = positions(content)
        if not starts:
            raise UserError(f"there is no genome in {path}: each begins with `ID: number`")
        number = max(starts, key=starts.__getitem__)
        if games_file(path).exists():
            proved = wins(games_file(path))
            trusted = [each for each in starts if proved[each] >= WINS_TO_BE_TRUSTED]
            number = max(trusted, key=starts.__getitem__, default=number)
        return genome_at(content, starts[number], path)


def _range(starts: dict[int, int]) -> str:
    return f"it has {len(starts):,}, from {min(starts)} to {max(starts)}" if starts else "it has none"
