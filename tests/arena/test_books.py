"""Openings: every kind of file, the same order for the same seed, mistakes named by file and line."""

from __future__ import annotations

import bz2
import gzip
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

from tabiya._core import Board
from tabiya.arena.books import Book
from tabiya.errors import UserError

START = Board().fen()

PGN = """\
[Event "?"]
[Opening "Ruy Lopez"]
[Result "*"]

1. e4 {a comment with ( and 1-0
over two lines} e5 2. Nf3 (2. f4 exf4 (2... d5)) 2... Nc6 $1 3.Bb5! a6 ; and so on
4. Ba4 *

[Event "from a position"]
[SetUp "1"]
[FEN "4k3/8/8/8/8/8/4P3/4K3 w - - 0 1"]

1. e4 Kd7 1/2-1/2
1. d4 d5 2. c4 0-1
"""


def write(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def test_a_pgn_book_gives_the_first_half_moves_of_each_game(tmp_path: Path) -> None:
    book = Book.read(write(tmp_path / "book.pgn", PGN), plies=6)
    openings = {opening.moves: opening for opening in book.openings(3, seed=0)}
    assert set(openings) == {
        ("e2e4", "e7e5", "g1f3", "b8c6", "f1b5", "a7a6"),
        ("e2e4", "e8d7"),
        ("d2d4", "d7d5", "c2c4"),
    }
    assert openings["e2e4", "e8d7"].start_fen == "4k3/8/8/8/8/8/4P3/4K3 w - - 0 1"
    assert openings["d2d4", "d7d5", "c2c4"].start_fen == START


def test_epd_lines_with_and_without_counters_and_opcodes(tmp_path: Path) -> None:
    text = (
        "# a comment\n"
        "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - 0 1\n"
        "\n"
        'rnbqkbnr/pppppppp/8/8/3P4/8/PPP1PPPP/RNBQKBNR b KQkq - id "queen\'s pawn"; ce 12;\n'
    )
    openings = Book.read(write(tmp_path / "book.epd", text)).openings(2, seed=1)
    assert {opening.start_fen for opening in openings} == {
        "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - 0 1",
        "rnbqkbnr/pppppppp/8/8/3P4/8/PPP1PPPP/RNBQKBNR b KQkq - 0 1",
    }


def _zst(data: bytes) -> bytes:
    return zstandard.ZstdCompressor().compress(data)


@pytest.mark.parametrize(("ending", "pack"), [(".gz", gzip.compress), (".bz2", bz2.compress), (".zst", _zst)])
def test_a_compressed_book_is_the_same_book(
    tmp_path: Path, ending: str, pack: Callable[[bytes], bytes]
) -> None:
    plain = Book.read(write(tmp_path / "book.pgn", PGN))
    packed = tmp_path / f"book.pgn{ending}"
    packed.write_bytes(pack(PGN.encode()))
    assert Book.read(packed).openings(3, seed=4) == plain.openings(3, seed=4)


def test_a_book_that_was_cut_off_is_refused(tmp_path: Path) -> None:
    packed = tmp_path / "book.pgn.zst"
    packed.write_bytes(_zst(PGN.encode() * 50)[:-20])
    with pytest.raises(UserError, match=r"book\.pgn\.zst is (cut off|damaged)"):
        Book.read(packed)


def test_the_built_in_openings_are_all_playable_and_all_different() -> None:
    book = Book.built_in()
    openings = book.openings(len(book), seed=0)
    assert len(openings) >= 100
    assert len({opening.board().fen() for opening in openings}) == len(openings)
    assert all(4 <= len(opening.moves) <= 12 for opening in openings)
    assert all(opening.name for opening in openings)


def test_the_order_depends_on_the_seed_and_on_nothing_else() -> None:
    book = Book.built_in()
    assert book.openings(50, seed=3) == book.openings(50, seed=3)
    assert book.openings(50, seed=3) != book.openings(50, seed=4)
    assert book.openings(20, seed=3) == book.openings(50, seed=3)[:20]


def test_a_short_book_begins_anew(tmp_path: Path) -> None:
    openings = Book.read(write(tmp_path / "book.pgn", PGN)).openings(7, seed=0)
    assert openings[:3] == openings[3:6]
    assert openings[0] == openings[6]


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        ("bad.pgn", '[Event "?"]\n\n1. e4 e5 2. Ke3 *\n', "line 1 of .*bad.pgn breaks off at 'Ke3'"),
        ("bad.pgn", "1. e4 *\n\n1. d4 Qxd4 *\n", "line 3 of .*bad.pgn breaks off at 'Qxd4'"),
        ("bad.epd", "hello\n", "line 1 of .*bad.epd is no position"),
        ("bad.epd", "k7/8/8/8/8/8/8/K7 w - - 0 1\n", "line 1 of .* ends the game before it begins"),
        ("bad.epd", "\n\n", "no openings in .*bad.epd"),
        ("bad.doc", "1. e4 *", "cannot tell what kind of book"),
    ],
)
def test_a_mistake_is_named_by_file_and_line(tmp_path: Path, name: str, text: str, sentence: str) -> None:
    with pytest.raises(UserError, match=sentence):
        Book.read(write(tmp_path / name, text)).openings(10, seed=0)


def test_a_missing_book_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"no file .*none\.pgn"):
        Book.read(tmp_path / "none.pgn")


def test_a_folder_is_no_book(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="is a folder"):
        Book.read(tmp_path)
