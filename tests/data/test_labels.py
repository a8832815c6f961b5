"""Label files: what is written comes back, what is damaged is refused."""

from __future__ import annotations

import doctest
import gzip
import lzma
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tabiya import _core
from tabiya.data.labels import (
    HEADER,
    MoveLabels,
    convert_move_labels,
    join_move_labels,
    load_move_labels,
    offsets_of,
    read_move_labels,
    read_value_labels,
    write_move_labels,
    write_value_labels,
)
from tabiya.errors import UserError

SHORT = "7k/8/8/8/8/8/8/K7 w - - 0 1"  # a1a2, a1b1, a1b2
STALEMATE = "7k/5Q2/8/8/8/8/8/K7 b - - 0 1"


def some_labels(count: int, seed: int) -> MoveLabels:
    # By way of FEN, which does not tell how often a position stood before.
    packed = _core.pack_fens(_core.unpack_fens(_core.random_positions(count, seed)))
    counts = np.diff(_core.legal_indices(packed, "uci")[0])
    scores = np.random.default_rng(seed).integers(-30000, 30001, int(counts.sum())).astype(np.int16)
    return packed, offsets_of(counts), scores


def assert_same(one: MoveLabels, other: MoveLabels) -> None:
    for i in range(3):
        assert np.array_equal(one[i], other[i])


@pytest.mark.parametrize("name", ["v.i16", "v.i16.xz"])
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30)
@given(values=st.lists(st.integers(-32768, 32767)))
def test_values_come_back(tmp_path: Path, name: str, values: list[int]) -> None:
    write_value_labels(tmp_path / name, np.array(values, np.int16))
    assert read_value_labels(tmp_path / name).tolist() == values


def test_values_are_little_endian_and_plain(tmp_path: Path) -> None:
    write_value_labels(tmp_path / "v.i16", np.array([1, -2, 32767], np.int16))
    assert (tmp_path / "v.i16").read_bytes() == b"\x01\x00\xfe\xff\xff\x7f"


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("v.i16", b"abc", "3 bytes"),
        ("v.i16.xz", lzma.compress(b"abc"), "3 bytes"),
        ("v.i16.xz", lzma.compress(bytes(9000))[:-12], "is (damaged|cut off)"),
        ("v.i16.xz", b"not xz at all", "is (damaged|cut off)"),
    ],
)
def test_damaged_values_are_refused_by_name(tmp_path: Path, name: str, content: bytes, sentence: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(UserError, match=sentence) as error:
        read_value_labels(tmp_path / name)
    assert str(tmp_path / name) in str(error.value)


@pytest.mark.parametrize("name", ["m.moves", "m.tsv", "m.tsv.xz"])
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=10, deadline=None)
@given(count=st.integers(0, 40), seed=st.integers(0, 1 << 30))
def test_move_labels_come_back(tmp_path: Path, name: str, count: int, seed: int) -> None:
    labels = some_labels(count, seed)
    write_move_labels(tmp_path / name, labels)
    assert_same(load_move_labels(tmp_path / name), labels)


def test_records_carry_the_position_and_its_scores(tmp_path: Path) -> None:
    (tmp_path / "m.tsv").write_text(f"{SHORT}\t10 -20 29998\n{STALEMATE}\t\n")
    records = list(read_move_labels(tmp_path / "m.tsv"))
    assert [record.scores for record in records] == [(10, -20, 29998), ()]
    assert _core.Board.from_packed(records[0].packed).fen() == SHORT


def compress_zst(raw: bytes) -> bytes:
    return zstandard.ZstdCompressor().compress(raw)


@pytest.mark.parametrize(
    ("ending", "compress"),
    [("", bytes), (".gz", gzip.compress), (".xz", lzma.compress), (".zst", compress_zst)],
)
def test_text_labels_are_read_plain_and_compressed(
    tmp_path: Path, ending: str, compress: Callable[[bytes], bytes]
) -> None:
    path = tmp_path / f"m.tsv{ending}"
    path.write_bytes(compress(f"# a comment\n\n{SHORT}\t1 2 3\n".encode()))
    packed, offsets, scores = load_move_labels(path)
    assert (len(packed), offsets.tolist(), scores.tolist()) == (1, [0, 3], [1, 2, 3])


