"""Test positions that are deep but narrow: mates by checks that leave hardly a reply.

Puzzles do not separate who knows a pattern from who looks ahead: most of them
are short, and their motifs are familiar. In these positions every move of the
solver is a check, every reply is all but forced, and the mate lies several
moves away: whoever follows the line finds it, and there is little else to
find. The rules alone find and prove the lines (`_core.forced_mates`), also
where an engine's search of all moves does not see them; a teacher then looks at
every position of each line, and it is kept only if no other move wins.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tabiya import _core
from tabiya.data.label import LabelJob
from tabiya.data.label_source import Task
from tabiya.data.labels import MoveLabels, load_move_labels
from tabiya.data.shards import ShardFolder, Split
from tabiya.data.teaching import Teaching
from tabiya.files import replacing

_WORTH = {"p": 1, "n": 3, "b": 3, "r": 5, "q": 9}
HEADER = ("PuzzleId", "FEN", "Moves", "Rating", "Themes")


@dataclass(frozen=True)
class Narrowness:
    """What counts as deep but narrow."""

    least: int = 3
    """Moves of the solver, at least and at most."""
    longest: int = 8
    replies: int = 1
    """Legal replies that a check may leave."""
    lead: int = 0
    """Pawns' worth of material by which the solver may be ahead: who is far ahead wins in many ways."""
    others: int = 200
    """Centipawns that any other move may be worth to the solver."""


@dataclass(frozen=True)
class Candidate:
    """A position, the move that led to it, and its line."""

    before: str
    """FEN before the other side's move, as puzzles have it."""
    led: str
    line: tuple[str, ...]
    """Both sides' moves, the solver's first and last."""

    @property
    def moves(self) -> int:
        """Moves of the solver."""
        return (len(self.line) + 1) // 2

    @property
    def lead(self) -> int:
        """Material by which the solver is ahead, in pawns."""
        board, _ = next(self.solver_positions())
        pieces, turn = board.fen().split()[:2]
        worth = sum((1 if each.isupper() else -1) * _WORTH.get(each.lower(), 0) for each in pieces)
        return worth if turn == "w" else -worth

    def solver_positions(self) -> Iterator[tuple[_core.Board, str]]:
        """Each position that the solver faces, and the line's move there."""
        board = _core.Board(self.before)
        board.push(self.led)
        for number, move in enumerate(self.line):
            if number % 2 == 0:
                yield board.copy(), move
            board.push(move)


def candidates(folder: ShardFolder, wanted: Narrowness, threads: int) -> list[Candidate]:
    """Every line in a folder's games, the longest of those that end in the same position."""
    found: dict[int, Candidate] = {}
    splits: tuple[Split, ...] = ("train", "validation")
    for split in splits:
        for _, records in folder.shards(split):
            for candidate in _of_records(records, wanted, threads):
                if candidate.lead > wanted.lead:
                    continue
                *_, (board, last) = candidate.solver_positions()
                board.push(last)
                known = found.get(board.key())
                if known is None or known.moves < candidate.moves:
                    found[board.key()] = candidate
    return sorted(found.values(), key=lambda each: (-each.moves, each.before))


def _of_records(records: NDArray[np.void], wanted: Narrowness, threads: int) -> Iterator[Candidate]:
    follows = (records["game"][1:] == records["game"][:-1]) & (records["ply"][1:] == records["ply"][:-1] + 1)
    rows = np.flatnonzero(follows) + 1
    packed = np.ascontiguousarray(records["packed"][rows])
    offsets, moves = _core.forced_mates(packed, wanted.longest, wanted.replies, threads)
    for number in np.flatnonzero(np.diff(offsets) >= 2 * wanted.least - 1):
        line = moves[offsets[number] : offsets[number + 1]]
        earlier = records[rows[number] - 1]
        (before,) = _core.unpack_fens(np.ascontiguousarray(earlier["packed"]).reshape(1, -1))
        yield Candidate(
            before, _core.code_to_uci(int(earlier["move"])), tuple(_core.code_to_uci(int(m)) for m in line)
        )


def verified(
    found: Sequence[Candidate],
    teaching: Teaching,
    target: Path,
    wanted: Narrowness,
    advance: Callable[[int], None] = lambda _amount: None,
) -> list[Candidate]:
    """Those of which a teacher says that in no position of the line another move wins.

    The teacher's scores of all moves go to `target`, and are not asked for twice.
    """
    positions = [(number, board, move) for number, each in enumerate(found) for board, move in _chosen(each)]
    if not positions:
        return []
    packed = np.stack([np.frombuffer(board.packed(), np.uint8) for _, board, _ in positions])
    LabelJob(Task(target.stem, target, lambda: packed), teaching).run(advance)
    labels = load_move_labels(target)
    right = np.ones(len(found), np.bool_)
    for row, (number, board, move) in enumerate(positions):
        right[number] &= _only_move(labels, row, board.legal_moves().index(move), wanted)
    return [each for each, kept in zip(found, right, strict=True) if kept]


def _chosen(candidate: Candidate) -> list[tuple[_core.Board, str]]:
    """The positions in which there is something to choose wrongly: in the last, any mate is right."""
    return list(candidate.solver_positions())[:-1]


def _only_move(labels: MoveLabels, row: int, move: int, wanted: Narrowness) -> bool:
    _, offsets, scores = labels
    own = scores[offsets[row] : offsets[row + 1]]
    return bool((np.delete(own, move) <= wanted.others).all())


def write_puzzles(path: Path, found: Sequence[Candidate]) -> None:
    """The positions as a puzzle file, the longest lines first; nobody has rated them, so all have 0."""
    with replacing(path) as part, part.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(HEADER)
        for number, each in enumerate(found, 1):
            moves = " ".join((each.led, *each.line))
            rows.writerow((f"F{number:05}", each.before, moves, 0, f"forcing mateIn{each.moves}"))
