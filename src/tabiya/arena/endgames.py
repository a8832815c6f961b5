"""Endgames against perfect knowledge: does a move keep what the tables say the position is worth?

Up to as many men as there are Syzygy tables for, the tables judge. Beyond
them a teacher does, an engine with a stated limit, and the figures are marked
as a teacher's: they are opinions, not facts.
"""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import chess
import chess.syzygy

from tabiya._core import Board
from tabiya.arena.evaluation import (
    NAMED,
    Advance,
    Examiner,
    Skipped,
    limit_figures,
    mean,
    read_lines,
    sample,
    share,
    wilson,
)
from tabiya.data.fens import fen_of
from tabiya.data.scale import MOVE_MATE, mate_in, mate_probability, win_probability
from tabiya.errors import UserError
from tabiya.player import Decision

TOLERANCE = 0.05
"""Expected score, in the teacher's eyes, that a move may lose and still count as optimal."""

MOST_RANDOM_MEN = 10
"""Beyond this, set-ups at random no longer look like anything from a game."""

TRIES = 2000
"""Random set-ups in a row that may fail before the tables are held to be too few."""


@dataclass(frozen=True)
class Judged:
    """A position with its worth, and the moves that keep it."""

    fen: str
    men: int
    value: float
    """Expected score of the side to move: 1, ½ or 0 from tables, anything between from a teacher."""
    keeping: frozenset[str] | None = None
    """The moves that keep the tables' value; None where a teacher judges."""
    fastest: frozenset[str] | None = None
    """Of these, the moves that are best by distance to zeroing; None without DTZ tables."""


@dataclass(frozen=True)
class EndgameSet:
    """Judged positions ready to be put to players."""

    positions: list[Judged]
    skipped: list[Skipped]


class Tables:
    """A folder of Syzygy tables."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.materials: dict[int, list[str]] = defaultdict(list)
        for file in sorted(folder.glob("*.rtbw")):
            self.materials[len(file.stem) - 1].append(file.stem)
        if not self.materials:
            raise UserError(f"no Syzygy tables (.rtbw) in {folder}")
        self._tables = chess.syzygy.open_tablebase(str(folder))

    def close(self) -> None:
        self._tables.close()

    def judge(self, fen: str) -> Judged | None:
        """The tables' verdict; None if a table that it takes is not there or castling is still allowed."""
        board = chess.Board(fen)
        if board.castling_rights:
            return None
        try:
            value = _worth(self._tables.probe_wdl(board))
            worth = {move: 1 - self._value_after(board, move) for move in board.legal_moves}
        except KeyError:  # chess.syzygy.MissingTableError is one
            return None
        except (OSError, ValueError, IndexError, AssertionError) as error:
            raise UserError(f"a Syzygy table in {self.folder} is damaged, met at {fen}: {error}") from error
        keeping = [move for move, after in worth.items() if after == value]
        return Judged(
            board.fen(),
            chess.popcount(board.occupied),
            value,
            frozenset(move.uci() for move in keeping),
            self._fastest(board, value, keeping),
        )

    def _value_after(self, board: chess.Board, move: chess.Move) -> float:
        """What the position after a move is worth to the opponent."""
        board.push(move)
        try:
            return 0.0 if board.is_checkmate() else _worth(self._tables.probe_wdl(board))
        finally:
            board.pop()

    def _fastest(self, board: chess.Board, value: float, keeping: list[chess.Move]) -> frozenset[str] | None:
        if value == 0.5:
            return frozenset(move.uci() for move in keeping)
        try:
            distance = {move: self._distance(board, move) for move in keeping}
        except KeyError:
            return None
        best = (min if value == 1 else max)(distance.values(), default=0)
        return frozenset(move.uci() for move in keeping if distance[move] == best)

    def _distance(self, board: chess.Board, move: chess.Move) -> int:
        """Half-moves from here, by way of a move, to the next capture, pawn move or mate."""
        zeroing = board.is_zeroing(move)
        board.push(move)
        try:
            return 1 if zeroing or board.is_checkmate() else 1 + abs(self._tables.probe_dtz(board))
        finally:
            board.pop()


def _worth(wdl: int) -> float:
    """Expected score of a table value; wins and losses that the 50-move rule undoes are draws."""
    return {2: 1.0, -2: 0.0}.get(wdl, 0.5)


