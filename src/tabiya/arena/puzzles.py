"""Tactical puzzles in Lichess's columns: read, put to a player, counted.

A puzzle's FEN is the position before the first of its Moves, which the
opponent plays; the solver answers with the second, the fourth and so on. Each
solver position of the solution is asked on its own, as if everything before it
had been played right. An answer is right if it is the solution's move or gives
mate. A puzzle is solved if every answer is right up to the end of the solution
or up to the first answer that gives mate.
"""

from __future__ import annotations

import csv
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tabiya._core import Board
from tabiya.arena.evaluation import (
    NAMED,
    Advance,
    Examiner,
    Skipped,
    in_batches,
    read_lines,
    sample,
    share,
    wilson,
)
from tabiya.errors import UserError

COLUMNS = ("PuzzleId", "FEN", "Moves", "Rating", "Themes")
BAND = 200
"""Width of a rating band."""

_MOVE = re.compile(r"[a-h][1-8][a-h][1-8][nbrq]?")


@dataclass(frozen=True)
class Puzzle:
    """One row of a puzzle file."""

    name: str
    fen: str
    """The position before the opponent's first move."""
    moves: tuple[str, ...]
    """Opponent's and solver's moves in turn, UCI; the solver has the last."""
    rating: int
    themes: tuple[str, ...]
    line: int

    def solver_positions(self) -> list[tuple[Board, str]]:
        """Each position the solver faces with the move it should find; ValueError if a move is illegal."""
        board = Board(self.fen)
        positions = []
        for number, move in enumerate(self.moves):
            if number % 2:
                positions.append((board.copy(), move))
            board.push(move)
        return positions


