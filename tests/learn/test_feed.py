"""Tables on the device: what they hold, and that a step's batch depends on the step alone."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from tabiya import _core  # noqa: E402
from tabiya.board.planes import encode  # noqa: E402
from tabiya.data.extract import Extraction, extract  # noqa: E402
from tabiya.data.labels import held_out, write_move_labels  # noqa: E402
from tabiya.data.scale import win_probability  # noqa: E402
from tabiya.data.worth import worth  # noqa: E402
from tabiya.learn.feed import Feed, Source, Table, load  # noqa: E402
from tabiya.learn.planes import mirrored_moves, planes_of  # noqa: E402

CPU = torch.device("cpu")
GAME = '[Result "1-0"]\n\n1. e4 { [%eval 0.40] } e5 { [%eval 0.30] } 2. Qh5 Nc6 3. Bc4 Nf6 4. Qxf7# 1-0\n\n'


@pytest.fixture
def positions() -> np.ndarray:
    return _core.random_positions(400, 3)


@pytest.mark.parametrize("planes", [18, 21])
def test_planes_made_on_the_device_equal_the_core_s(positions, planes):
    expected = encode(positions, planes).astype(np.float32)
    expected[:, 17] /= 100
    assert np.array_equal(planes_of(torch.from_numpy(positions), planes).numpy(), expected)


def test_the_mirror_of_the_mirror_is_the_move_and_mirrors_legal_moves():
    mirror = mirrored_moves()
    assert np.array_equal(mirror[mirror], np.arange(4672))
    board = _core.Board("4k3/1P6/8/2n5/8/8/8/R3K3 w - - 0 1")
    other = _core.Board("3k4/6P1/8/5n2/8/8/8/3K3R w - - 0 1")
    numbers = {_core.move_to_index(board, move, "planes") for move in board.legal_moves()}
    assert {int(mirror[number]) for number in numbers} == {
        _core.move_to_index(other, move, "planes") for move in other.legal_moves()
    }


def test_a_game_s_rows_hold_move_value_and_result_from_the_mover_s_side(tmp_path: Path):
    (tmp_path / "g.pgn").write_text(GAME)
    extract([tmp_path / "g.pgn"], tmp_path / "out")
    split = "train" if (tmp_path / "out" / "g-000.train.pos").stat().st_size else "validation"
    table = load(
        Source(kind="games", path=str(tmp_path / "out"), share=1.0, targets="probability"), split, CPU
    )
    assert len(table) == 7
    assert table.result.tolist() == [0, 2, 0, 2, 0, 2, 0]
    board = _core.Board()
    for row, move in enumerate(["e2e4", "e7e5", "d1h5", "b8c6", "f1c4", "g8f6", "h5f7"]):
        number = int(table.legal[row, table.target[row]])
        assert _core.index_to_move(board, number, "planes") == move
        assert int((table.legal[row] >= 0).sum()) == len(board.legal_moves())
        board.push(move)
    assert table.value[0].isnan()
    assert float(table.value[1]) == pytest.approx(1 - win_probability(40.0), abs=1e-3)
    assert float(table.value[2]) == pytest.approx(win_probability(30.0), abs=1e-3)


def test_of_a_position_that_wandered_only_its_legal_moves_are_known(tmp_path: Path):
    (tmp_path / "g.pgn").write_text(GAME)
    extract([tmp_path / "g.pgn"], tmp_path / "out", Extraction(wander=1.0, seed=1))
    table = load(Source(kind="games", path=str(tmp_path / "out"), share=1.0), "train", CPU)
    assert len(table) > 3
    assert (table.target == -1).all()
    assert (table.result == -1).all()
    assert table.value.isnan().all()
    assert ((table.legal >= 0).sum(1) > 0).all()


def test_labels_give_each_legal_move_its_worth_and_successors_the_other_side_s(tmp_path: Path, positions):
    offsets, _, _ = _core.successors(positions)
    scores = np.arange(offsets[-1], dtype=np.int16) % 700 - 350
    path = tmp_path / "l.moves"
    write_move_labels(path, (positions, offsets, scores))
    table = load(Source(kind="labels", path=str(path), share=1.0), "train", CPU)
    keys = _core.position_keys(positions)
    kept = np.flatnonzero(keys % np.uint64(100) != 0)
    assert len(table) == len(kept)
    for row in (0, len(kept) // 2, len(kept) - 1):
        mine = scores[offsets[kept[row]] : offsets[kept[row] + 1]].astype(float)
        assert np.allclose(table.q[row, : len(mine)].float().numpy(), worth(mine), atol=1e-3)
        assert int((table.legal[row] >= 0).sum()) == len(mine)
    after = load(Source(kind="successors", path=str(path), share=1.0), "train", CPU)
    first = scores[offsets[kept[0]] : offsets[kept[0] + 1]].astype(float)
    assert np.allclose(after.value[: len(first)].float().numpy(), 1 - worth(first), atol=1e-3)


def test_what_a_label_leads_to_is_not_learned_where_it_is_held_out_itself(tmp_path: Path, positions):
    offsets, after, _ = _core.successors(positions)
    path = tmp_path / "l.moves"
    write_move_labels(path, (positions, offsets, np.zeros(offsets[-1], np.int16)))
    parent = np.repeat(held_out(positions), np.diff(offsets))
    train, validation = (
        load(Source(kind="successors", path=str(path), share=1.0), split, CPU)
        for split in ("train", "validation")
    )
    assert (held_out(after) & ~parent).any()
    assert np.array_equal(train.packed.numpy(), after[~parent & ~held_out(after)])
    assert np.array_equal(validation.packed.numpy(), after[parent])


def test_a_step_s_batch_is_the_same_again_and_another_step_s_is_not(tmp_path: Path, positions):
    offsets, _, _ = _core.successors(positions)
    write_move_labels(tmp_path / "l.moves", (positions, offsets, np.zeros(offsets[-1], np.int16)))
    table = load(Source(kind="labels", path=str(tmp_path / "l.moves"), share=1.0), "train", CPU)
    feed = Feed([table, table], [3.0, 1.0], 64, seed=1)
    assert feed.counts == [48, 16]
    first, again, other = feed.draw(5), Feed([table, table], [3.0, 1.0], 64, seed=1).draw(5), feed.draw(6)
    assert torch.equal(first[0], again[0])
    assert not torch.equal(first[0], other[0])
    parts = feed.take(first)
    assert [len(part) for part in parts] == [48, 16]
    assert torch.equal(parts[1].packed, table.packed[first[1] >> 1])


def test_no_row_is_seen_twice_before_every_row_was_seen_once(tmp_path: Path, positions):
    table = Table("labels", torch.from_numpy(positions))
    feed = Feed([table], [1.0], 48, seed=7)
    rows = torch.cat([feed.draw(step)[0] >> 1 for step in range(200)])
    count = len(table)
    assert len(rows) > 3 * count
    turns = [rows[start : start + count] for start in range(0, len(rows) - count, count)]
    assert all(torch.equal(turn.sort().values, torch.arange(count)) for turn in turns)
    assert not torch.equal(turns[0], turns[1])
    from_the_middle = Feed([table], [1.0], 48, seed=7)
    assert torch.equal(from_the_middle.draw(150)[0] >> 1, rows[150 * 48 : 151 * 48])
    assert not torch.equal(Feed([table], [1.0], 48, seed=8).draw(0)[0] >> 1, rows[:48])


def test_in_the_mirror_a_position_without_castling_rights_is_its_mirror_image(tmp_path: Path):
    fens = ["4k3/1P6/8/2n5/8/8/8/R3K3 w - - 0 1", "4k3/1P6/8/2n5/8/8/8/R3K3 w Q - 0 1"]
    mirrored = "3k4/6P1/8/5n2/8/8/8/3K3R w - - 0 1"
    positions = _core.pack_fens(fens)
    table = Table(
        "labels",
        torch.from_numpy(positions),
        legal=torch.from_numpy(_core.legal_rows(positions, "planes", "mover", 80)),
    )
    draws = torch.tensor([0, 1, 2, 3])  # row 0 plain and in the mirror, row 1 likewise
    part = Feed([table], [1.0], 4, seed=0, mirror=True).take([draws])[0]
    assert part.mirror.tolist() == [False, True, False, False]
    seen = planes_of(part.packed, 21, part.mirror)
    assert torch.equal(seen[1], planes_of(torch.from_numpy(_core.pack_fens([mirrored])), 21)[0])
    assert torch.equal(seen[2], seen[3])
    board = _core.Board(mirrored)
    wanted = {_core.move_to_index(board, move, "planes") for move in board.legal_moves()}
    assert set(part.legal[1][part.legal[1] >= 0].tolist()) == wanted


def test_a_fraction_of_a_source_is_the_same_each_time(tmp_path: Path, positions):
    offsets, _, _ = _core.successors(positions)
    write_move_labels(tmp_path / "l.moves", (positions, offsets, np.zeros(offsets[-1], np.int16)))
    part = Source(kind="labels", path=str(tmp_path / "l.moves"), share=1.0, fraction=0.25)
    first, again = load(part, "train", CPU), load(part, "train", CPU)
    assert torch.equal(first.packed, again.packed)
    assert 60 < len(first) < 140