def random_position(material: str, chance: random.Random) -> str | None:
    """The FEN of a random set-up of, say, KQvKR with either colour and either to move.

    None if this one is illegal or over: the caller tries again.
    """
    first, _, second = material.partition("v")
    colours = [str.upper, str.lower]
    chance.shuffle(colours)
    men = [colours[0](man) for man in first] + [colours[1](man) for man in second]
    squares = chance.sample(range(64), len(men))
    placed = dict(zip(squares, men, strict=True))
    if any(man in "Pp" and not 8 <= square < 56 for square, man in placed.items()):
        return None
    rows = ["".join(placed.get(8 * row + file, " ") for file in range(8)) for row in range(8)]
    rows = [re.sub(" +", lambda gap: str(len(gap[0])), row) for row in rows]
    fen = f"{'/'.join(rows)} {chance.choice('wb')} - - 0 1"
    try:
        board = Board(fen)
    except ValueError:
        return None
    return board.fen() if board.outcome() is None else None


def random_material(men: int, chance: random.Random) -> str:
    """Two kings and men − 2 others, each kind as likely, shared out at random."""
    others = [chance.choice("QRBNP") for _ in range(men - 2)]
    strong = chance.randint((men - 1) // 2, men - 2)
    return f"K{''.join(others[:strong])}vK{''.join(others[strong:])}"


def random_judged(tables: Tables, men: int, count: int, seed: int) -> list[Judged]:
    """`count` positions of so many men, every table as likely, judged by the tables."""
    chance = random.Random(f"{seed}-{men}")
    found: list[Judged] = []
    failed = 0
    while len(found) < count:
        fen = random_position(chance.choice(tables.materials[men]), chance)
        judged = tables.judge(fen) if fen else None
        if judged:
            found.append(judged)
        failed = 0 if judged else failed + 1
        if failed > TRIES:
            raise UserError(
                f"the tables of {men} men in {tables.folder} need tables of fewer men that are not there"
            )
    return found


def random_fens(men: int, count: int, seed: int) -> list[str]:
    """`count` random positions of so many men, for a teacher to judge."""
    chance = random.Random(f"{seed}-{men}")
    found: list[str] = []
    while len(found) < count:
        fen = random_position(random_material(men, chance), chance)
        found += [fen] if fen else []
    return found


def read_endgames(path: Path) -> Iterator[tuple[str, str] | Skipped]:
    """The FEN and the place of each position of a FEN or EPD file, or why there is none."""
    for number, line in read_lines(path):
        if line.startswith("#"):
            continue
        try:
            board = Board(fen_of(line))
        except ValueError as error:
            yield Skipped(f"{path}:{number}", str(error))
            continue
        if board.outcome() is None:
            yield board.fen(), f"{path}:{number}"
        else:
            yield Skipped(f"{path}:{number}", "the game is over in this position")


def count_men(fen: str) -> int:
    """Pieces and pawns on the board, kings included."""
    return sum(letter.isalpha() for letter in fen.split()[0])


def load_endgames(
    *,
    tables: Tables | None,
    teacher: Examiner | None,
    men: Sequence[int] | None,
    count: int,
    seed: int = 0,
    positions: Path | None = None,
) -> EndgameSet:
    """About `count` positions, as many of each number of men, from a file or at random, each judged.

    `men` None: every number the tables have; with a file, every number in it.
    """
    if count < 1:
        raise UserError(f"--max must be at least 1, got {count}")
    if tables is None and teacher is None:
        raise UserError("endgames need a judge: --syzygy DIR, or --teacher PLAYER beyond the tables at hand")
    if positions is not None:
        return _from_file(positions, tables, teacher, men, count, seed)
    if men is None and tables is None:
        raise UserError("a teacher needs --men, such as --men 5,6,7, or --positions FILE")
    numbers = sorted(set(men if men is not None else tables.materials if tables else ()))
    for number in numbers:
        if not 3 <= number <= MOST_RANDOM_MEN:
            raise UserError(
                f"random endgames have 3 to {MOST_RANDOM_MEN} men, asked for {number}: "
                f"give others with --positions FILE"
            )
    folder = tables.folder if tables else None
    each = max(1, count // len(numbers))
    judged: list[Judged] = []
    for number in numbers:
        if tables and number in tables.materials:
            judged += random_judged(tables, number, each, seed)
        elif teacher is None:
            raise UserError(
                f"no tables of {number} men in {folder}: name another judge with --teacher PLAYER"
            )
        else:
            judged += _taught(random_fens(number, each, seed), teacher)
    return EndgameSet(judged, [])


def _from_file(
    path: Path,
    tables: Tables | None,
    teacher: Examiner | None,
    men: Sequence[int] | None,
    count: int,
    seed: int,
) -> EndgameSet:
    by_men: dict[int, list[tuple[str, str]]] = defaultdict(list)
    skipped: list[Skipped] = []
    for entry in read_endgames(path):
        if isinstance(entry, Skipped):
            skipped.append(entry)
        elif men is None or count_men(entry[0]) in men:
            by_men[count_men(entry[0])].append(entry)
    judged: list[Judged] = []
    for number in sorted(by_men):
        unknown = []
        for fen, place in sample(by_men[number], max(1, count // len(by_men)), seed):
            verdict = tables.judge(fen) if tables and number <= max(tables.materials) else None
            if verdict:
                judged.append(verdict)
            elif teacher:
                unknown.append(fen)
            else:
                skipped.append(Skipped(place, f"no table for its {number} men and no --teacher"))
        if unknown and teacher:
            judged += _taught(unknown, teacher)
    if not judged:
        why = f": {skipped[0].why} ({skipped[0].where})" if skipped else ""
        raise UserError(f"no position to judge in {path}{why}")
    return EndgameSet(judged, skipped)


def _taught(fens: Sequence[str], teacher: Examiner) -> list[Judged]:
    """The positions that the teacher has an opinion on, with it."""
    answers = teacher.answers(Board(fen) for fen in fens)
    values = [(fen, expected_score(decision)) for fen, decision in zip(fens, answers, strict=True)]
    if all(value is None for _, value in values):
        raise UserError(f"{teacher.name} gives moves but no scores, a teacher needs them")
    return [Judged(fen, count_men(fen), value) for fen, value in values if value is not None]


def expected_score(decision: Decision | None) -> float | None:
    """Win plus half of draw, else the score's win probability; None without either."""
    if decision is None:
        return None
    if decision.wdl is not None:
        return decision.wdl[0] + decision.wdl[1] / 2
    if decision.score is None:
        return None
    mate = mate_in(round(decision.score), MOVE_MATE)
    return win_probability(decision.score) if mate is None else mate_probability(mate)


def measure_endgames(
    endgames: EndgameSet, examiner: Examiner, teacher: Examiner | None = None, advance: Advance = lambda: None
) -> dict[str, Any]:
    """By number of men: the share of moves that keep the value, and how far the player's own value is off."""
    boards = [Board(position.fen) for position in endgames.positions]
    decisions = list(examiner.answers(boards, advance))
    kept_by_teacher = _kept(endgames.positions, boards, decisions, teacher)
    groups: dict[tuple[int, str], list[tuple[Judged, Decision | None, bool]]] = defaultdict(list)
    for index, (position, decision) in enumerate(zip(endgames.positions, decisions, strict=True)):
        if position.keeping is None:
            groups[position.men, "teacher"].append((position, decision, kept_by_teacher[index]))
        else:
            kept = decision is not None and decision.move in position.keeping
            groups[position.men, "syzygy"].append((position, decision, kept))
    figures: dict[str, Any] = {
        "by_men": [
            {"men": men, "judge": judge, **_counted(groups[men, judge])} for men, judge in sorted(groups)
        ]
    }
    if teacher is not None:
        figures["teacher"] = {
            "player": teacher.name,
            "limit": limit_figures(teacher.limit),
            "tolerance": TOLERANCE,
        }
    figures["skipped"] = len(endgames.skipped)
    figures["skipped_positions"] = [asdict(one) for one in endgames.skipped[:NAMED]]
    return {**figures, **examiner.figures()}


def _kept(
    positions: Sequence[Judged],
    boards: Sequence[Board],
    decisions: Sequence[Decision | None],
    teacher: Examiner | None,
) -> dict[int, bool]:
    """For each position a teacher judges, by index: does the move keep the value in its eyes?"""
    kept: dict[int, bool] = {}
    open_ends: list[tuple[int, Board]] = []
    for index, (position, board, decision) in enumerate(zip(positions, boards, decisions, strict=True)):
        if position.keeping is not None:
            continue
        kept[index] = False
        if decision is None:
            continue
        after = board.copy()
        after.push(decision.move)
        if after.outcome() is None:
            open_ends.append((index, after))
        else:
            worth = 1.0 if after.is_check and not after.legal_moves() else 0.5
            kept[index] = worth >= position.value - TOLERANCE
    if teacher is not None:
        replies = teacher.answers(after for _, after in open_ends)
        for (index, _), reply in zip(open_ends, replies, strict=True):
            theirs = expected_score(reply)
            kept[index] = theirs is not None and 1 - theirs >= positions[index].value - TOLERANCE
    return kept


def _counted(group: Sequence[tuple[Judged, Decision | None, bool]]) -> dict[str, Any]:
    right = sum(kept for _, _, kept in group)
    by_tables = all(position.fastest is not None for position, _, _ in group)
    quick = sum(
        decision is not None and position.fastest is not None and decision.move in position.fastest
        for position, decision, _ in group
    )
    errors = [
        abs(decision.wdl[0] + decision.wdl[1] / 2 - position.value)
        for position, decision, _ in group
        if decision is not None and decision.wdl is not None
    ]
    return {
        "positions": len(group),
        "optimal_share": share(right, len(group)),
        "optimal_95": wilson(right, len(group)),
        "dtz_optimal_share": share(quick, len(group)) if by_tables else None,
        "value_error": mean(errors),
    }
