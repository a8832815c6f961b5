"""Openings: does a player choose what masters chose, in which openings, and for how long?

A game belongs to the named line of an ECO table that its moves reach last, by
position, so transpositions are found. Families are the names before the colon:
"Sicilian Defense: Najdorf Variation" belongs to "Sicilian Defense".
"""

from __future__ import annotations

import io
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tabiya._core import Board
from tabiya.arena.evaluation import NAMED, Advance, Examiner, Skipped, mean, read_lines, sample, share, wilson
from tabiya.errors import UserError

UNNAMED = "Unnamed"
_TAG = re.compile(r'\[\w+\s+"')
_MOVE_NUMBER = re.compile(r"\d+\.+")


@dataclass(frozen=True)
class EcoLine:
    """One named line of an ECO table."""

    eco: str
    name: str

    @property
    def family(self) -> str:
        """The name before its colon; the table's accents on it stay."""
        return self.name.partition(":")[0].strip()


@dataclass(frozen=True)
class EcoTable:
    """Named lines by the key of the position they lead to."""

    lines: dict[int, EcoLine]

    def classify(self, moves: Sequence[str]) -> EcoLine | None:
        """The named line that the moves, from the start of a game, reach last; None if none."""
        board = Board()
        found = None
        for move in moves:
            board.push(move)
            found = self.lines.get(board.key(), found)
        return found

    def codes(self) -> dict[str, str]:
        """Each family's lowest and highest code, as in B20-B99, within the volume that has most of it.

        A few lines stand in another volume (an English Opening under C20),
        which would stretch the range over half the table.
        """
        codes: dict[str, list[str]] = defaultdict(list)
        for line in self.lines.values():
            codes[line.family].append(line.eco)
        ranges = {}
        for name, every in codes.items():
            volumes = Counter(code[:1] for code in sorted(every))
            main = [code for code in every if code[:1] == volumes.most_common(1)[0][0]]
            ranges[name] = "-".join(sorted({min(main), max(main)}))
        return ranges


def load_eco(folder: Path) -> EcoTable:
    """The tables `*.tsv` of a folder, with columns eco, name and pgn."""
    files = sorted(folder.glob("*.tsv"))
    if not files:
        raise UserError(
            f"no .tsv file in {folder}: an ECO folder holds tables with the columns eco, name and pgn"
        )
    lines: dict[int, EcoLine] = {}
    for file in files:
        rows = ((number, text.split("\t")) for number, text in read_lines(file))
        _, header = next(rows, (1, []))
        missing = [column for column in ("eco", "name", "pgn") if column not in header]
        if missing:
            raise UserError(f"{file}:1 has no column {missing[0]!r}, expected eco, name and pgn")
        places = [header.index(column) for column in ("eco", "name", "pgn")]
        for number, row in rows:
            if len(row) <= max(places):
                raise UserError(f"{file}:{number} has {len(row)} columns, expected {max(places) + 1}")
            eco, name, pgn = (row[place].strip() for place in places)
            try:
                key = _key_after(pgn)
            except ValueError as error:
                raise UserError(f"{file}:{number} is no line of an opening: {error}") from None
            lines[key] = EcoLine(eco, name)
    return EcoTable(lines)


def _key_after(pgn: str) -> int:
    board = Board()
    for word in _MOVE_NUMBER.sub(" ", pgn).split():
        board.push(board.parse(word))
    return board.key()


@dataclass(frozen=True)
class MasterGame:
    """The opening moves of one game, and where it belongs."""

    moves: tuple[str, ...]
    line: EcoLine | None

    def positions(self) -> Iterator[Board]:
        """The position before each of the moves."""
        board = Board()
        for move in self.moves:
            yield board.copy()
            board.push(move)


@dataclass(frozen=True)
class OpeningSet:
    """Masters' openings ready to be put to players."""

    games: list[MasterGame]
    skipped: list[Skipped]
    plies: int
    codes: dict[str, str]

    @property
    def positions(self) -> int:
        return sum(len(game.moves) for game in self.games)


