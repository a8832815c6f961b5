"""Positions drawn for calibration: any source that can be labelled, each position once, by the seed."""

from __future__ import annotations

import numpy as np
import pytest

from tabiya._core import random_positions, unpack_fens
from tabiya.data.labels import write_move_labels
from tabiya.data.shards import RECORD
from tabiya.errors import UserError
from tabiya.learn.calibration import draw_positions

PACKED = np.unique(random_positions(60, seed=3), axis=0)[:40]


def as_set(packed: np.ndarray) -> set[bytes]:
    return {row.tobytes() for row in packed}


def test_positions_of_a_list_are_drawn_once_each_in_the_seeds_order(tmp_path):
    path = tmp_path / "some.fen"
    path.write_text("\n".join(unpack_fens(PACKED)) + "\n")
    every = draw_positions(path, 1000, seed=1)
    assert len(every) == 40
    assert len(as_set(every)) == 40
    assert np.array_equal(draw_positions(path, 7, seed=1), every[:7])
    assert not np.array_equal(draw_positions(path, 7, seed=2), every[:7])


def test_a_folder_gives_from_all_its_shards(tmp_path):
    import json

    shards = []
    for name, part in {"one": PACKED[:25], "two": PACKED[25:]}.items():
        records = np.zeros(len(part), RECORD)
        records["packed"] = part
        records.tofile(tmp_path / f"{name}.train.pos")
        (tmp_path / f"{name}.validation.pos").touch()
        shards.append({"name": name, "train": len(part), "validation": 0})
    manifest = {"format": "tabiya-positions", "version": 1, "complete": True, "shards": shards}
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    assert as_set(draw_positions(tmp_path, 40)) == as_set(PACKED)
    few = draw_positions(tmp_path, 10)
    assert as_set(few) < as_set(PACKED)
    assert as_set(few) & as_set(PACKED[:25])
    assert as_set(few) & as_set(PACKED[25:])


def test_move_labels_give_their_positions_wherever_one_stands(tmp_path, monkeypatch):
    from tabiya._core import legal_indices

    offsets, indices = legal_indices(PACKED, "planes")
    scores = np.zeros(len(indices), np.int16)
    path = tmp_path / "some.moves"
    write_move_labels(path, (PACKED, offsets, scores))
    monkeypatch.chdir(tmp_path)
    assert as_set(draw_positions("some.moves", 40)) == as_set(PACKED)


def test_a_source_without_positions_is_refused(tmp_path):
    (tmp_path / "empty.fen").write_text("# nothing\n")
    with pytest.raises(UserError, match=r"there are no positions in .*empty\.fen"):
        draw_positions(tmp_path / "empty.fen", 5)
    (tmp_path / "what.bin").touch()
    with pytest.raises(UserError, match="cannot tell what"):
        draw_positions(tmp_path / "what.bin", 5)
    with pytest.raises(UserError, match="at least 1 position"):
        draw_positions(tmp_path / "empty.fen", 0)
