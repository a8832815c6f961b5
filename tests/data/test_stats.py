"""The figures of a data folder, each checked on records whose answer is known."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tabiya import _core
from tabiya.data import stats as stats_module
from tabiya.data.shards import FORMAT, NO_EVAL, NO_RESULT, RECORD, VERSION, ShardFolder
from tabiya.data.stats import folder_stats
from tabiya.errors import UserError
from tabiya.reports.bars import bar
from tabiya.reports.data_plot import plot_stats


def records_of(count: int, seed: int = 1) -> np.ndarray:
    """Distinct positions; ratings, plies and the rest for the test to fill in."""
    records = np.zeros(count, RECORD)
    packed = _core.random_positions(3 * count, seed, 120)
    _, first = np.unique(_core.position_keys(packed), return_index=True)
    records["packed"] = packed[np.sort(first)[:count]]
    records["move"] = 1
    records["eval"] = NO_EVAL
    return records


def a_folder(path: Path, train: Any, validation: Any, shards: int = 1, **manifest: Any) -> ShardFolder:
    path.mkdir()
    entries = []
    for number, (some, others) in enumerate(
        zip(np.array_split(train, shards), np.array_split(validation, shards), strict=True)
    ):
        (path / f"s{number}.train.pos").write_bytes(some.tobytes())
        (path / f"s{number}.validation.pos").write_bytes(others.tobytes())
        entries.append(
            {"name": f"s{number}", "source": "a.pgn", "train": len(some), "validation": len(others)}
        )
    head = {"format": FORMAT, "version": VERSION, "complete": True, "shards": entries}
    (path / "manifest.json").write_text(json.dumps(head | manifest))
    return ShardFolder.open(path)


NONE = np.zeros(0, RECORD)


def test_results_plies_and_ratings_are_counted(tmp_path: Path) -> None:
    records = records_of(10)
    records["result"] = [1] * 4 + [0] * 3 + [-1] * 2 + [NO_RESULT]
    records["ply"] = [0, 9, 10, 19, 20, 30, 30, 30, 30, 200]
    records["white_elo"] = [2000] * 5 + [2450] * 4 + [0]
    records["black_elo"] = [2100] * 5 + [2399] * 4 + [2500]
    found = folder_stats(a_folder(tmp_path / "f", records[:8], records[8:]))
    assert found["positions"] == 10
    assert found["splits"] == {"train": 8, "validation": 2}
    assert {name: entry["positions"] for name, entry in found["results"].items()} == {
        "white": 4,
        "draw": 3,
        "black": 2,
        "unknown": 1,
    }
    assert found["results"]["white"]["share"] == 0.4
    assert found["plies"]["histogram"][:4] == [
        {"from": 0, "to": 10, "positions": 2},
        {"from": 10, "to": 20, "positions": 2},
        {"from": 20, "to": 30, "positions": 1},
        {"from": 30, "to": 40, "positions": 4},
    ]
    assert found["plies"]["histogram"][-1] == {"from": 200, "to": 210, "positions": 1}
    assert (found["plies"]["least"], found["plies"]["mean"], found["plies"]["greatest"]) == (0, 37.8, 200)
    ratings = found["ratings"]
    assert ratings["histogram"] == [
        {"from": 2000, "to": 2100, "positions": 5},
        {"from": 2100, "to": 2200, "positions": 0},
        {"from": 2200, "to": 2300, "positions": 0},
        {"from": 2300, "to": 2400, "positions": 0},
        {"from": 2400, "to": 2500, "positions": 4},
    ]
    assert (ratings["known"], ratings["unknown"], ratings["least"], ratings["greatest"]) == (9, 1, 2050, 2424)


def test_evaluations_mates_and_missing_moves_are_counted(tmp_path: Path) -> None:
    records = records_of(6)
    records["eval"] = [0, -120, 9998, -9997, NO_EVAL, -32768]
    records["move"][:2] = 0
    found = folder_stats(a_folder(tmp_path / "f", records, NONE))
    assert found["evaluations"] == {"present": 5, "mates": 3, "share": round(5 / 6, 6)}
    assert found["without_move"] == 2


def test_tiers_carry_the_manifest_s_names(tmp_path: Path) -> None:
    records = records_of(6)
    records["tier"] = [0, 1, 1, 2, 2, 3]
    found = folder_stats(
        a_folder(tmp_path / "f", records, NONE, options={"tiers": [{"name": "elite"}, {"name": "master"}]})
    )
    assert [(entry["name"], entry["positions"]) for entry in found["tiers"]] == [
        ("none", 1),
        ("elite", 2),
        ("master", 2),
        ("tier 3", 1),
    ]


@pytest.mark.parametrize("shards", [1, 3])
def test_a_game_is_counted_once_though_a_shard_or_a_chunk_ends_in_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shards: int
) -> None:
    monkeypatch.setattr(stats_module, "CHUNK", 4)
    records = records_of(30)
    records["game"] = np.arange(30) // 7
    records["game"][-1] = 0xFFFFFFFF
    assert folder_stats(a_folder(tmp_path / "f", records, NONE, shards))["games"] == 5


def test_duplicates_are_counted_by_position_whatever_the_counters(tmp_path: Path) -> None:
    fens = _core.unpack_fens(records_of(20)["packed"].copy())
    other_counters = [" ".join([*fen.split()[:4], "0", "77"]) for fen in fens]
    train = np.zeros(30, RECORD)
    train["packed"] = _core.pack_fens(fens[:15] + other_counters[:15])
    validation = np.zeros(7, RECORD)
    validation["packed"] = _core.pack_fens(fens[13:])
    found = folder_stats(a_folder(tmp_path / "f", train, validation))["duplicates"]
    assert found == {
        "method": "exact",
        "one_in": 1,
        "looked_at": 37,
        "distinct": 20,
        "duplicates": 17,
        "share": round(17 / 37, 6),
        "in_both_splits": 2,
    }


def test_a_sample_drawn_by_key_estimates_the_duplicates(tmp_path: Path) -> None:
    kinds = records_of(4_000)
    train = np.concatenate([kinds[:3_200], kinds[:1_600]])
    folder = a_folder(tmp_path / "f", train, kinds[3_000:])
    exact, sampled = folder_stats(folder)["duplicates"], folder_stats(folder, exact_keys=3_000)["duplicates"]
    assert (exact["method"], exact["distinct"], exact["duplicates"], exact["in_both_splits"]) == (
        "exact",
        4_000,
        1_800,
        200,
    )
    assert (sampled["method"], sampled["one_in"]) == ("sampled", 2)
    assert sampled["looked_at"] < 3_500
    assert sampled["share"] == pytest.approx(exact["share"], abs=0.03)
    assert sampled["distinct"] == pytest.approx(4_000, rel=0.1)


def test_chunks_do_not_show_in_the_figures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    records = records_of(100)
    records["ply"] = np.arange(100)
    records["white_elo"] = records["black_elo"] = 1500 + 10 * np.arange(100)
    folder = a_folder(tmp_path / "f", records[:90], records[90:], shards=2)
    whole = folder_stats(folder)
    monkeypatch.setattr(stats_module, "CHUNK", 7)
    assert folder_stats(folder) == whole


def test_an_empty_folder_has_figures_too(tmp_path: Path) -> None:
    found = folder_stats(a_folder(tmp_path / "f", NONE, NONE))
    assert (found["positions"], found["games"], found["duplicates"]["share"]) == (0, 0, None)
    assert found["ratings"]["histogram"] == found["plies"]["histogram"] == found["tiers"] == []


def test_labels_are_listed_with_how_much_they_label(tmp_path: Path) -> None:
    folder = a_folder(tmp_path / "f", records_of(4), NONE)
    assert folder_stats(folder)["labels"] == []
    labels = folder.path / "labels"
    labels.mkdir()
    np.array([12, NO_EVAL, -40, 0], "<i2").tofile(labels / "s0.train.i16")
    (labels / "notes.txt").write_text("by hand")
    assert folder_stats(folder)["labels"] == [
        {"file": "notes.txt", "bytes": 7, "labelled": None},
        {"file": "s0.train.i16", "bytes": 8, "labelled": 3},
    ]


@pytest.mark.parametrize(("ending", "head"), [("png", b"\x89PNG"), ("svg", b"<?xml")])
def test_the_plot_is_a_picture_of_the_kind_that_its_name_says(
    tmp_path: Path, ending: str, head: bytes
) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib, the extra `plot`, is not installed")
    records = records_of(50)  # none of them rated: one of the four drawings is empty
    records["ply"] = np.arange(50)
    picture = tmp_path / f"picture.{ending}"
    plot_stats(folder_stats(a_folder(tmp_path / "f", records, NONE)), picture)
    assert picture.read_bytes().startswith(head)
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["f", picture.name]


def test_a_plot_without_matplotlib_says_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(UserError, match=r"install it with `pip install 'tabiya\[plot\]'`"):
        plot_stats({}, tmp_path / "picture.png")


def test_a_plot_of_another_kind_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"a plot is a \.png or a \.svg file"):
        plot_stats({}, tmp_path / "picture.jpeg")


@pytest.mark.parametrize(
    ("value", "drawn"), [(0, ""), (8, "████"), (4, "██"), (3, "█▌"), (0.001, "▏"), (99, "████")]
)
def test_a_bar_is_as_long_as_its_share(value: float, drawn: str) -> None:
    assert bar(value, 8, 4) == drawn
