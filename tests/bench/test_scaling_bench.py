"""What an executor costs, as it is measured; the figures themselves are nobody's claim here."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tabiya.bench.scaling import compared, jobs, main, measure, tables
from tabiya.errors import UserError
from tabiya.reports.doc_tables import with_tables

ROOT = Path(__file__).resolve().parents[2]
FAKE = ROOT / "tests" / "data" / "fake_teacher.py"
FIGURES = ROOT / "results" / "scaling-ray.json"
PAGE = ROOT / "docs" / "scaling.md"


def test_both_executors_do_all_units_of_every_job() -> None:
    figures = measure("local", 2, 1, jobs(2, f"{sys.executable} {FAKE}", 500_000))["jobs"]
    assert figures["empty"]["units"] == 40
    assert figures["perft"]["units"] == 2
    assert figures["labels"]["counted"] == "positions"
    for name in ("empty", "perft", "labels"):
        assert set(figures[name]["rate"]) == {"local", "there"}
        assert figures[name]["throughput_ratio"]["median"] > 0


def test_ratios_are_taken_turn_by_turn() -> None:
    # A slow minute hits both executors of its turn, and neither the ratio nor its spread.
    found = compared(80, 8, 2, [1.0, 10.0, 1.0], [1.25, 12.5, 1.25])
    assert found["throughput_ratio"] == {"median": 0.8, "least": 0.8, "most": 0.8}
    assert found["overhead_ms_per_unit"] == {"median": 62.5, "least": 62.5, "most": 625.0}
    assert found["rate"] == {"local": 80.0, "there": 64.0}


def test_a_file_of_figures_and_a_page_are_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    figures, page = tmp_path / "new" / "scaling.json", tmp_path / "page.md"
    page.write_text("<!-- executor costs -->\n<!-- end of executor costs -->\n")
    small = ["--on", "local", "--units", "2", "--rounds", "2", "--out", str(figures)]
    assert main([*small, "--write-docs", "--page", str(page)]) == 0
    shown = capsys.readouterr().out
    kept = json.loads(figures.read_text())
    assert list(kept["jobs"]) == ["empty", "perft"]
    assert kept["machine"]["cores"] >= 1
    assert len(kept["jobs"]["perft"]["seconds"]["there"]) == 2
    assert shown.strip() in page.read_text()
    assert main(["--from", str(figures)]) == 0
    assert capsys.readouterr().out == shown


def test_the_page_shows_what_was_measured() -> None:
    page = PAGE.read_text()
    assert page == with_tables(page, tables(json.loads(FIGURES.read_text())))


def test_a_teacher_that_is_not_there_is_named() -> None:
    with pytest.raises(UserError, match="no engine 'no-such-engine'"):
        jobs(2, "no-such-engine", 100)


def test_a_wrong_word_is_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "empty.json").write_text("{}")
    for words, sentence in (
        (["--rounds", "0"], "--rounds must be at least 1, got 0"),
        (["--from", str(tmp_path / "empty.json")], "holds no figures"),
    ):
        assert main(words) == 2
        said = capsys.readouterr().err
        assert sentence in said
        assert said.count("\n") == 1