def split_games(path: Path) -> Iterator[tuple[int, str]]:
    """Each game of a PGN file as text, with the number of its first line.

    Only so many are parsed as are sampled; this finds where they begin.
    """
    first, in_moves = 0, False
    game: list[str] = []
    for number, line in read_lines(path):
        is_tag = _TAG.match(line) is not None
        if is_tag and in_moves:
            yield first, "\n".join(game)
            game = []
        if not game:
            first = number
        if not is_tag and not in_moves:
            game.append("")
        game.append(line)
        in_moves = not is_tag
    if game:
        yield first, "\n".join(game)


def load_games(
    paths: Sequence[Path], eco: EcoTable, plies: int, count: int | None = None, seed: int = 0
) -> OpeningSet:
    """The first `plies` half-moves of a seeded sample of `count` games (all for None), classified."""
    if plies < 1:
        raise UserError(f"--plies must be at least 1, got {plies}")
    every = ((path, number, text) for path in paths for number, text in split_games(path))
    games, skipped = [], []
    for path, number, text in sample(every, count, seed):
        try:
            moves = _game_moves(text)
        except ValueError as error:
            skipped.append(Skipped(f"{path}:{number}", str(error)))
        else:
            games.append(MasterGame(moves[:plies], eco.classify(moves)))
    if not games:
        why = f": {skipped[0].why} ({skipped[0].where})" if skipped else ""
        raise UserError(f"no game from the usual start position in {', '.join(map(str, paths))}{why}")
    return OpeningSet(games, skipped, plies, eco.codes())


def _game_moves(text: str) -> tuple[str, ...]:
    import chess.pgn

    game = chess.pgn.read_game(io.StringIO(text))
    if game is None:
        raise ValueError("there is no game here")
    if game.errors:
        raise ValueError(str(game.errors[0]))
    if "FEN" in game.headers:
        raise ValueError("the game does not begin at the usual start position")
    moves = tuple(move.uci() for move in game.mainline_moves())
    if not moves:
        raise ValueError("the game has no moves")
    return moves


def measure_openings(
    openings: OpeningSet, examiner: Examiner, advance: Advance = lambda: None
) -> dict[str, Any]:
    """Agreement with the masters' moves and its depth, whole and by family.

    Every position of the first plies is asked, of both sides. A game's depth
    is the number of half-moves before the player's first other choice, so at
    most the half-moves asked of that game; `depth` is its mean over games.
    """
    families: dict[str, list[list[bool]]] = defaultdict(list)
    boards = (board for game in openings.games for board in game.positions())
    answers = examiner.answers(boards, advance)
    for game in openings.games:
        agreed = []
        for move in game.moves:
            decision = next(answers)
            agreed.append(decision is not None and decision.move == move)
        families[game.line.family if game.line else UNNAMED].append(agreed)
    order = sorted(families, key=lambda name: (-len(families[name]), name))
    everything = [game for name in order for game in families[name]]
    return {
        **_counted(everything),
        "plies": openings.plies,
        "by_ply": [_agreed_at(ply, everything) for ply in range(1, openings.plies + 1)],
        "by_family": [
            {"eco": openings.codes.get(name, ""), "name": name, **_counted(families[name])} for name in order
        ],
        "skipped": len(openings.skipped),
        "skipped_games": [asdict(one) for one in openings.skipped[:NAMED]],
        **examiner.figures(),
    }


def _agreed_at(ply: int, games: Sequence[Sequence[bool]]) -> dict[str, Any]:
    reached = [game[ply - 1] for game in games if len(game) >= ply]
    return {"ply": ply, "positions": len(reached), "top1": share(sum(reached), len(reached))}


def _counted(games: Sequence[Sequence[bool]]) -> dict[str, Any]:
    positions = sum(len(game) for game in games)
    right = sum(sum(game) for game in games)
    depths = [game.index(False) if False in game else len(game) for game in games]
    return {
        "games": len(games),
        "positions": positions,
        "top1": share(right, positions),
        "top1_95": wilson(right, positions),
        "depth": mean(depths),
    }
