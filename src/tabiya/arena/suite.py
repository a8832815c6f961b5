"""Test positions in EPD: find the best move (bm), or avoid the bad one (am).

Suites in the wild bend the format: move counters after the fourth field, a
semicolon before the first operation or none after the last, `Qd1 +`. This
reader takes them as they come.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tabiya._core import Board
from tabiya.arena.evaluation import NAMED, Advance, Examiner, Skipped, read_lines, sample, share, wilson
from tabiya.errors import UserError

_POSITION = re.compile(r"\s*([^\s;]+)\s+([^\s;]+)\s+([^\s;]+)\s+([^\s;]+)\s*")
_COUNTERS = re.compile(r"(\d+)\s+(\d+)(?=\s|;|$)")
_OPERATION = re.compile(r'(?:"[^"]*"|[^;"])+')
_POINTS = re.compile(r"\s*[^\s,=]+(?:=[NBRQ][+#]?)?\s*=\s*\d+\s*")


@dataclass(frozen=True)
class TestPosition:
    """One line of a suite."""

    __test__ = False  # pytest, this is no test

    name: str
    fen: str
    best: frozenset[str] = frozenset()
    avoid: frozenset[str] = frozenset()
    points: dict[str, int] = field(default_factory=dict)
    """Points by move where the line scores several, as in c0 "f5=100, Bf2=46"."""

    def is_right(self, move: str) -> bool:
        """One of the best moves, where any are named, and none of those to avoid."""
        return (not self.best or move in self.best) and move not in self.avoid

    @property
    def group(self) -> str:
        """The id without its number: `STS(v1.0) Undermine.001` belongs to `STS(v1.0) Undermine`."""
        return re.sub(r"[\s.\-_#]*\d+$", "", self.name)


@dataclass(frozen=True)
class Suite:
    """Test positions ready to be put to players."""

    positions: list[TestPosition]
    skipped: list[Skipped]


def split_epd(line: str) -> tuple[str, dict[str, str]]:
    """The FEN and the operations of a line; a ValueError's sentence says what is missing.

    >>> split_epd('8/8/8/8/8/5k2/6q1/7K w - - 0 1 ; bm Kxg2 ; id "x;y"')
    ('8/8/8/8/8/5k2/6q1/7K w - - 0 1', {'bm': 'Kxg2', 'id': '"x;y"'})
    """
    fields = _POSITION.match(line)
    if fields is None:
        raise ValueError(f"expected a position of four fields, got {line.strip()!r}")
    rest = line[fields.end() :]
    counters = _COUNTERS.match(rest)
    clocks = f"{counters[1]} {max(1, int(counters[2]))}" if counters else "0 1"
    operations: dict[str, str] = {}
    for operation in _OPERATION.findall(rest[counters.end() :] if counters else rest):
        opcode, _, operand = operation.strip().partition(" ")
        if opcode:
            operations.setdefault(opcode, operand.strip())
    return f"{' '.join(fields.groups())} {clocks}", operations


def read_suite(path: Path) -> Iterator[TestPosition | Skipped]:
    """Each line of an EPD file as a test position, or why it is none."""
    for number, line in read_lines(path):
        if line.startswith("#"):
            continue
        try:
            yield _position(line, f"line {number}")
        except ValueError as error:
            yield Skipped(f"{path}:{number}", str(error))


def _position(line: str, place: str) -> TestPosition:
    fen, operations = split_epd(line)
    board = Board(fen)
    best, avoid = (_moves(board, operations.get(opcode, "")) for opcode in ("bm", "am"))
    if not best and not avoid:
        raise ValueError("the line names neither bm nor am")
    name = operations.get("id", "").strip('"') or place
    return TestPosition(name, fen, best, avoid, _points(board, operations.get("c0", "")))


def _moves(board: Board, text: str) -> frozenset[str]:
    return frozenset(_move(board, word) for word in re.split(r"[\s,]+", text) if word.strip("+#!?"))


def _move(board: Board, word: str) -> str:
    word = word.strip('"').rstrip("+#!?")
    return board.parse(word.replace("0", "O") if word.startswith("0-0") else word)


def _points(board: Board, comment: str) -> dict[str, int]:
    """The points of a comment that is nothing but `move=points, …`; any other comment has none."""
    entries = comment.strip('"').split(",")
    if not all(_POINTS.fullmatch(entry) for entry in entries):
        return {}
    points = {}
    for entry in entries:
        move, _, worth = entry.rpartition("=")
        points[_move(board, move.strip())] = int(worth)
    return points


def load_suite(path: Path, count: int | None = None, seed: int = 0) -> Suite:
    """A seeded sample of `count` positions of a suite (all for None) and the lines that are none."""
    skipped: list[Skipped] = []

    def usable() -> Iterator[TestPosition]:
        for entry in read_suite(path):
            if isinstance(entry, Skipped):
                skipped.append(entry)
            else:
                yield entry

    positions = sample(usable(), count, seed)
    if not positions:
        why = f"; the first line says: {skipped[0].why} ({skipped[0].where})" if skipped else ""
        raise UserError(f"no position with bm or am in {path}{why}")
    return Suite(positions, skipped)


def measure_suite(suite: Suite, examiner: Examiner, advance: Advance = lambda: None) -> dict[str, Any]:
    """The share of right answers, the points where the suite gives them, and what went wrong."""
    right: list[bool] = []
    wrong: list[dict[str, Any]] = []
    points = possible = scored = 0
    boards = (Board(position.fen) for position in suite.positions)
    for position, decision in zip(suite.positions, examiner.answers(boards, advance), strict=True):
        right.append(decision is not None and position.is_right(decision.move))
        if not right[-1]:
            wrong.append(
                {"id": position.name, "fen": position.fen, "move": decision.move if decision else None}
            )
        if position.points:
            scored += 1
            points += position.points.get(decision.move, 0) if decision else 0
            possible += max(position.points.values())
    groups: dict[str, list[bool]] = defaultdict(list)
    for position, ok in zip(suite.positions, right, strict=True):
        groups[position.group].append(ok)
    # Ids that are all different names, or one running number, make no groups worth a table.
    by_group = len(groups) > 1 and len(groups) * 2 <= len(right)
    return {
        **_counted(right),
        "points": points if scored else None,
        "points_possible": possible if scored else None,
        "points_share": share(points, possible),
        "by_group": [{"group": name, **_counted(groups[name])} for name in groups] if by_group else [],
        "wrong": wrong,
        "skipped": len(suite.skipped),
        "skipped_lines": [asdict(one) for one in suite.skipped[:NAMED]],
        **examiner.figures(),
    }


def _counted(right: Sequence[bool]) -> dict[str, Any]:
    return {
        "positions": len(right),
        "right": sum(right),
        "share": share(sum(right), len(right)),
        "share_95": wilson(sum(right), len(right)),
    }
