"""`tabiya data label` and `tabiya data curate` as a user meets them."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from tabiya.cli import main
from tabiya.data.labels import load_move_labels, read_value_labels

FAKE = Path(__file__).parents[1] / "data" / "fake_teacher.py"
FENS = ["7k/7p/8/8/8/8/8/K7 w - - 0 1", "7k/8/8/8/8/8/1r6/K7 w - - 0 1", "7k/8/8/8/8/8/R7/K7 b - - 0 1"]


@pytest.fixture
def teacher(tmp_path: Path) -> str:
    script = tmp_path / "teacher"
    script.write_text(f"#!/bin/sh\nexec '{sys.executable}' '{FAKE}'\n")
    script.chmod(0o755)
    return str(script)


@pytest.fixture
def fens(tmp_path: Path) -> Path:
    (tmp_path / "p.fen").write_text("\n".join(FENS) + "\n")
    return tmp_path / "p.fen"


def refused(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """The one sentence with which the program refuses."""
    assert main(["data", *words]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    return captured.err


def test_values_with_their_counts_as_json(
    tmp_path: Path, teacher: str, fens: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["data", "label", str(fens), "--teacher", teacher, "--out", str(tmp_path), "--json"]
    assert main([*words, "--depth", "3", "--hash", "2", "--option", "Taste=sour"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["positions"], report["labelled"]) == (3, 3)
    [file] = report["files"]
    assert file["teacher"] == "Fake Teacher 1"
    assert file["options"] == {"Hash": "2", "Taste": "sour"}
    assert file["limit"] == {"depth": 3}
    assert len(read_value_labels(file["file"])) == 3
    assert json.loads((tmp_path / "p.i16.json").read_text())["complete"] is True


def test_a_second_run_has_nothing_to_do(
    tmp_path: Path, teacher: str, fens: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["data", "label", str(fens), "--teacher", teacher, "--out", str(tmp_path), "--json"]
    reports = []
    for _ in range(2):
        assert main([*words, "--all-moves"]) == 0
        reports.append(json.loads(capsys.readouterr().out)["files"][0])
    assert [report["newly_labelled"] for report in reports] == [3, 0]
    assert [report["labelled"] for report in reports] == [3, 3]


def test_max_counts_over_all_sources(
    tmp_path: Path, teacher: str, fens: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other, unused = tmp_path / "q.fen", tmp_path / "r.fen"
    other.write_text(fens.read_text())
    unused.write_text(fens.read_text())
    sources = [str(fens), str(other), str(unused)]
    assert main(["data", "label", *sources, "--teacher", teacher, "--out", str(tmp_path), "--max", "4"]) == 0
    assert capsys.readouterr().out.count("\n") == 2
    assert int(np.count_nonzero(read_value_labels(tmp_path / "q.i16") != 32767)) == 1
    assert not (tmp_path / "r.i16").exists()


def test_mistakes_are_one_sentence_each(
    tmp_path: Path, teacher: str, fens: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    label = ["label", str(fens), "--teacher", teacher, "--out", str(tmp_path)]
    assert "no engine 'no-such-engine'" in refused(capsys, "label", str(fens), "--teacher", "no-such-engine")
    assert "NAME=VALUE, got 'Hash'" in refused(capsys, *label, "--option", "Hash")
    assert "--max must be at least 1" in refused(capsys, *label, "--max", "0")
    assert "depth must be at least 1" in refused(capsys, *label, "--depth", "-3")
    assert "counts milliseconds" in refused(capsys, *label, "--movetime", "0.1")
    assert "two sources" in refused(capsys, "label", str(fens), *label[1:])
    assert "no such file" in refused(capsys, "label", str(tmp_path / "gone.pgn"), "--teacher", teacher)
    assert "no manifest.json" in refused(capsys, "label", str(tmp_path), "--teacher", teacher)
    assert not (tmp_path / "p.i16").exists()


def test_a_program_that_is_no_engine_is_named(
    tmp_path: Path, fens: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = tmp_path / "mute"
    script.write_text("#!/bin/sh\nexit 0\n")
    script.chmod(0o755)
    assert "mute" in refused(capsys, "label", str(fens), "--teacher", str(script), "--out", str(tmp_path))


def test_a_folder_that_cannot_be_written_is_named(
    tmp_path: Path, teacher: str, fens: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    out = tmp_path / "file" / "labels"
    assert str(tmp_path / "file") in refused(
        capsys, "label", str(fens), "--teacher", teacher, "--out", str(out)
    )


def test_hard_positions_by_gap_and_by_player(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # The kings' three moves; the rook is taken by the only move; Black's king has three.
    labels = [f"{FENS[0]}\t0 500 0", f"{FENS[1]}\t0", f"{FENS[2]}\t0 0 0"]
    (tmp_path / "m.tsv").write_text("\n".join(labels) + "\n")
    words = ["data", "curate", str(tmp_path / "m.tsv"), "--json", "--out"]
    assert main([*words, str(tmp_path / "gap.moves"), "--gap", "0.3"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["positions"], report["by_gap"], report["hard"]) == (3, 1, 1)
    assert load_move_labels(tmp_path / "gap.moves")[2].tolist() == [0, 500, 0]
    assert main([*words, str(tmp_path / "player.fen"), "--player", "random", "--loss", "0.3"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["player"] == "random"
    assert report["hard"] == report["by_loss"] <= 1
    assert json.loads((tmp_path / "player.fen.json").read_text()) == report


def test_curates_mistakes_are_one_sentence_each(
    tmp_path: Path, fens: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = ["--out", str(tmp_path / "h.fen")]
    (tmp_path / "m.tsv").write_text(f"{FENS[0]}\t0 500 0\n")
    source = str(tmp_path / "m.tsv")
    assert "--gap is a share" in refused(capsys, "curate", source, *out, "--gap", "1.5")
    assert "name one with --player" in refused(capsys, "curate", source, *out, "--loss", "0.5")
    assert "give them with --labels" in refused(capsys, "curate", str(fens), *out)
    assert "no such file" in refused(capsys, "curate", str(tmp_path / "gone.tsv"), *out)
    assert "unknown player 'turnig'" in refused(capsys, "curate", source, *out, "--player", "turnig")
    assert "ends in" in refused(capsys, "curate", source, "--out", str(tmp_path / "h.pdf"))
    assert "give them with --labels" in refused(capsys, "curate", str(tmp_path), *out, "--gap", "0.1")
    assert not (tmp_path / "h.fen").exists()


def test_choices_make_a_folder_that_goes_on(
    tmp_path: Path, teacher: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "games.pgn").write_text('[Event "x"]\n\n1. e4 e5 2. Nf3 Nc6 3. Bb5 a6 *\n')
    games, out = str(tmp_path / "games"), str(tmp_path / "choices")
    assert main(["data", "extract", str(tmp_path / "games.pgn"), "--out", games]) == 0
    capsys.readouterr()
    words = ["data", "choose", games, "--teacher", teacher, "--out", out, "--nodes", "2000"]
    assert main([*words, "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    # A million are drawn, and there are six: each of them once.
    assert report["positions"] == 6
    assert main(words) == 0
    assert f"{out}: 6 moves chosen by Fake Teacher 1" in capsys.readouterr().out
    assert "was begun with limit" in refused(capsys, *words[1:-1], "3000")
    assert "--men is two numbers from 2 to 32, such as 12-26, got '26-12'" in refused(
        capsys, *words[1:], "--men", "26-12"
    )
    assert "no such file or folder" in refused(
        capsys, "choose", str(tmp_path / "gone"), "--teacher", teacher, "--out", out
    )