def test_text_and_binary_turn_into_each_other(tmp_path: Path) -> None:
    labels = some_labels(25, 3)
    write_move_labels(tmp_path / "a.tsv", labels)
    assert convert_move_labels(tmp_path / "a.tsv", tmp_path / "b.moves") == 25
    convert_move_labels(tmp_path / "b.moves", tmp_path / "c.tsv")
    assert (tmp_path / "a.tsv").read_text() == (tmp_path / "c.tsv").read_text()


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        (SHORT, "expected FEN, a tab and scores"),
        (f"{SHORT}\t1 2", "2 scores for 3 legal moves"),
        (f"{SHORT}\t1 2 x3", "'x3' is not a score"),
        (f"{SHORT}\t1 2 40000", "'40000' is not a score"),
        ("7k/8/9/8/8/8/8/K7 w - - 0 1\t1 2 3", "7k/8/9"),
        ("8/8/8/8/8/8/8/K7 w - - 0 1\t1 2 3", "8/8/8/8/8/8/8/K7"),
    ],
)
def test_a_bad_line_is_named_by_file_and_number(tmp_path: Path, line: str, sentence: str) -> None:
    (tmp_path / "m.tsv").write_text(f"{SHORT}\t1 2 3\n\n{line}\n")
    with pytest.raises(UserError, match=sentence) as error:
        load_move_labels(tmp_path / "m.tsv")
    assert str(error.value).startswith(f"{tmp_path / 'm.tsv'}, line 3: ")


def test_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    (tmp_path / "m.tsv").write_bytes(b"\xff\xfe\xfa\n")
    with pytest.raises(UserError, match="line 1 is not text"):
        load_move_labels(tmp_path / "m.tsv")


@pytest.mark.parametrize(
    ("cut", "sentence"),
    [
        (slice(0, 20), "not a move-label file"),
        (slice(0, -1), "damaged: it has"),
        (slice(0, 64), "damaged: it has"),
    ],
)
def test_a_cut_off_file_of_moves_is_refused(tmp_path: Path, cut: slice, sentence: str) -> None:
    path = tmp_path / "m.moves"
    write_move_labels(path, some_labels(5, 1))
    path.write_bytes(path.read_bytes()[cut])
    with pytest.raises(UserError, match=sentence):
        load_move_labels(path)


def test_another_version_is_refused_by_its_number(tmp_path: Path) -> None:
    path = tmp_path / "m.moves"
    write_move_labels(path, some_labels(5, 1))
    raw = bytearray(path.read_bytes())
    raw[8] = 9
    path.write_bytes(raw)
    with pytest.raises(UserError, match="version 9, this program reads version 1"):
        load_move_labels(path)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(data=st.data())
def test_one_flipped_bit_anywhere_is_noticed(tmp_path: Path, data: st.DataObject) -> None:
    path = tmp_path / "m.moves"
    write_move_labels(path, some_labels(4, 2))
    raw = bytearray(path.read_bytes())
    # The header's padding carries nothing.
    used = [*range(12), *range(16, 36), *range(HEADER.size, len(raw))]
    raw[data.draw(st.sampled_from(used))] ^= 1 << data.draw(st.integers(0, 7))
    path.write_bytes(raw)
    with pytest.raises(UserError):
        load_move_labels(path)


def test_an_unknown_ending_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"\.moves, \.tsv or \.tsv\.xz, not as m\.csv"):
        write_move_labels(tmp_path / "m.csv", some_labels(1, 1))
    assert list(tmp_path.iterdir()) == []


def test_joined_batches_equal_one_file() -> None:
    parts = [some_labels(3, seed) for seed in range(4)]
    packed, offsets, scores = join_move_labels(parts)
    rows: list[NDArray[np.int16]] = [scores[offsets[i] : offsets[i + 1]] for i in range(len(packed))]
    assert len(rows) == 12
    for i, (_, ends, some) in enumerate(parts):
        assert np.array_equal(rows[3 * i + 1], some[ends[1] : ends[2]])


def test_the_page_about_labels_tells_the_truth() -> None:
    page = Path(__file__).parents[2] / "docs" / "labels.md"
    outcome = doctest.testfile(str(page), module_relative=False)
    assert outcome.attempted >= 8
    assert outcome.failed == 0


def test_a_packed_label_file_is_read_as_it_is(tmp_path: Path):
    positions = _core.random_positions(30, 2)
    offsets, _, _ = _core.successors(positions)
    scores = (np.arange(offsets[-1]) % 500).astype(np.int16)
    write_move_labels(tmp_path / "l.moves", (positions, offsets, scores))
    packed = tmp_path / "l.moves.xz"
    packed.write_bytes(lzma.compress((tmp_path / "l.moves").read_bytes()))
    loaded = load_move_labels(packed)
    assert np.array_equal(loaded[0], positions)
    assert np.array_equal(loaded[2], scores)
    packed.write_bytes(packed.read_bytes()[:-40])
    with pytest.raises(UserError):
        load_move_labels(packed)
