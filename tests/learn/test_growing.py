"""A folder that grows while it is learned from is read on, each shard once."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from tabiya import _core  # noqa: E402
from tabiya._core import random_positions  # noqa: E402
from tabiya.data.labels import held_out, write_move_labels  # noqa: E402
from tabiya.data.shards import FORMAT, NO_RESULT, RECORD, VERSION  # noqa: E402
from tabiya.errors import UserError  # noqa: E402
from tabiya.learn.feed import Source  # noqa: E402
from tabiya.learn.growing import GrowingTables  # noqa: E402

CPU = torch.device("cpu")


def fill(folder: Path, *counts: int) -> None:
    """A folder with a shard of so many positions each; shards that are there already stay as they are."""
    folder.mkdir(exist_ok=True)
    shards = []
    for number, count in enumerate(counts):
        records = np.zeros(count, RECORD)
        records["packed"] = random_positions(count, seed=number)
        records["result"], records["eval"] = NO_RESULT, number
        records.tofile(folder / f"choices-{number}.train.pos")
        records[:0].tofile(folder / f"choices-{number}.validation.pos")
        shards.append({"name": f"choices-{number}", "train": count, "validation": 0})
    manifest = {"format": FORMAT, "version": VERSION, "complete": True, "options": {}, "shards": shards}
    (folder / "manifest.json").write_text(json.dumps(manifest))


def games(*folders: Path) -> tuple[Source, ...]:
    return (Source(kind="games", path=":".join(map(str, folders)), share=1.0),)


def test_what_a_folder_has_gained_joins_and_nothing_is_read_twice(tmp_path: Path):
    one, other = tmp_path / "one", tmp_path / "other"
    fill(one, 3)
    fill(other, 4)
    growing = GrowingTables(games(one, other), CPU)
    assert [len(table) for table in growing.tables] == [7]
    fill(one, 3, 5)
    fill(other, 4, 2, 1)
    assert growing.look_again() == 8
    (table,) = growing.tables
    wanted = np.concatenate(
        [random_positions(n, seed=s) for s, n in ((0, 3), (0, 4), (1, 5), (1, 2), (2, 1))]
    )
    assert np.array_equal(table.packed.numpy(), wanted)


def test_a_folder_that_gained_nothing_changes_nothing(tmp_path: Path):
    fill(tmp_path / "one", 3)
    growing = GrowingTables(games(tmp_path / "one"), CPU)
    assert growing.look_again() == 0
    assert len(growing.tables[0]) == 3


def test_a_folder_that_nobody_has_begun_to_fill_has_nothing_yet(tmp_path: Path):
    fill(tmp_path / "one", 3)
    growing = GrowingTables(games(tmp_path / "one", tmp_path / "late"), CPU)
    assert [len(table) for table in growing.tables] == [3]
    fill(tmp_path / "late", 2, 4)
    assert growing.look_again() == 6
    assert growing.look_again() == 0


def test_where_no_folder_was_begun_the_first_is_named(tmp_path: Path):
    with pytest.raises(UserError, match=r"no manifest\.json in .*early"):
        GrowingTables(games(tmp_path / "early", tmp_path / "late"), CPU)


def label(file: Path, count: int, seed: int) -> np.ndarray:
    """A file of labels of so many positions; those of them that are learned from."""
    packed = random_positions(count, seed=seed)
    offsets = _core.successors(packed)[0]
    file.parent.mkdir(exist_ok=True)
    write_move_labels(file, (packed, offsets, np.zeros(int(offsets[-1]), np.int16)))
    return packed[~held_out(packed) & (np.diff(offsets) > 0)]


def test_files_of_labels_that_come_to_a_folder_join_and_are_read_once(tmp_path: Path):
    old = label(tmp_path / "old.moves", 5, 1)
    path = f"{tmp_path / 'old.moves'}:{tmp_path / 'new'}"
    sources = tuple(Source(kind=kind, path=path, share=1.0) for kind in ("labels", "successors"))
    growing = GrowingTables(sources, CPU)
    outcomes = len(growing.tables[1])
    later = label(tmp_path / "new" / "b.moves", 4, 2)
    added = growing.look_again()
    earlier = label(tmp_path / "new" / "a.moves", 3, 3)
    assert added > len(later)
    assert growing.look_again() > len(earlier)
    assert growing.look_again() == 0
    wanted = np.concatenate([old, later, earlier])
    assert np.array_equal(growing.tables[0].packed.numpy(), wanted)
    assert len(growing.tables[1]) > outcomes


def test_labels_are_read_once(tmp_path: Path):
    label(tmp_path / "a.moves", 2, 3)
    fill(tmp_path / "one", 3)
    labels = Source(kind="labels", path=str(tmp_path / "a.moves"), share=1.0)
    growing = GrowingTables((*games(tmp_path / "one"), labels), CPU)
    fill(tmp_path / "one", 3, 1)
    before = growing.tables[1]
    assert growing.look_again() == 1
    assert growing.tables[1] is before


def test_a_file_of_labels_that_is_not_there_is_a_mistake(tmp_path: Path):
    label(tmp_path / "a.moves", 5, 3)
    path = f"{tmp_path / 'a.moves'}:{tmp_path / 'b.moves'}"
    with pytest.raises(UserError, match=r"b\.moves"):
        GrowingTables((Source(kind="labels", path=path, share=1.0),), CPU)
