"""Games as PGN: what is written can be read, by us and by others; results come back from any file."""

from __future__ import annotations

import gzip
import io
from pathlib import Path

import chess.pgn
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tabiya._core import Board
from tabiya.arena.books import Opening
from tabiya.arena.pgn import WIDTH, game_to_pgn, number_of, round_of
from tabiya.arena.pgn_results import read_results
from tabiya.arena.record import GameRecord, PlayedMove
from tabiya.arena.tally import PlayedResult, score_of
from tabiya.errors import UserError


def record(
    opening: Opening | None = None,
    *,
    number: int = 0,
    white: str = "a",
    black: str = "b",
    reason: str = "checkmate",
    scores: tuple[float | None, ...] = (None, 35.0, -29_998.0, 29_999.0),
) -> GameRecord:
    moves = ["f2f3", "e7e5", "g2g4", "d8h4"]
    board, played = Board(), []
    for move, score in zip(moves, scores, strict=True):
        played.append(PlayedMove(move, board.san(move), score, 12 if score else None, 100, 61.2344))
        board.push(move)
    return GameRecord(
        number=number,
        white=white,
        black=black,
        opening=opening or Opening(Board().fen()),
        moves=tuple(played),
        result="0-1",
        ending="normal",
        reason=reason,
    )


def test_python_chess_reads_what_we_write() -> None:
    text = game_to_pgn(record(number=5), date="2026.01.02", pace=("10+0.1", "10+0.1 s"))
    game = chess.pgn.read_game(io.StringIO(text))
    assert game is not None
    assert not game.errors
    assert game.headers["Round"] == "3.2"
    assert game.headers["Result"] == "0-1"
    assert game.headers["Termination"] == "normal"
    assert game.headers["GameEnd"] == "checkmate"
    assert game.headers["PlyCount"] == "4"
    assert game.headers["TimeControl"] == "10+0.1"
    nodes = list(game.mainline())
    assert [node.move.uci() for node in nodes] == ["f2f3", "e7e5", "g2g4", "d8h4"]
    assert nodes[0].eval() is None
    # Scores are the mover's in the record, White's in the file.
    black_score = nodes[1].eval()
    assert black_score is not None
    assert black_score.white() == chess.engine.Cp(-35)
    assert nodes[1].eval_depth() == 12
    mate = nodes[2].eval()
    assert mate is not None
    assert mate.white() == chess.engine.Mate(-2)
    assert nodes[3].emt() == pytest.approx(61.234)


def test_opening_moves_and_start_position_are_part_of_the_game() -> None:
    opening = Opening("4k3/8/8/8/8/8/4P3/4K3 b - - 3 10", ("e8d7", "e2e4"), "an ending")
    game = GameRecord(
        number=0,
        white="a",
        black="b",
        opening=opening,
        moves=(),
        result="1-0",
        ending="abandoned",
        reason="b crashed",
    )
    text = game_to_pgn(game)
    assert '[SetUp "1"]\n[FEN "4k3/8/8/8/8/8/4P3/4K3 b - - 3 10"]' in text
    assert "10... Kd7 11. e4 {b crashed} 1-0" in text
    read = chess.pgn.read_game(io.StringIO(text))
    assert read is not None
    assert [move.uci() for move in read.mainline_moves()] == ["e8d7", "e2e4"]


def test_lines_are_not_too_long_and_none_begins_like_a_tag() -> None:
    text = game_to_pgn(record(), pace=("-", "depth 1"))
    body = text.split("\n\n")[1]
    assert all(len(line) <= WIDTH for line in body.splitlines())
    assert not any(line.startswith("[") for line in body.splitlines())


@given(st.text(min_size=1), st.text(min_size=1))
def test_no_name_and_no_reason_can_break_the_file(
    tmp_path_factory: pytest.TempPathFactory, name: str, reason: str
) -> None:
    # Whitespace of any kind becomes a space, and a name of nothing but that is no name.
    name = " ".join(name.split())
    text = game_to_pgn(record(white=f"w{name}", reason=reason))
    assert text.count("\n\n") == 2
    path = tmp_path_factory.mktemp("pgn") / "games.pgn"
    path.write_bytes(text.encode("utf-8", "replace"))
    found = read_results([path])
    assert found.skipped == 0
    assert [game.result for game in found.games] == ["0-1"]
    assert found.games[0].white == f"w{name}".encode("utf-8", "replace").decode()


