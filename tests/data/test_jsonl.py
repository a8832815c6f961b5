"""Positions as lines of JSON: what goes out comes back in, and a bad line costs only itself."""

from __future__ import annotations

import bz2
import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from tabiya import _core
from tabiya.data import jsonl
from tabiya.data.jsonl import NO_GAME, NO_MOVE, export_positions, import_positions
from tabiya.data.shards import FORMAT, NO_EVAL, NO_RESULT, RECORD, VERSION, ShardFolder
from tabiya.errors import UserError

START = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"
EN_PASSANT = "rnbqkbnr/ppp1p1pp/8/3pPp2/8/8/PPPP1PPP/RNBQKBNR w KQkq f6 0 3"


def some_records(count: int, seed: int) -> np.ndarray:
    """Records whose every field varies, the unknown values among them."""
    generator = np.random.default_rng(seed)
    records = np.zeros(count, RECORD)
    records["packed"] = _core.random_positions(count, seed, 80)
    records["packed"][:, 27] = generator.integers(0, 3, count)
    for record in records:
        legal = _core.Board.from_packed(record["packed"].tobytes()).legal_moves()
        record["move"] = _core.uci_to_code(str(generator.choice(legal))) if legal else NO_MOVE
    records["eval"] = generator.choice([-9995, -312, 0, 45, 9998, NO_EVAL], count)
    records["white_elo"] = generator.choice([0, 1500, 2830], count)
    records["black_elo"] = generator.choice([0, 1400, 2795], count)
    records["game"] = np.sort(generator.integers(0, 1 + count // 10, count))
    records["game"][-1:] = NO_GAME
    records["ply"] = generator.integers(0, 300, count)
    records["result"] = generator.choice([1, 0, -1, NO_RESULT], count)
    records["tier"] = generator.integers(0, 5, count)
    return records


def a_folder(path: Path, shards: dict[str, tuple[np.ndarray, np.ndarray]]) -> ShardFolder:
    path.mkdir()
    entries = []
    for name, (train, validation) in shards.items():
        (path / f"{name}.train.pos").write_bytes(train.tobytes())
        (path / f"{name}.validation.pos").write_bytes(validation.tobytes())
        entries.append(
            {"name": name, "source": f"{name}.pgn", "train": len(train), "validation": len(validation)}
        )
    manifest = {"format": FORMAT, "version": VERSION, "complete": True, "shards": entries}
    (path / "manifest.json").write_text(json.dumps(manifest))
    return ShardFolder.open(path)


def all_of(folder: ShardFolder, split: Any) -> np.ndarray:
    return np.concatenate([np.zeros(0, RECORD), *(records for _, records in folder.shards(split))])


def lines_to(path: Path, *lines: Any) -> Path:
    path.write_text("".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines))
    return path


@pytest.fixture
def folder(tmp_path: Path) -> ShardFolder:
    shards = {
        "one": (some_records(300, 1), some_records(20, 2)),
        "two": (some_records(200, 3), some_records(0, 4)),
    }
    return a_folder(tmp_path / "folder", shards)


@pytest.mark.parametrize("ending", ["jsonl", "jsonl.gz", "jsonl.zst"])
def test_positions_exported_and_imported_again_are_the_same_records(
    folder: ShardFolder, tmp_path: Path, ending: str
) -> None:
    out = tmp_path / f"positions.{ending}"
    assert export_positions(folder, out, "all") == 520
    import_positions([out], tmp_path / "again")
    again = ShardFolder.open(tmp_path / "again")
    for split in ("train", "validation"):
        assert all_of(again, split).tobytes() == all_of(folder, split).tobytes()


def test_a_line_has_the_documented_keys(tmp_path: Path) -> None:
    records = np.zeros(1, RECORD)
    records["packed"] = _core.pack_fens([EN_PASSANT])
    records["move"] = _core.uci_to_code("e5f6")
    records["eval"], records["result"] = -35, 1
    records["white_elo"], records["black_elo"] = 2510, 2490
    records["game"], records["ply"], records["tier"] = 7, 4, 2
    folder = a_folder(tmp_path / "folder", {"a": (records, records[:0])})
    export_positions(folder, tmp_path / "out.jsonl")
    assert json.loads((tmp_path / "out.jsonl").read_text()) == {
        "fen": EN_PASSANT,
        "move": "e5f6",
        "result": 1,
        "eval": -35,
        "white_elo": 2510,
        "black_elo": 2490,
        "game": 7,
        "ply": 4,
        "tier": 2,
        "split": "train",
        "source": "a.pgn",
    }


def test_what_is_not_known_is_null_in_the_line(tmp_path: Path) -> None:
    import_positions([lines_to(tmp_path / "in.jsonl", {"fen": START, "split": "train"})], tmp_path / "folder")
    export_positions(ShardFolder.open(tmp_path / "folder"), tmp_path / "out.jsonl")
    line = json.loads((tmp_path / "out.jsonl").read_text())
    assert [name for name, value in line.items() if value is None] == [
        "move", "result", "eval", "white_elo", "black_elo", "game",
    ]  # fmt: skip


def test_only_the_split_that_was_asked_for_is_exported(folder: ShardFolder, tmp_path: Path) -> None:
    assert export_positions(folder, tmp_path / "out.jsonl", "validation") == 20
    splits = {json.loads(line)["split"] for line in (tmp_path / "out.jsonl").read_text().splitlines()}
    assert splits == {"validation"}


@pytest.mark.parametrize("maximum", [1, 299, 300, 301, 10_000])
def test_an_export_stops_at_its_maximum(folder: ShardFolder, tmp_path: Path, maximum: int) -> None:
    count = export_positions(folder, tmp_path / "out.jsonl", "train", maximum)
    assert count == min(500, maximum) == len((tmp_path / "out.jsonl").read_text().splitlines())


def test_batches_do_not_show_in_the_export(
    folder: ShardFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    export_positions(folder, tmp_path / "whole.jsonl", "all", 400)
    monkeypatch.setattr(jsonl, "BATCH", 7)
    export_positions(folder, tmp_path / "small.jsonl", "all", 400)
    assert (tmp_path / "small.jsonl").read_bytes() == (tmp_path / "whole.jsonl").read_bytes()


def test_an_export_that_fails_leaves_the_older_file_and_no_other(
    folder: ShardFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out" / "positions.jsonl"
    out.parent.mkdir()
    out.write_text("older")

    def full_disk(_count: int) -> None:
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space left"):
        export_positions(folder, out, report=full_disk)
    assert [file.name for file in out.parent.iterdir()] == ["positions.jsonl"]
    assert out.read_text() == "older"


def test_an_export_into_a_folder_is_refused(folder: ShardFolder, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="is a folder: --out must name a file"):
        export_positions(folder, tmp_path)


# line, and what the manifest says of it
BAD_LINES: list[tuple[Any, str]] = [
    ("{", "not JSON"),
    ("[" * 100_000, "not JSON"),
    ("[]", "must be a JSON object"),
    ({"move": "e2e4"}, "the fen is missing"),
    ({"fen": 3}, "fen must be text"),
    ({"fen": "8/8/8/8/8/8/8/8 w - - 0 1"}, ""),
    ({"fen": "no chess"}, ""),
    ({"fen": "\ud800"}, ""),
    ({"fen": START, "move": "e2e5"}, "illegal move e2e5 in rnbqkbnr/"),
    ({"fen": START, "move": "knight"}, "knight"),
    ({"fen": START, "move": ""}, ""),
    ({"fen": START, "result": 2}, "result must be 1, 0 or -1"),
    ({"fen": START, "result": True}, "result must be"),
    ({"fen": START, "result": [1]}, "result must be"),
    ({"fen": START, "eval": 32767}, "eval must be a whole number from -32768 to 32766"),
    ({"fen": START, "eval": 0.3}, "eval must be a whole number"),
    ({"fen": START, "white_elo": -1}, "white_elo must be a whole number from 0 to 65535"),
    ({"fen": START, "black_elo": "2500"}, "black_elo must be a whole number"),
    ({"fen": START, "game": 1 << 32}, "game must be"),
    ({"fen": START, "ply": 70_000}, "ply must be"),
    ({"fen": START, "tier": 256}, "tier must be"),
    ({"fen": START, "split": "test"}, "split must be train or validation"),
    ({"fen": START, "repetitions": 3}, "repetitions must be"),
]


@pytest.mark.parametrize(("bad", "why"), BAD_LINES)
def test_a_bad_line_is_skipped_and_named(tmp_path: Path, bad: Any, why: str) -> None:
    file = lines_to(tmp_path / "in.jsonl", {"fen": START}, "", bad, {"fen": EN_PASSANT})
    found = import_positions([file], tmp_path / "folder")
    assert (found.train + found.validation, found.broken) == (2, 1)
    (named,) = ShardFolder.open(tmp_path / "folder").manifest["broken"]
    assert (named["file"], named["line"]) == ("in.jsonl", 3)
    assert why in named["why"]
    assert named["why"]


@settings(max_examples=200, deadline=None)
@given(
    st.fixed_dictionaries(
        {"fen": st.just(START) | st.text(max_size=20)},
        optional={
            name: st.none()
            | st.booleans()
            | st.integers()
            | st.floats()
            | st.text(max_size=6)
            | st.lists(st.none())
            for name in (
                "move",
                "result",
                "eval",
                "white_elo",
                "game",
                "ply",
                "tier",
                "split",
                "source",
                "repetitions",
            )
        },
    )
)
def test_no_line_breaks_the_reader(line: dict[str, Any]) -> None:
    found = jsonl.Imported()
    records, validation = jsonl._records_of([(1, json.dumps(line).encode())], "in.jsonl", found)
    assert len(records) == len(validation) == 1 - found.broken


def test_a_result_may_be_written_as_in_a_pgn(tmp_path: Path) -> None:
    results = ["1-0", "0-1", "1/2-1/2", "*", 1, 0, -1, None]
    lines = ({"fen": START, "split": "train", "result": result} for result in results)
    import_positions([lines_to(tmp_path / "in.jsonl", *lines)], tmp_path / "folder")
    found = all_of(ShardFolder.open(tmp_path / "folder"), "train")["result"].tolist()
    assert found == [1, -1, 0, NO_RESULT, 1, 0, -1, NO_RESULT]


def test_the_ply_is_told_by_the_fen_where_the_line_has_none(tmp_path: Path) -> None:
    fens = [START, EN_PASSANT, "8/8/8/8/8/5k2/8/5K1R b - - 9 40"]
    lines = lines_to(tmp_path / "in.jsonl", *({"fen": fen, "split": "train"} for fen in fens))
    import_positions([lines], tmp_path / "folder")
    assert all_of(ShardFolder.open(tmp_path / "folder"), "train")["ply"].tolist() == [0, 4, 79]


def test_one_position_never_stands_on_both_sides_of_the_split(tmp_path: Path) -> None:
    fens = _core.unpack_fens(_core.random_positions(3000, 5))
    # The same positions a second time, with other counters.
    again = [" ".join([*fen.split()[:4], "0", "99"]) for fen in fens]
    file = lines_to(tmp_path / "in.jsonl", *({"fen": fen} for fen in fens + again))
    found = import_positions([file], tmp_path / "folder")
    folder = ShardFolder.open(tmp_path / "folder")
    train, validation = (
        set(_core.position_keys(np.ascontiguousarray(all_of(folder, split)["packed"])).tolist())
        for split in ("train", "validation")
    )
    assert not train & validation
    assert 20 <= found.validation <= 120  # 1 % of 6,000, give or take


def test_the_positions_of_a_game_stay_together(tmp_path: Path) -> None:
    fens = _core.unpack_fens(_core.random_positions(2000, 6))
    lines = ({"fen": fen, "game": i // 4} for i, fen in enumerate(fens))
    found = import_positions([lines_to(tmp_path / "in.jsonl", *lines)], tmp_path / "folder")
    folder = ShardFolder.open(tmp_path / "folder")
    train, validation = (set(all_of(folder, split)["game"].tolist()) for split in ("train", "validation"))
    assert not train & validation
    assert len(train) + len(validation) == 500
    assert found.validation > 0


@pytest.mark.parametrize(
    ("ending", "compress"),
    [
        ("gz", gzip.compress),
        ("bz2", bz2.compress),
        ("zst", zstandard.ZstdCompressor().compress),
    ],
)
def test_a_compressed_file_is_read_in_all_its_frames_and_refused_when_cut(
    tmp_path: Path, ending: str, compress: Any
) -> None:
    fens = _core.unpack_fens(_core.random_positions(500, 8))
    halves = ["".join(json.dumps({"fen": fen}) + "\n" for fen in part) for part in (fens[:300], fens[300:])]
    content = b"".join(compress(half.encode()) for half in halves)
    file = tmp_path / f"in.jsonl.{ending}"
    file.write_bytes(content)
    found = import_positions([file], tmp_path / "whole")
    assert found.train + found.validation == 500

    file.write_bytes(content[:-20])
    with pytest.raises(UserError, match="is cut off"):
        import_positions([file], tmp_path / "cut")
    file.write_bytes(b"no compressed data at all")
    with pytest.raises(UserError, match="is damaged"):
        import_positions([file], tmp_path / "cut")
    assert sorted(entry.name for entry in tmp_path.iterdir()) == [file.name, "whole"]


def test_shards_are_cut_at_their_size_and_at_the_end_of_a_file(tmp_path: Path) -> None:
    fens = _core.unpack_fens(_core.random_positions(250, 9))
    one = lines_to(tmp_path / "one.jsonl", *({"fen": fen, "split": "train"} for fen in fens))
    two = lines_to(tmp_path / "two.jsonl", {"fen": START, "split": "validation"})
    import_positions([one, two], tmp_path / "folder", shard_records=100)
    folder = ShardFolder.open(tmp_path / "folder")
    sizes = [(shard["source"], shard["train"], shard["validation"]) for shard in folder.manifest["shards"]]
    assert sizes == [
        ("one.jsonl", 100, 0),
        ("one.jsonl", 100, 0),
        ("one.jsonl", 50, 0),
        ("two.jsonl", 0, 1),
    ]
    assert _core.unpack_fens(np.ascontiguousarray(all_of(folder, "train")["packed"])) == fens


def test_the_manifest_names_the_sources_by_sum_and_size(tmp_path: Path) -> None:
    import hashlib

    file = lines_to(tmp_path / "in.jsonl", {"fen": START}, "broken")
    import_positions([file], tmp_path / "folder")
    manifest = ShardFolder.open(tmp_path / "folder").manifest
    assert manifest["sources"] == [
        {
            "name": "in.jsonl",
            "sha256": hashlib.sha256(file.read_bytes()).hexdigest(),
            "bytes": file.stat().st_size,
            "positions": 1,
            "broken": 1,
        }
    ]
    assert manifest["counts"] == {"positions_kept": 1, "lines_broken": 1}


def test_an_import_never_touches_a_folder_that_holds_something(tmp_path: Path) -> None:
    file = lines_to(tmp_path / "in.jsonl", {"fen": START})
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "mine").write_text("kept")
    with pytest.raises(UserError, match="exists and is not an empty folder"):
        import_positions([file], tmp_path / "folder")
    assert (tmp_path / "folder" / "mine").read_text() == "kept"


def test_an_import_without_a_single_position_says_why_and_makes_nothing(tmp_path: Path) -> None:
    file = lines_to(tmp_path / "in.jsonl", {"fen": START, "move": "e2e5"})
    with pytest.raises(UserError, match=r"no position in .*in\.jsonl:1: illegal move e2e5"):
        import_positions([file], tmp_path / "folder")
    assert [entry.name for entry in tmp_path.iterdir()] == ["in.jsonl"]


def test_a_line_without_end_does_not_fill_the_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tabiya import files

    monkeypatch.setattr(files, "LONGEST_LINE", 1000)
    file = lines_to(tmp_path / "in.jsonl", {"fen": START}, {"fen": "x" * 1_000_000}, {"fen": EN_PASSANT})
    found = import_positions([file], tmp_path / "folder")
    assert found.train + found.validation == 2
    assert [entry["line"] for entry in found.named] == [2]
