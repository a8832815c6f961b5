"""What feature sets hold and cost, on two short games."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tabiya.cli import main
from tabiya.errors import UserError
from tabiya.minds.nnue.feature_report import draw, measure

GAMES = """[Result "1-0"]

1. e4 e5 2. Bc4 Nc6 3. Qh5 Nf6 4. Qxf7# 1-0

[Result "*"]

1. e4 e5 2. Ke2 Ke7 *
"""


@pytest.fixture
def games(tmp_path: Path) -> Path:
    path = tmp_path / "games.pgn"
    path.write_text(GAMES)
    return path


def test_the_pieces_on_their_squares_are_counted_exactly(games: Path) -> None:
    use = measure("ALL", games, games=10, l1=16, l2=8)
    assert (use.games, use.positions, use.size) == (2, 8 + 5, 768)
    # 32 pieces in all positions but the last of the first game, where a pawn is gone.
    assert use.active == pytest.approx((12 * 32 + 31) / 13)
    assert use.most_active == 32
    # Eleven moves, one of them a capture: a piece comes and goes with each, one more goes with that.
    assert (use.added, use.removed) == pytest.approx((1.0, 12 / 11))
    assert use.refresh_rate == 0.0
    # Pawns never stand on the outer ranks: 2 x 16 features.
    assert use.dead == 32
    assert use.evaluations_per_second is not None
    assert use.evaluations_per_second > 0


def test_a_king_move_refreshes_only_its_own_view(games: Path) -> None:
    use = measure("KING-ALL", games, games=10, l1=16, l2=8)
    assert use.refresh_rate == pytest.approx(2 / (2 * 11))
    assert use.size == 64 * 768


def test_an_axis_feature_changes_only_with_its_first_and_last_piece(games: Path) -> None:
    use = measure("RANK*ROLE*COLOR", games, games=1, l1=16, l2=8)
    assert use.added < 1.0
    assert use.active < 16


def test_the_number_of_games_is_a_limit(games: Path) -> None:
    assert measure("ALL", games, games=1, l1=16, l2=8).positions == 8


def test_a_set_too_large_to_time_is_still_counted(games: Path) -> None:
    use = measure("PIECE-PIECE", games, games=1, l1=512, l2=8)
    assert use.updates_per_second is None
    assert use.active > 32


@pytest.mark.parametrize(
    ("expression", "sentence"), [("FILLE", "FILLE"), ("ALL*", "ALL"), ("", "expression")]
)
def test_a_wrong_expression_is_refused(games: Path, expression: str, sentence: str) -> None:
    with pytest.raises(UserError, match=sentence):
        measure(expression, games, games=1, l1=16, l2=8)


def test_missing_or_empty_games_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot be read: No such file"):
        measure("ALL", tmp_path / "no.pgn", games=1, l1=16, l2=8)
    empty = tmp_path / "empty.pgn"
    empty.write_text("")
    with pytest.raises(UserError, match="no game"):
        measure("ALL", empty, games=1, l1=16, l2=8)


def test_the_command_prints_a_table_or_json(games: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["lab", "features", "ALL", "FILE*ROLE", "--pgn", str(games), "--l1", "16", "--l2", "8"]
    assert main(words) == 0
    table = capsys.readouterr().out
    assert "FILE*ROLE" in table
    assert "13 positions of 2 games" in table
    assert main([*words, "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert [each["expression"] for each in report["sets"]] == ["ALL", "FILE*ROLE"]
    assert report["sets"][1]["size"] == 48


def test_the_command_refuses_a_plot_of_no_known_kind(games: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lab", "features", "ALL", "--pgn", str(games), "--plot", "features.txt"]) == 2
    assert "features.txt" in capsys.readouterr().err


def test_the_plot_is_a_picture(games: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    picture = tmp_path / "features.svg"
    draw([measure("ALL", games, games=1, l1=16, l2=8)], picture)
    assert "<svg" in picture.read_text()