def test_rounds_number_games_both_ways() -> None:
    assert [round_of(number) for number in range(4)] == ["1.1", "1.2", "2.1", "2.2"]
    assert all(number_of(round_of(number)) == number for number in range(200))
    assert [number_of(text) for text in ("", "?", "3", "0.1", "1.3", "1.1.1", "x.1")] == [None] * 7


def game_text(white: str, black: str, result: str, **tags: str) -> str:
    head = {"Event": "e", "White": white, "Black": black, "Result": result} | tags
    return "\n".join(f'[{name} "{value}"]' for name, value in head.items()) + f"\n\n1. e4 e5 {result}\n\n"


@pytest.mark.parametrize(
    ("first", "second", "paired"),
    [
        ({"Round": "1.1"}, {"Round": "1.2"}, True),
        ({"Round": "1.1"}, {"Round": "2.1"}, False),
        ({"Round": "7"}, {"Round": "7"}, True),
        ({"Round": "7"}, {"Round": "8"}, False),
        ({"Round": "?"}, {"Round": "?"}, False),
        ({"Round": "7", "FEN": "x"}, {"Round": "8", "FEN": "x"}, True),
        ({"Round": "7", "FEN": "x"}, {"Round": "7", "FEN": "y"}, False),
        ({}, {}, False),
    ],
)
def test_pairs_are_found_by_round_or_by_start_position(
    tmp_path: Path, first: dict[str, str], second: dict[str, str], paired: bool
) -> None:
    path = tmp_path / "games.pgn"
    path.write_text(game_text("a", "b", "1-0", **first) + game_text("b", "a", "1/2-1/2", **second))
    score = score_of("a", read_results([path]).games)
    assert (score.wins, score.draws) == (1, 1)
    assert sum(score.pairs) == (1 if paired else 0)
    if paired:
        assert score.pairs == (0, 0, 0, 1, 0)


def test_the_same_colours_twice_are_no_pair() -> None:
    games = [
        PlayedResult("a", "b", "1-0", 1),
        PlayedResult("a", "b", "1-0", 1),
        PlayedResult("b", "a", "1-0", 1),
    ]
    score = score_of("a", games)
    assert score.games == 3
    assert score.pairs == (0, 0, 1, 0, 0)


def test_unusable_games_are_counted_and_the_first_is_named(tmp_path: Path) -> None:
    path = tmp_path / "games.pgn"
    path.write_text(
        game_text("a", "b", "1-0")
        + game_text("a", "b", "*")
        + game_text("", "b", "1-0")
        + game_text("a", "a", "1-0")
        + '[Event "cut off'
    )
    found = read_results([path])
    assert len(found.games) == 1
    assert found.skipped == 3
    assert found.first_skipped == f"line 8 of {path}: it has no result"


def test_tags_inside_comments_are_no_new_game(tmp_path: Path) -> None:
    path = tmp_path / "games.pgn"
    path.write_text('[White "a"]\n[Black "b"]\n[Result "1-0"]\n\n1. e4 {\n[%eval 0.3]\n[%clk 1:00]} e5 1-0\n')
    assert len(read_results([path]).games) == 1


def test_a_compressed_file_gives_the_same_results(tmp_path: Path) -> None:
    text = game_text("a", "b", "1-0", Round="1.1") + game_text("b", "a", "1-0", Round="1.2")
    plain, packed = tmp_path / "games.pgn", tmp_path / "games.pgn.gz"
    plain.write_text(text)
    packed.write_bytes(gzip.compress(text.encode()))
    assert score_of("a", read_results([plain]).games) == score_of("a", read_results([packed]).games)


def test_a_file_without_games_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty.pgn").write_text("hello\n")
    with pytest.raises(UserError, match=r"no games in .*empty\.pgn"):
        read_results([tmp_path / "empty.pgn"])
    with pytest.raises(UserError, match="is a folder"):
        read_results([tmp_path])


@given(st.binary(max_size=400))
def test_no_bytes_whatever_break_the_reader(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.mktemp("pgn") / "games.pgn"
    path.write_bytes(b'[White "a"]\n' + data)
    found = read_results([path])
    assert found.skipped + len(found.games) >= 1