@dataclass(frozen=True)
class PuzzleSet:
    """Puzzles ready to be put to players."""

    puzzles: list[Puzzle]
    skipped: list[Skipped]
    """Puzzles whose position or moves break the rules of chess."""

    @property
    def positions(self) -> int:
        """Solver positions in all puzzles."""
        return sum(len(puzzle.moves) // 2 for puzzle in self.puzzles)


def read_puzzles(path: Path) -> Iterator[Puzzle]:
    """Every row of a puzzle file; a UserError with file and line for one that is no puzzle."""
    line = 1

    def lines() -> Iterator[str]:
        nonlocal line
        for line, text in read_lines(path):  # noqa: B007 - the number serves the messages below
            yield text + "\n"

    rows = csv.reader(lines())
    try:
        places = _places(path, next(rows, []))
        for row in rows:
            yield _puzzle(path, line, row, places)
    except csv.Error as error:
        raise UserError(f"{path}:{line} is no CSV row: {error}") from error


def _places(path: Path, header: list[str]) -> list[int]:
    """Where in a row the columns stand that a puzzle needs."""
    missing = [column for column in COLUMNS if column not in header]
    if missing:
        raise UserError(
            f"{path}:1 has no column {missing[0]!r}: a puzzle file starts with Lichess's header "
            f"PuzzleId,FEN,Moves,Rating,…,Themes,…"
        )
    return [header.index(column) for column in COLUMNS]


def _puzzle(path: Path, line: int, row: list[str], places: list[int]) -> Puzzle:
    if len(row) <= max(places):
        raise UserError(f"{path}:{line} has {len(row)} columns, a puzzle needs {max(places) + 1}")
    name, fen, written, rating, themes = (row[place].strip() for place in places)
    moves = tuple(written.split())
    wrong = next((move for move in moves if not _MOVE.fullmatch(move)), None)
    if wrong is not None:
        raise UserError(
            f"{path}:{line} has {wrong!r} among the Moves of puzzle {name}, expected one like e2e4"
        )
    if len(moves) < 2 or len(moves) % 2:
        raise UserError(
            f"{path}:{line} gives puzzle {name} {len(moves)} Moves, expected an even number: "
            f"the opponent's, then the solver's, and so on"
        )
    try:
        stars = int(rating)
    except ValueError:
        raise UserError(
            f"{path}:{line} has the Rating {rating!r} for puzzle {name}, expected a number"
        ) from None
    return Puzzle(name, fen, moves, stars, tuple(themes.split()), line)


def load_puzzles(path: Path, count: int | None = None, seed: int = 0) -> PuzzleSet:
    """A seeded sample of `count` puzzles of a file (all for None), the illegal ones among them set aside."""
    legal, skipped = [], []
    for puzzle in sample(read_puzzles(path), count, seed):
        try:
            puzzle.solver_positions()
        except ValueError as error:
            skipped.append(Skipped(f"{path}:{puzzle.line}", f"puzzle {puzzle.name}: {error}"))
        else:
            legal.append(puzzle)
    if not legal:
        why = f": {skipped[0].why} ({skipped[0].where})" if skipped else ""
        raise UserError(f"no legal puzzle in {path}{why}")
    return PuzzleSet(legal, skipped)


def measure_puzzles(
    puzzles: PuzzleSet, examiner: Examiner, advance: Advance = lambda: None
) -> dict[str, Any]:
    """Solved share and share of right moves, whole and by rating, length and theme."""
    tries = [one for batch in in_batches(puzzles.puzzles) for one in attempt(batch, examiner, advance)]
    return {**puzzle_figures(puzzles, tries), **examiner.figures()}


@dataclass(frozen=True)
class Attempt:
    """What became of one puzzle."""

    solved: bool
    right: int
    """Right answers among its solver positions, those after a wrong one included."""


def attempt(puzzles: Sequence[Puzzle], examiner: Examiner, advance: Advance = lambda: None) -> list[Attempt]:
    """Put every solver position of some puzzles to a player, all of them together."""
    lines = [puzzle.solver_positions() for puzzle in puzzles]
    answers = examiner.answers((board for line in lines for board, _ in line), advance)
    tries = []
    for line in lines:
        done, fine, count = False, True, 0
        for board, expected in line:
            decision = next(answers)
            mates = decision is not None and gives_mate(board, decision.move)
            right = mates or (decision is not None and decision.move == expected)
            count += right
            fine = done or (fine and right)
            done = done or (fine and mates)
        tries.append(Attempt(fine, count))
    return tries


def puzzle_figures(puzzles: PuzzleSet, tries: Sequence[Attempt]) -> dict[str, Any]:
    """The figures of what became of each puzzle, in their order."""
    solved = [one.solved for one in tries]
    moves_right = sum(one.right for one in tries)
    groups: dict[str, dict[Any, list[bool]]] = {
        key: defaultdict(list) for key in ("rating", "length", "theme")
    }
    for puzzle, ok in zip(puzzles.puzzles, solved, strict=True):
        groups["rating"][puzzle.rating // BAND * BAND].append(ok)
        groups["length"][len(puzzle.moves) // 2].append(ok)
        for theme in dict.fromkeys(puzzle.themes):
            groups["theme"][theme].append(ok)
    themes = sorted(groups["theme"], key=lambda theme: (-len(groups["theme"][theme]), theme))
    return {
        **_counted(solved),
        "solved": sum(solved),
        "moves": puzzles.positions,
        "moves_right": moves_right,
        "moves_right_share": share(moves_right, puzzles.positions),
        "moves_right_95": wilson(moves_right, puzzles.positions),
        "by_rating": [
            {"from": band, "to": band + BAND, **_counted(groups["rating"][band])}
            for band in sorted(groups["rating"])
        ],
        "by_length": [{"moves": n, **_counted(groups["length"][n])} for n in sorted(groups["length"])],
        "by_theme": [{"theme": theme, **_counted(groups["theme"][theme])} for theme in themes],
        "skipped": len(puzzles.skipped),
        "skipped_puzzles": [asdict(one) for one in puzzles.skipped[:NAMED]],
    }


def gives_mate(board: Board, move: str) -> bool:
    """Whether a legal move ends the game by mate."""
    after = board.copy()
    after.push(move)
    return after.is_check and not after.legal_moves()


def _counted(solved: Sequence[bool]) -> dict[str, Any]:
    right, asked = sum(solved), len(solved)
    return {"puzzles": asked, "solved_share": share(right, asked), "solved_95": wilson(right, asked)}
