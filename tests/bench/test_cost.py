"""Prices follow from measurements, and the page shows the prices of its file and no others."""

from __future__ import annotations

import copy
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tabiya.arena.game import Pace
from tabiya.bench.cost import Effort, main, measure, priced
from tabiya.bench.cost_measure import GameKind, read_training
from tabiya.bench.cost_tables import EVALUATIONS, MOVE_LABELS, POSITIONS, prices, tables, whole_sets
from tabiya.cli.common import progress
from tabiya.errors import UserError
from tabiya.reports.doc_tables import with_tables, write_tables

ROOT = Path(__file__).resolve().parents[2]
COSTS = ROOT / "results" / "costs.json"
PAGE = ROOT / "docs" / "scaling.md"
FAKE = ROOT / "tests" / "data" / "fake_teacher.py"

MADE_UP: dict[str, Any] = {
    "input": "nowhere",
    "load_average": 0.0,
    "date": "2000-01-01",
    "machine": {"cores": 2, "processor": "a processor"},
    "labels": {
        # 10 positions in 0.02 s (the median): 2 ms each.
        "value-5": {
            "teacher": "T",
            "chunk": 1000,
            "positions": 10,
            "bytes": 20,
            "core_seconds": [0.01, 0.02, 0.09],
            "wall_seconds": [9, 9, 9],
        },
        # 36 ms each, 100 bytes each.
        "moves-6": {
            "teacher": "T",
            "chunk": 50,
            "positions": 5,
            "bytes": 500,
            "core_seconds": [0.18],
            "wall_seconds": [9],
        },
        "moves-12": {
            "teacher": "T",
            "chunk": 10,
            "positions": 2,
            "bytes": 180,
            "core_seconds": [7.2],
            "wall_seconds": [9],
        },
    },
    "games": {
        "nnue-10000": {
            "clock": False,
            "games": 4,
            "bytes": 8000,
            "core_seconds": [7.2],
            "wall_seconds": [99.0],
        },
        "nnue-clock": {
            "clock": True,
            "games": 4,
            "bytes": 8000,
            "core_seconds": [1.0],
            "wall_seconds": [14.4],
        },
    },
    # 1 µs and 48 bytes each.
    "extraction": {"positions": 1000, "bytes": 48_000, "core_seconds": [0.001], "wall_seconds": [9]},
    "training": {
        "resnet": {"file": "r.json", "network": "N", "positions_per_second": [1.0, 50_000.0, 90_000.0]},
        "transformer": {"file": "t.json", "network": "N", "positions_per_second": [25_000.0]},
        "nnue": {"file": "n.json", "network": "N", "positions_per_second": [30_000_000.0]},
        "nnue-streamed": {"file": "n.json", "network": "N", "positions_per_second": [10_000_000.0]},
    },
}


def test_prices_are_the_median_second_times_the_amount() -> None:
    found = prices(MADE_UP)
    value, moves, deep = found["million_labels"]
    assert value.core_hours == pytest.approx(1e6 * 0.002 / 3600)
    assert value.bytes == pytest.approx(2e6)
    assert moves.core_hours == pytest.approx(10.0)
    assert moves.bytes == pytest.approx(1e8)
    assert deep.core_hours == pytest.approx(1000.0)
    by_nodes, by_clock = found["thousand_games"]
    assert by_nodes.core_hours == pytest.approx(0.5), "by the processor"
    assert by_clock.core_hours == pytest.approx(1.0), "by the clock on the wall"
    assert by_nodes.bytes == pytest.approx(2e6)
    training = {price.name: price.gpu_hours for price in found["billion_training_positions"]}
    assert training["resnet"] == pytest.approx(1e9 / 50_000 / 3600)


def test_whole_sets_are_so_many_of_the_same() -> None:
    assert (POSITIONS, MOVE_LABELS, EVALUATIONS) == (70_000_000, 2_500_000, 48_000_000_000)
    found = {price.name: price for price in whole_sets(MADE_UP)}
    extracted = found["70 million positions: extracted from games"]
    assert extracted.core_hours == pytest.approx(70 / 3600)
    assert extracted.bytes == pytest.approx(70e6 * 48)
    assert found["2.5 million positions: all-move labels, depth 6"].core_hours == pytest.approx(25.0)
    assert found["2.5 million positions: all-move labels, depth 6"].bytes == pytest.approx(2.5e8)
    assert found["70 million positions: one pass of `resnet`"].gpu_hours == pytest.approx(70e6 / 5e4 / 3600)
    many = found["48 billion evaluations: extracted, value labels, depth 5"]
    assert many.core_hours == pytest.approx(48e9 * 0.002001 / 3600)
    assert many.bytes == pytest.approx(48e9 * 50)
    passing = found["48 billion evaluations: one pass of `nnue`, positions streamed from disk"]
    assert passing.core_hours is None
    assert passing.gpu_hours == pytest.approx(4800 / 3600)


