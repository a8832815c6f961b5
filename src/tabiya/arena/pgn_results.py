"""The results in PGN files, from their tags alone: no move is read, so millions of games pass quickly.

Files may be plain or .gz, .bz2, .zst. A game without players or with no
result is passed over and counted, the first of them by file and line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tabiya.arena.pgn import number_of
from tabiya.arena.record import Result
from tabiya.arena.tally import PlayedResult
from tabiya.errors import UserError
from tabiya.files import numbered_lines

_TAG = re.compile(rb'\[\s*(\w+)\s+"((?:[^"\\]|\\.)*)"\s*\]\s*$')
_RESULTS: dict[str, Result] = {"1-0": "1-0", "0-1": "0-1", "1/2-1/2": "1/2-1/2"}


@dataclass
class Findings:
    """The results of some files, and what could not be used."""

    games: list[PlayedResult] = field(default_factory=list)
    skipped: int = 0
    first_skipped: str | None = None

    def players(self) -> list[str]:
        return sorted({name for game in self.games for name in (game.white, game.black)})


def read_results(paths: Iterable[str | Path], report: Callable[[int], None] = lambda _: None) -> Findings:
    """The results of all games in these files, in their order."""
    findings = Findings()
    for path in map(Path, paths):
        if path.is_dir():
            raise UserError(f"{path} is a folder, not a PGN file")
        found_any = False
        for line, tags in _games(path, report):
            found_any = True
            result = _RESULTS.get(tags.get("Result", ""))
            white, black = tags.get("White", ""), tags.get("Black", "")
            reason = ""
            if not white or not black:
                reason = "it names no players"
            elif white == black:
                reason = f"{white} plays itself"
            elif result is None:
                reason = "it has no result"
            if reason or result is None:
                findings.skipped += 1
                findings.first_skipped = findings.first_skipped or f"line {line} of {path}: {reason}"
                continue
            findings.games.append(PlayedResult(white, black, result, _pair(path, tags)))
        if not found_any:
            raise UserError(f"there are no games in {path}")
    return findings


def _games(path: Path, report: Callable[[int], None]) -> Iterator[tuple[int, dict[str, str]]]:
    """The line on which each game begins, and its tags."""
    tags: dict[str, str] = {}
    begun, in_moves = 0, False
    for number, line in numbered_lines(path, report=report):
        found = _TAG.match(line) if line.startswith(b"[") else None
        if found is None:
            in_moves = in_moves or bool(tags)
            continue
        if in_moves:
            yield begun, tags
            tags, in_moves = {}, False
        begun = number if not tags else begun
        value = found[2].decode("utf-8", "replace").replace('\\"', '"').replace("\\\\", "\\")
        tags[found[1].decode("ascii", "replace")] = value
    if tags:
        yield begun, tags


def _pair(path: Path, tags: dict[str, str]) -> Hashable:
    """What the two games of a pair have in common.

    The arena's own rounds say it outright (17.1 and 17.2). In the games of
    other programs it is the start position, or where games begin with book
    moves, a round that both games share.
    """
    where = (str(path), tags.get("Event"), tags.get("Site"))
    turn, fen = tags.get("Round", "?"), tags.get("FEN")
    number = number_of(turn)
    if number is not None:
        return (*where, "pair", number // 2, fen)
    if fen is not None:
        return (*where, "fen", fen)
    return None if turn in ("?", "-", "") else (*where, "round", turn)
