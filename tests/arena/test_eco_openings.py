"""Openings: games find their names, and agreement with masters is counted by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import zstandard

from tabiya._core import Board
from tabiya.arena.evaluation import Examiner
from tabiya.arena.openings import EcoLine, EcoTable, load_eco, load_games, measure_openings, split_games
from tabiya.errors import UserError
from tabiya.player import Decision, Limit, Player

ECO = """eco\tname\tpgn
B20\tSicilian Defense\t1. e4 c5
B90\tSicilian Defense: Najdorf Variation\t1. e4 c5 2. Nf3 d6 3. d4 cxd4 4. Nxd4 Nf6 5. Nc3 a6
C20\tKing's Pawn Game\t1. e4 e5
C40\tKing's Knight Opening\t1. e4 e5 2. Nf3
A04\tSicilian Defense: By Transposition\t1. Nf3 c5
"""

GAMES = """[Event "one"]
[Result "1-0"]

1. e4 {a comment [%clk 0:01:00]} e5 2. Nf3 (2. f4 exf4) 2... Nc6 3. Bb5 a6 1-0

[Event "two"]
[Result "0-1"]

1. e4 c5
2. Nf3 0-1

[Event "three"]
[Result "*"]

1. a3 *
"""


class Replies(Player):
    """Answers by the moves played so far; knows nothing else but the first legal move."""

    def __init__(self, book: dict[str, str]) -> None:
        self.book = book

    def play(self, board: Board, limit: Limit) -> Decision:
        return Decision(move=self.book.get(" ".join(board.moves), board.legal_moves()[0]))


@pytest.fixture
def eco(tmp_path: Path) -> EcoTable:
    folder = tmp_path / "eco"
    folder.mkdir()
    (folder / "all.tsv").write_text(ECO)
    return load_eco(folder)


def games_file(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "games.pgn"
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("moves", "name"),
    [
        ("e2e4 e7e5", "King's Pawn Game"),
        ("e2e4 e7e5 g1f3 b8c6", "King's Knight Opening"),
        ("g1f3 e7e5 e2e4", "King's Knight Opening"),  # a transposition
        ("e2e4 c7c5 b1c3", "Sicilian Defense"),
        ("d2d4 d7d5", None),
    ],
)
def test_a_game_belongs_to_the_last_named_position_it_reaches(
    eco: EcoTable, moves: str, name: str | None
) -> None:
    line = eco.classify(moves.split())
    assert (line.name if line else None) == name


def test_a_family_is_the_name_before_the_colon_with_its_range_of_codes(eco: EcoTable) -> None:
    assert EcoLine("B90", "Sicilian Defense: Najdorf Variation").family == "Sicilian Defense"
    assert eco.codes() == {
        "Sicilian Defense": "B20-B90",
        "King's Pawn Game": "C20",
        "King's Knight Opening": "C40",
    }


def measure(tmp_path: Path, eco: EcoTable, book: dict[str, str], plies: int = 4) -> dict[str, Any]:
    openings = load_games([games_file(tmp_path, GAMES)], eco, plies)
    with Examiner("replies", lambda _: Replies(book), Limit(nodes=1)) as examiner:
        return measure_openings(openings, examiner)


def test_figures_by_hand(tmp_path: Path, eco: EcoTable) -> None:
    book = {
        "": "e2e4",  # right in two games of three
        "e2e4": "e7e5",  # right in the first game
        "e2e4 e7e5": "f2f4",  # wrong: departs after two half-moves
        "e2e4 e7e5 g1f3": "b8c6",  # right, though after the departure
        "e2e4 c7c5": "g1f3",  # right
    }
    figures = measure(tmp_path, eco, book)
    # 4 positions of the first game (of 6: only four plies), 3 of the second, 1 of the third.
    assert (figures["games"], figures["positions"], figures["top1"]) == (3, 8, 5 / 8)
    assert figures["depth"] == pytest.approx((2 + 1 + 0) / 3)
    rows = [
        (row["eco"], row["name"], row["positions"], row["top1"], row["depth"]) for row in figures["by_family"]
    ]
    assert rows == [
        ("C40", "King's Knight Opening", 4, 3 / 4, 2.0),
        ("B20-B90", "Sicilian Defense", 3, 2 / 3, 1.0),
        ("", "Unnamed", 1, 0.0, 0.0),
    ]
    assert [(row["positions"], row["top1"]) for row in figures["by_ply"]] == [
        (3, 2 / 3),
        (2, 0.5),
        (2, 0.5),
        (1, 1.0),
    ]


def test_who_never_departs_is_as_deep_as_the_game_was_asked(tmp_path: Path, eco: EcoTable) -> None:
    path = games_file(tmp_path, '[Result "*"]\n\n1. e4 e5 2. Nf3 *\n')
    book = {"": "e2e4", "e2e4": "e7e5", "e2e4 e7e5": "g1f3"}
    with Examiner("replies", lambda _: Replies(book), Limit(nodes=1)) as examiner:
        for plies, depth in ((2, 2.0), (20, 3.0)):
            figures = measure_openings(load_games([path], eco, plies), examiner)
            assert (figures["top1"], figures["depth"]) == (1.0, depth)


def test_games_are_found_with_their_lines_in_any_layout(tmp_path: Path) -> None:
    assert [number for number, _ in split_games(games_file(tmp_path, GAMES))] == [1, 6, 12]
    assert [number for number, _ in split_games(games_file(tmp_path, "1. e4 e5 *\n"))] == [1]


def test_games_that_cannot_be_used_are_left_out_and_named(tmp_path: Path, eco: EcoTable) -> None:
    bad = (
        '[Event "illegal"]\n\n1. e4 e5 2. Ke3 *\n\n'
        '[Event "set up"]\n[FEN "7k/8/8/8/8/8/P7/K7 w - - 0 1"]\n[SetUp "1"]\n\n1. a3 *\n\n'
        '[Event "empty"]\n\n*\n\n'
    )
    openings = load_games([games_file(tmp_path, bad + GAMES)], eco, 4)
    assert len(openings.games) == 3
    assert [one.where.rpartition(":")[2] for one in openings.skipped] == ["1", "5", "11"]
    assert "Ke3" in openings.skipped[0].why


def test_games_are_sampled_by_the_seed_from_compressed_files(tmp_path: Path, eco: EcoTable) -> None:
    firsts = Board().legal_moves() * 10
    text = "".join(f'[Event "{n}"]\n\n1. {Board().san(move)} *\n\n' for n, move in enumerate(firsts))
    path = tmp_path / "many.pgn.zst"
    path.write_bytes(zstandard.ZstdCompressor().compress(text.encode()))
    chosen = [[game.moves for game in load_games([path], eco, 4, 15, seed).games] for seed in (1, 1, 2)]
    assert chosen[0] == chosen[1] != chosen[2]
    assert len(chosen[0]) == 15


@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        (None, r"no \.tsv file in"),
        ("", r"a\.tsv:1 has no column 'eco'"),
        ("eco\tname\n", r"a\.tsv:1 has no column 'pgn'"),
        ("eco\tname\tpgn\nA00\tx\n", r"a\.tsv:2 has 2 columns, expected 3"),
        ("eco\tname\tpgn\nA00\tx\t1. e5\n", r"a\.tsv:2 is no line of an opening"),
    ],
)
def test_a_folder_that_is_no_eco_table_is_told_where(
    tmp_path: Path, table: str | None, sentence: str
) -> None:
    if table is not None:
        (tmp_path / "a.tsv").write_text(table)
    with pytest.raises(UserError, match=sentence):
        load_eco(tmp_path)


def test_a_file_without_games_is_refused(tmp_path: Path, eco: EcoTable) -> None:
    with pytest.raises(UserError, match="no game from the usual start position"):
        load_games([games_file(tmp_path, "")], eco, 4)


def test_no_plies_are_refused(tmp_path: Path, eco: EcoTable) -> None:
    with pytest.raises(UserError, match="--plies must be at least 1"):
        load_games([games_file(tmp_path, GAMES)], eco, 0)
