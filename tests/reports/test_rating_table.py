"""The README's rating list is what the tool makes of the result in the tree, or says that there is none."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import chess.pgn
import pytest

from tabiya.files import open_text
from tabiya.reports import rating_table
from tabiya.reports.doc_tables import with_tables
from tabiya.reports.rating_figure import figure

ROOT = Path(__file__).resolve().parents[2]
RESULT = ROOT / "results" / "rating-list" / "result.json"


def line(name: str, rating: float | None, low: Any, high: Any, **more: Any) -> dict[str, Any]:
    return {
        "name": name,
        "rating": rating,
        "rating_95": [low, high],
        "anchor": False,
        "games": 1200,
        "score_share": 0.5,
    } | more


PLACE = f"<!-- {rating_table.MARK} -->\nold\n<!-- end of {rating_table.MARK} -->\n"
EXAMPLE: dict[str, Any] = {
    "games": 4321,
    "settings": {"pace": {"movetime": 0.1}},
    "ratings": {
        "players": [
            line("nnue", 2512.4, 2485.0, 2540.2),
            line("sf<1500>", 1500, 1500, 1500, anchor=True, as_if_free_95=[1462.0, 1518.0]),
            line("random", None, None, 210.0, score_share=0.0),
        ],
        "white_advantage": 31.2,
        "notes": ["random lost every game"],
    },
}


def test_the_readme_holds_what_the_tool_makes_of_the_result_in_the_tree() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    result = rating_table.read_result(RESULT)
    assert readme == with_tables(readme, {rating_table.MARK: rating_table.section(result)})
    if result is None:
        assert rating_table.NOT_PLAYED in readme
        assert not (ROOT / rating_table.FIGURE).exists()
    else:
        assert (ROOT / rating_table.FIGURE).read_text(encoding="utf-8") == figure(result)
        assert (RESULT.parent / "games.pgn.bz2").exists()


def test_a_row_has_the_interval_and_an_anchor_what_its_games_say() -> None:
    text = rating_table.section(EXAMPLE)
    assert "| [`nnue`](docs/nnue.md) | 2512 | 2485 to 2540 | 1,200 | 50.0 % |" in text
    assert "| sf<1500> | 1500 (given) | 1462 to 1518 |" in text
    assert "| [`random`](docs/players.md) |  | below 210 |" in text
    assert "4,321 games, 100 ms a move" in text
    assert "Random lost every game." in text


def test_a_rung_is_counted_and_has_no_row() -> None:
    players = [line("nnue", 2500, 2480, 2520, within=30), line("nnue-100", 1500, 1400, 1600, within=150)]
    text = rating_table.section(EXAMPLE | {"ratings": EXAMPLE["ratings"] | {"players": players}})
    assert "nnue-100" not in text
    assert "1 weaker settings that are rungs" in text


def test_the_tool_writes_table_figure_and_games_and_leaves_the_rest(tmp_path: Path) -> None:
    readme = tmp_path / "README.md"
    (tmp_path / "docs" / "pictures").mkdir(parents=True)
    readme.write_text(f"before\n{PLACE}after\n")
    (tmp_path / "result.json").write_text(json.dumps(EXAMPLE))
    (tmp_path / "games.pgn").write_text(
        '[White "a"]\n[Black "b"]\n[Result "1-0"]\n\n'
        "1. e4 e5 2. Qh5 {[%eval 0.35,12] [%emt 0:00:00.104]} 2... Nc6\n{[%emt 0:00:00.1]} 3. Bc4 Nf6\n"
        "4. Qxf7# {mate} 1-0\n\n"
    )
    assert rating_table.main([str(tmp_path / "result.json"), "--readme", str(readme)]) == 0
    text = readme.read_text()
    assert text.startswith("before\n")
    assert text.endswith("\nafter\n")
    assert rating_table.section(EXAMPLE) in text
    assert "old" not in text
    drawn = (tmp_path / rating_table.FIGURE).read_text()
    assert "sf&lt;1500&gt;" in drawn
    assert drawn.count("<circle") == 2
    with open_text(tmp_path / "games.pgn.bz2") as stream:
        kept = stream.read()
    assert "{" not in kept
    game = chess.pgn.read_game(io.StringIO(kept))
    assert game is not None
    assert not game.errors
    assert game.end().board().is_checkmate()


@pytest.mark.parametrize("content", ["{", "[]", '{"players": []}'])
def test_what_is_no_result_is_one_sentence_and_changes_nothing(
    content: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    readme = tmp_path / "README.md"
    readme.write_text(PLACE)
    (tmp_path / "result.json").write_text(content)
    assert rating_table.main([str(tmp_path / "result.json"), "--readme", str(readme)]) == 2
    assert "is no result" in capsys.readouterr().err
    assert "old" in readme.read_text()


def test_a_readme_without_marks_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "README.md").write_text("nothing here\n")
    assert rating_table.main([str(tmp_path / "none.json"), "--readme", str(tmp_path / "README.md")]) == 2
    assert "has no place for rating list" in capsys.readouterr().err
