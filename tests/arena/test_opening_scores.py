"""Scores by opening: which moves name the opening, and what is counted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tabiya.arena.opening_scores import game_files, opening_scores, read_opened_games
from tabiya.arena.openings import EcoLine, EcoTable, load_eco
from tabiya.errors import UserError

ECO = """eco\tname\tpgn
B20\tSicilian Defense\t1. e4 c5
B27\tSicilian Defense: Hyperaccelerated Dragon\t1. e4 c5 2. Nf3 g6
C20\tKing's Pawn Game\t1. e4 e5
D06\tQueen's Gambit\t1. d4 d5 2. c4
"""


def game(round_: str, white: str, black: str, result: str, moves: str, *tags: str) -> str:
    head = [f'[Round "{round_}"]', f'[White "{white}"]', f'[Black "{black}"]', f'[Result "{result}"]', *tags]
    return "\n".join(head) + f"\n\n{moves} {result}\n\n"


# Two half-moves of a book, then a player's own, which would reach another line.
SICILIAN = "1. e4 c5 2. Nf3 {[%emt 0:00:00.100]} 2... g6 {[%emt 0:00:00.100]} {checkmate}"
GAMBIT = "1. d4 d5 2. c4 e6 {[%emt 0:00:00.100]} {stalemate}"

GAMES = [
    game("1.1", "mind", "rock", "1-0", SICILIAN),
    game("1.2", "rock", "mind", "0-1", SICILIAN),
    game("2.1", "mind", "rock", "0-1", GAMBIT),
    game("2.2", "rock", "mind", "1/2-1/2", GAMBIT),
    game("3.1", "mind", "paper", "1/2-1/2", SICILIAN),
    game("4.1", "rock", "paper", "1-0", SICILIAN),
]


@pytest.fixture
def eco(tmp_path: Path) -> EcoTable:
    folder = tmp_path / "eco"
    folder.mkdir()
    (folder / "a.tsv").write_text(ECO)
    return load_eco(folder)


def scores(tmp_path: Path, eco: EcoTable, games: list[str], player: str = "mind") -> dict[str, Any]:
    (tmp_path / "games.pgn").write_text("".join(games))
    found, skipped = read_opened_games(game_files([tmp_path]), eco)
    return opening_scores(player, found, skipped, eco.codes())


def test_figures_by_hand(tmp_path: Path, eco: EcoTable) -> None:
    figures = scores(tmp_path, eco, GAMES)
    everyone, rock, paper = figures["against"]
    assert [one["opponent"] for one in (everyone, rock, paper)] == ["all", "rock", "paper"]
    assert (rock["games"], rock["wins"], rock["draws"], rock["losses"]) == (4, 2, 1, 1)
    assert rock["score_share"] == pytest.approx(0.625)
    assert [(row["name"], row["eco"], row["games"], row["score_share"]) for row in rock["by_family"]] == [
        ("Queen's Gambit", "D06", 2, 0.25),
        ("Sicilian Defense", "B20-B27", 2, 1.0),
    ]
    assert [(row["volume"], row["games"]) for row in everyone["by_volume"]] == [("B", 3), ("D", 2)]
    assert (paper["games"], paper["score_share"]) == (1, 0.5)
    for row in (rock, *rock["by_family"]):
        low, high = row["score_95"]
        assert 0 <= low <= row["score_share"] <= high <= 1


def test_only_the_books_moves_name_the_opening(tmp_path: Path, eco: EcoTable) -> None:
    (tmp_path / "games.pgn").write_text(GAMES[0])
    (found,), _ = read_opened_games([tmp_path / "games.pgn"], eco)
    # With the players' own moves it would be the dragon.
    assert found.line == EcoLine("B20", "Sicilian Defense")


def test_in_a_game_without_comments_all_moves_count(tmp_path: Path, eco: EcoTable) -> None:
    (tmp_path / "games.pgn").write_text(game("1", "mind", "rock", "1-0", "1. e4 c5 2. Nf3 g6"))
    (found,), _ = read_opened_games([tmp_path / "games.pgn"], eco)
    assert found.line == EcoLine("B27", "Sicilian Defense: Hyperaccelerated Dragon")


def test_an_opening_that_no_table_names_has_a_row_of_its_own(tmp_path: Path, eco: EcoTable) -> None:
    (table,) = scores(tmp_path, eco, [game("1.1", "mind", "rock", "1-0", "1. a3 a6 2. h3 {x}")])["against"]
    assert [(row["name"], row["eco"]) for row in table["by_family"]] == [("Unnamed", "")]


def test_what_cannot_be_used_is_counted_and_named(tmp_path: Path, eco: EcoTable) -> None:
    start = '[FEN "4k3/8/8/8/8/8/8/4K2R w - - 0 1"]'
    games = [
        GAMES[0],
        game("2.1", "mind", "rock", "1-0", "1. Kd2 {x}", start),
        game("3.1", "mind", "rock", "*", SICILIAN),
        game("4.1", "mind", "rock", "1-0", "1. e4 e4 2. Nf3 {x}"),
    ]
    figures = scores(tmp_path, eco, games)
    assert (figures["against"][0]["games"], figures["skipped"]) == (1, 3)
    reasons = [one["why"] for one in figures["skipped_games"]]
    assert "usual start position" in reasons[0]
    assert "no result" in reasons[1]
    assert all(f"{tmp_path / 'games.pgn'}:" in one["where"] for one in figures["skipped_games"])


def test_a_player_who_is_in_no_game_is_told_who_is(tmp_path: Path, eco: EcoTable) -> None:
    with pytest.raises(UserError, match=r"'scissors' plays in none .* are mind, paper, rock"):
        scores(tmp_path, eco, GAMES, "scissors")


def test_a_folder_without_games_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"no games\.pgn in the folder"):
        game_files([tmp_path])
    with pytest.raises(UserError, match="no file"):
        game_files([tmp_path / "nowhere.pgn"])