def test_the_tables_show_prices_and_divide_them() -> None:
    written = tables(MADE_UP)
    assert "| value labels, depth 5 | 10 × 3 | 2 (1 to 9) | 0.556 | 2 MB |" in written["measured costs"]
    assert (
        "| `nnue` against itself, 10,000 nodes a move | 4 | 1.8 | 0.5 | 2 MB |" in written["measured costs"]
    )
    assert "| `resnet` | N | `results/r.json` | 50,000 | 5.56 |" in written["measured costs"]
    extrapolated = written["extrapolated costs"].splitlines()
    assert "| 2.5 million positions: all-move labels, depth 6 | 25 |  | 250 MB |" in extrapolated
    assert (
        "| 2.5 million positions: all-move labels, depth 6 | 25 h | 2.5 h | 1.5 min |  |  |  |"
        in extrapolated
    )
    assert extrapolated[-1] == (
        "Chunks that 1,000 cores finish in a second: 500 of value labels, depth 5, "
        "556 of all-move labels, depth 6, 27.8 of all-move labels, depth 12."
    )
    streamed = "48 billion evaluations: one pass of `nnue`, positions streamed from disk"
    assert f"| {streamed} |  |  |  | 1.33 h | 10 min | 1.25 min |" in extrapolated


def test_the_page_shows_what_was_measured() -> None:
    page = PAGE.read_text()
    figures = json.loads(COSTS.read_text())
    assert page == with_tables(page, tables(figures)), "python -m tabiya.bench.cost --from … --write-docs"
    assert priced(figures) == figures, "the prices in the file follow from its measurements"


def test_the_rates_of_training_are_those_of_their_files() -> None:
    kept = json.loads(COSTS.read_text())["training"]
    assert kept == read_training(ROOT / "results")


def test_everything_is_measured_once(tmp_path: Path) -> None:
    kinds = [
        GameKind("quick", ("random", "random"), Pace(depth=1)),
        GameKind("clock", ("random", "random"), Pace(clock=5.0), 0.5),
    ]
    effort = Effort(positions=30, all_moves=3, deep=1, games=2, rounds=2)
    teacher = f"{sys.executable} {FAKE}"
    with progress("", None) as meter:
        found = measure(effort, teacher, None, ROOT / "results", meter, kinds)
    assert [entry["games"] for entry in found["games"].values()] == [2, 1]
    assert [entry["clock"] for entry in found["games"].values()] == [False, True]
    value, moves, deep = found["labels"].values()
    assert (value["positions"], value["scores"], value["bytes"]) == (30, 30, 60)
    assert (moves["positions"], deep["positions"]) == (3, 1)
    assert moves["bytes"] == 64 + 33 * 3 + 2 * moves["scores"]
    assert {len(entry["core_seconds"]) for entry in (value, moves, deep, found["extraction"])} == {2}
    assert found["extraction"]["bytes"] == 48 * found["extraction"]["positions"]
    assert all(seconds > 0 for seconds in moves["core_seconds"])
    assert "on disk" in tables(found)["extrapolated costs"]


def test_a_page_is_written_from_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    costs, page = tmp_path / "costs.json", tmp_path / "page.md"
    costs.write_text(json.dumps(MADE_UP))
    marks = ("measured costs", "extrapolated costs")
    page.write_text(
        "Before\n" + "".join(f"<!-- {m} -->\nold\n<!-- end of {m} -->\n" for m in marks) + "After\n"
    )
    words = ["--from", str(costs), "--out", str(costs), "--write-docs", "--page", str(page), "--json"]
    words += ["--results", str(tmp_path / "nowhere")]
    assert main(words) == 0
    assert json.loads(capsys.readouterr().out) == json.loads(costs.read_text()) == priced(MADE_UP)
    written = page.read_text()
    assert written.startswith("Before\n")
    assert written.endswith("After\n")
    assert "old" not in written
    assert tables(MADE_UP)["extrapolated costs"] in written
    assert main(words) == 0
    assert page.read_text() == written, "twice is once"


def test_what_is_missing_is_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(UserError, match=r"resnet-train-speed.json has no fed_per_second"):
        read_training(tmp_path)
    for words, sentence in (
        (["--from", str(tmp_path / "none.json")], "no file "),
        (["--games", "0"], "--games must be at least 1, got 0"),
        (["--teacher", "no-such-engine"], "no engine 'no-such-engine'"),
    ):
        assert main(words) == 2
        said = capsys.readouterr().err
        assert sentence in said
        assert said.count("\n") == 1
    damaged = copy.deepcopy(MADE_UP)
    del damaged["labels"]["value-5"]
    (tmp_path / "damaged.json").write_text(json.dumps(damaged))
    assert main(["--from", str(tmp_path / "damaged.json")]) == 2
    assert "holds no costs" in capsys.readouterr().err


def test_a_page_without_marks_is_left_as_it_is(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("nothing here\n")
    with pytest.raises(UserError, match="has no place for price"):
        write_tables(page, {"price": "| 5 |"})
    assert page.read_text() == "nothing here\n"
    with pytest.raises(UserError, match="no page "):
        write_tables(tmp_path / "none.md", {})


def test_rates_of_training_are_read_anew_with_old_figures(tmp_path: Path) -> None:
    costs, page = tmp_path / "costs.json", tmp_path / "page.md"
    costs.write_text(json.dumps(MADE_UP))
    assert main(["--from", str(costs), "--out", str(costs), "--results", str(ROOT / "results")]) == 0
    found = json.loads(costs.read_text())
    assert found["training"] == read_training(ROOT / "results") != MADE_UP["training"]
    assert found["labels"] == MADE_UP["labels"]
    assert not page.exists()
