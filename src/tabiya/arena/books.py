"""Openings to start games from: a PGN file, a list of FEN or EPD lines, or the built-in set.

A book is read whole but its moves are only replayed for the openings that a
match will use: a book of 240,000 lines is ready in a second, and a bad line is
named by file and number when its turn comes, before the first game. The order
is shuffled by a seed and does not depend on how many openings are asked for.
"""

from __future__ import annotations

import hashlib
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tabiya._core import Board
from tabiya.errors import UserError
from tabiya.files import numbered_lines

BUILT_IN = Path(__file__).with_name("openings.txt")
PLIES = 16
"""Half-moves taken from each game of a PGN book, unless one asks for others."""

_TAG = re.compile(r'\[\s*(\w+)\s+"(.*)"\s*\]\s*$')
_TOKEN = re.compile(r"\{[^}]*\}|;[^\n]*|\(|\)|[^\s(){};]+")
_NUMBER = re.compile(r"\d+\.+")
_RESULTS = frozenset(("1-0", "0-1", "1/2-1/2", "*"))


@dataclass(frozen=True)
class Opening:
    """A start position and the moves from it, in UCI, that are played before the players think."""

    start_fen: str
    moves: tuple[str, ...] = ()
    name: str = ""

    def board(self) -> Board:
        """The position that the players meet, with its history."""
        board = Board(self.start_fen)
        for move in self.moves:
            board.push(move)
        return board


@dataclass(frozen=True)
class _Entry:
    """One opening as it stands in the book, not yet replayed."""

    line: int
    fen: str | None
    moves: str
    name: str = ""


@dataclass(frozen=True)
class Book:
    """The openings of one file."""

    path: Path
    entries: tuple[_Entry, ...]
    plies: int
    sha256: str

    @classmethod
    def built_in(cls) -> Book:
        """Well-known openings of four to twelve half-moves."""
        return cls.read(BUILT_IN)

    @classmethod
    def read(cls, path: str | Path, plies: int = PLIES) -> Book:
        """A book from a file: .pgn, or .epd, .fen, .txt; plain or .gz, .bz2, .zst.

        `plies` is how many half-moves to take from each game of a PGN file.
        """
        if plies < 0:
            raise UserError(f"the half-moves to take from a book must not be negative, got {plies}")
        path = Path(path)
        if path.is_dir():
            raise UserError(f"a book is a file, but {path} is a folder")
        digest = hashlib.sha256()
        lines = ((n, raw.decode("utf-8-sig", "replace")) for n, raw in numbered_lines(path, digest))
        if path == BUILT_IN:
            entries = tuple(_named_lines(lines))
        elif _is_pgn(path):
            entries = tuple(_pgn_games(lines))
        else:
            entries = tuple(
                _Entry(number, line.strip(), "")
                for number, line in lines
                if not line.lstrip().startswith("#")
            )
        if not entries:
            raise UserError(f"there are no openings in {path}")
        return cls(path, entries, plies, digest.hexdigest())

    def __len__(self) -> int:
        return len(self.entries)

    def openings(self, count: int, seed: int) -> list[Opening]:
        """`count` openings, shuffled; beyond its end the book begins anew in the same order."""
        order = list(range(len(self.entries)))
        random.Random(seed).shuffle(order)
        first = [self.replay(self.entries[i]) for i in order[:count]]
        return [first[i % len(first)] for i in range(count)]

    def replay(self, entry: _Entry) -> Opening:
        """Check one entry by playing it out."""
        where = f"line {entry.line} of {self.path}"
        try:
            board = Board(None if entry.fen is None else _fen_of_epd(entry.fen))
        except ValueError as error:
            raise UserError(f"{where} is no position: {error}") from None
        start = board.fen()
        moves: list[str] = []
        for word in _moves(entry.moves):
            if len(moves) == self.plies and self.path != BUILT_IN:
                break
            try:
                move = board.parse(word)
                board.push(move)
            except ValueError as error:
                raise UserError(f"the game at {where} breaks off at {word!r}: {error}") from None
            moves.append(move)
        if board.outcome(claim=False) is not None:
            raise UserError(f"the opening at {where} ends the game before it begins: {board.fen()}")
        return Opening(start, tuple(moves), entry.name)


def _is_pgn(path: Path) -> bool:
    name = path.name.lower()
    for ending in (".gz", ".bz2", ".zst"):
        name = name.removesuffix(ending)
    if name.endswith((".epd", ".fen", ".txt")):
        return False
    if name.endswith(".pgn"):
        return True
    raise UserError(f"cannot tell what kind of book {path} is: its name should end in .pgn, .epd or .fen")


def _fen_of_epd(line: str) -> str:
    """The FEN in an EPD line, with its counters where they are given and 0 1 where not."""
    fields = line.split()
    if len(fields) >= 6 and fields[4].isdigit() and fields[5].isdigit():
        return " ".join(fields[:6])
    return " ".join(fields[:4]) + " 0 1"


def _named_lines(lines: Iterator[tuple[int, str]]) -> Iterator[_Entry]:
    for number, line in lines:
        if not line.startswith("#"):
            name, _, moves = line.partition(":")
            yield _Entry(number, None, moves, name.strip())


def _pgn_games(lines: Iterator[tuple[int, str]]) -> Iterator[_Entry]:
    """The games of a PGN file, cut apart: a game ends at its result or where the next one's tags begin."""
    begun, commented = 0, False
    tags: dict[str, str] = {}
    text: list[str] = []
    for number, line in lines:
        tag = None if commented else _TAG.match(line)
        if tag and text:
            yield _entry(begun, tags, text)
            begun, tags, text = 0, {}, []
        begun = begun or number
        if tag:
            tags[tag[1]] = tag[2]
            continue
        text.append(line)
        last_open, last_close = line.rfind("{"), line.rfind("}")
        commented = last_open > last_close if last_open != last_close else commented
        if not commented and line.split()[-1] in _RESULTS:
            yield _entry(begun, tags, text)
            begun, tags, text = 0, {}, []
    if text or tags:
        yield _entry(begun, tags, text)


def _entry(line: int, tags: dict[str, str], text: list[str]) -> _Entry:
    return _Entry(line, tags.get("FEN"), "\n".join(text), tags.get("Opening", tags.get("ECO", "")))


def _moves(text: str) -> Iterator[str]:
    """The moves of the main line, as written."""
    depth = 0
    for token in _TOKEN.findall(text):
        if token == "(":
            depth += 1
        elif token == ")":
            depth -= 1
        elif depth <= 0 and token[0] not in "{;$" and token not in _RESULTS:
            move = _NUMBER.sub("", token, count=1).rstrip("!?")
            if move:
                yield move
