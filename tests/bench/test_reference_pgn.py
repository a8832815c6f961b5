"""Extraction held against chess.pgn, byte by byte."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest

from tabiya import _core
from tabiya.bench import reference_pgn
from tabiya.bench.inputs import random_inputs
from tabiya.data.shards import NO_EVAL, RECORD

# Comments, variations, NAGs, evaluations, set-up positions, promotions, castling, a repetition, odd ratings.
GAMES = """[Event "annotated"]
[WhiteElo "2510"]
[BlackElo "?"]
[Result "1/2-1/2"]

1. e4 { [%eval 0.3] [%clk 0:03:00] } 1... e5! $1 { [%eval 0.25,18] }
(1... c5 2. Nf3 {deep (er)} (2. c3 d5) d6) 2. Nf3 {[%eval #12]} Nc6 ; the rest of a line
3. Bb5 { [%eval #-3] } a6 {[%eval -155.4]} 4. Ba4 Nf6 5. O-O Nxe4 6. d4 b5 7. Bb3 d5 1/2-1/2

[Event "from a position"]
[SetUp "1"]
[FEN "r3k3/6P1/8/3pP3/8/8/7p/R3K1B1 w Qq d6 0 30"]
[WhiteElo "1900"]
[BlackElo "2000"]
[Result "*"]

30. exd6 hxg1=N 31. g8=Q+ Kd7 32. O-O-O *

[Event "black begins"]
[SetUp "1"]
[FEN "4k3/8/8/8/4p3/8/3P4/4K3 b - - 7 41"]
[Result "0-1"]

41... Kd7 42. d4 exd3 43. Kd2 0-1

[Event "to and fro"]
[Result "1/2-1/2"]

1. Nf3 Nf6 2. Ng1 Ng8 3. Nf3 Nf6 4. Ng1 Ng8 5. Nf3 Nf6 6. e4 1/2-1/2

[Event "without moves"]
[Result "1-0"]

1-0

[Event "broken"]
[Result "1-0"]

1. e4 e5 2. Ke3 Nf6 1-0

[Event "after the broken one"]
[WhiteElo "2700"]
[BlackElo "2650"]
[Result "0-1"]

1. f3 e5 2. g4 Qh4# 0-1
"""


def both(text: str, folder: Path) -> tuple[np.ndarray, np.ndarray]:
    file = folder / "games.pgn"
    file.write_text(text)
    return _core.pgn_records(file).reshape(-1).view(RECORD), reference_pgn.records(io.StringIO(text))


@pytest.mark.parametrize("name", RECORD.names or ())
def test_records_equal_those_of_python_chess(name: str, tmp_path: Path) -> None:
    ours, theirs = both(GAMES, tmp_path)
    assert len(ours) == len(theirs) == 14 + 5 + 4 + 11 + 4
    assert ours[name].tolist() == theirs[name].tolist()


def test_an_evaluation_belongs_to_the_position_after_the_move_it_follows(tmp_path: Path) -> None:
    ours, _ = both(GAMES, tmp_path)
    assert ours["eval"][:8].tolist() == [NO_EVAL, 30, 25, 9988, NO_EVAL, -9997, -9500, NO_EVAL]


def test_a_broken_game_keeps_its_number_and_gives_nothing(tmp_path: Path) -> None:
    ours, _ = both(GAMES, tmp_path)
    assert sorted(set(ours["game"].tolist())) == [0, 1, 2, 3, 6]


def test_random_games_give_equal_records(tmp_path: Path) -> None:
    games = random_inputs(tmp_path, positions=3000, seed=12).games
    ours = _core.pgn_records(games, threads=2)
    with games.open() as stream:
        assert ours.tobytes() == reference_pgn.records(stream).tobytes()
