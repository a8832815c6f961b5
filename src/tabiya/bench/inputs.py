"""What the bench works on: games made by random moves, or the first games of a PGN file.

Random games need no file and are the same on every machine, but they are
wilder than people's games; `--pgn` measures on games that people played.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tabiya import _core
from tabiya.errors import UserError
from tabiya.files import open_text

RANDOM_GAME_PLIES = 100
BYTES_PER_PLY = 14
"""Of PGN text, tags included; generous, so that a slice of a file has plies enough."""


@dataclass(frozen=True)
class Inputs:
    """Positions and the games they come from."""

    source: str
    """In words, for the report."""
    packed: NDArray[np.uint8]
    """[N, 32], one row for each position."""
    games: Path
    """A plain PGN file with at least these positions in it."""


def random_inputs(folder: Path, positions: int, seed: int) -> Inputs:
    """Games of random moves, cut at a hundred plies, until there are enough positions."""
    choose = random.Random(seed)
    rows: list[bytes] = []
    texts: list[str] = []
    while len(rows) < positions:
        board = _core.Board()
        words: list[str] = []
        while board.ply < RANDOM_GAME_PLIES and board.outcome(claim=False) is None:
            rows.append(board.packed())
            move = choose.choice(board.legal_moves())
            number = f"{board.fullmove_number}. " if board.white_to_move else ""
            words.append(number + board.san(move))
            board.push(move)
        result = (board.outcome(claim=False) or ("*", ""))[0]
        elos = f'[WhiteElo "{choose.randrange(1800, 2800)}"]\n[BlackElo "{choose.randrange(1800, 2800)}"]\n'
        texts.append(f'{elos}[Result "{result}"]\n\n{" ".join(words)} {result}\n\n')
    games = folder / "random.pgn"
    games.write_text("".join(texts))
    packed = np.frombuffer(b"".join(rows[:positions]), np.uint8).reshape(-1, 32)
    return Inputs(f"{len(texts)} games of random moves, seed {seed}", packed, games)


def pgn_inputs(folder: Path, path: Path, positions: int) -> Inputs:
    """The first games of a PGN file, plain or compressed, for about so many positions."""
    text = _beginning(path, positions * BYTES_PER_PLY + 10_000)
    games = folder / "given.pgn"
    games.write_text(text)
    from tabiya.data.shards import RECORD

    records = _core.pgn_records(games).reshape(-1).view(RECORD)
    if not len(records):
        raise UserError(f"no game in {path} that can be replayed")
    packed = np.ascontiguousarray(records["packed"][:positions])
    return Inputs(f"the first {records['game'][-1] + 1} games of {path.name}", packed, games)


def _beginning(path: Path, size: int) -> str:
    """The first `size` characters or so, up to the end of a game."""
    with open_text(path) as stream:
        text = stream.read(size)
        rest = stream.read(1)
    end = text.rfind("\n\n[") if rest else -1
    return text if end < 0 else text[: end + 2]
