"""The shard format is what docs/formats.md says, read here with nothing but numpy and its words."""

from __future__ import annotations

import doctest
import hashlib
import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tabiya import _core
from tabiya.data.shards import FORMAT, NO_EVAL, NO_RESULT, RECORD, VERSION, ShardFolder, data_checksum
from tabiya.errors import UserError

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "formats.md"

HAND_FEN = "4k3/8/8/3pP3/8/8/8/4K2R w K d6 0 30"
HAND_PACKED = (
    (1 << 4 | 1 << 7 | 1 << 35 | 1 << 36 | 1 << 60).to_bytes(8, "little")  # e1 h1 d5 e5 e8
    + bytes([3 << 4 | 5, 0 << 4 | 8, 13]) + bytes(13)  # K R, p P, k
    + bytes([1 << 1, 43, 0, 0]) + (30).to_bytes(2, "little") + bytes(2)
)  # fmt: skip


def fen_of(packed: bytes) -> str:
    """A FEN from the documented bytes alone."""
    occupied = int.from_bytes(packed[:8], "little")
    squares = [square for square in range(64) if occupied >> square & 1]
    nibbles = [nibble for byte in packed[8:24] for nibble in (byte & 15, byte >> 4)]
    pieces = {square: "PNBRQK  pnbrqk"[nibble] for square, nibble in zip(squares, nibbles, strict=False)}
    ranks = []
    for rank in range(7, -1, -1):
        row = "".join(pieces.get(8 * rank + file, "1") for file in range(8))
        for run in range(8, 1, -1):
            row = row.replace("1" * run, str(run))
        ranks.append(row)
    rights = "".join(letter for bit, letter in enumerate("KQkq", 1) if packed[24] >> bit & 1)
    target = packed[25]
    en_passant = "-" if target == 255 else "abcdefgh"[target % 8] + str(target // 8 + 1)
    side = "wb"[packed[24] & 1]
    fullmove = int.from_bytes(packed[28:30], "little")
    return f"{'/'.join(ranks)} {side} {rights or '-'} {en_passant} {packed[26]} {fullmove}"


def mix(x: int) -> int:
    x = (x + 0x9E3779B97F4A7C15) % 2**64
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 % 2**64
    x = (x ^ x >> 27) * 0x94D049BB133111EB % 2**64
    return x ^ x >> 31


def key(packed: bytes) -> int:
    name = 0x9E3779B97F4A7C15
    for start, end in ((0, 8), (8, 16), (16, 24), (24, 26)):
        name = mix(name ^ int.from_bytes(packed[start:end], "little"))
    return name


def a_folder(path: Path, train: bytes, validation: bytes = b"", **manifest: Any) -> Path:
    path.mkdir()
    (path / "a.train.pos").write_bytes(train)
    (path / "a.validation.pos").write_bytes(validation)
    shard = {"name": "a", "source": "a.pgn", "train": len(train) // 48, "validation": len(validation) // 48}
    head = {"format": FORMAT, "version": VERSION, "complete": True, "shards": [shard]}
    (path / "manifest.json").write_text(json.dumps(head | manifest))
    return path


def test_every_example_of_the_document_holds() -> None:
    failed, tried = doctest.testfile(str(DOCUMENT), module_relative=False)
    assert failed == 0
    assert tried > 20


def test_a_position_packed_by_hand_is_the_core_s() -> None:
    assert _core.Board(HAND_FEN).packed() == HAND_PACKED
    assert _core.Board.from_packed(HAND_PACKED).fen() == HAND_FEN


def test_the_documented_bytes_of_many_positions_read_as_their_fens() -> None:
    packed = _core.random_positions(2000, 11)
    assert [fen_of(row.tobytes()) for row in packed] == _core.unpack_fens(packed)
    assert not packed[:, 30:].any()


@pytest.mark.parametrize(
    ("fen", "target"),
    [
        ("rnbqkbnr/ppp1p1pp/8/3pPp2/8/8/PPPP1PPP/RNBQKBNR w KQkq f6 0 3", 45),
        ("rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq e3 0 1", 255),  # no pawn stands beside it
        ("8/8/8/8/k2Pp2Q/8/8/3K4 b - d3 0 1", 255),  # the capture would open the rank to the queen
    ],
)
def test_an_en_passant_square_is_kept_only_where_the_capture_is_legal(fen: str, target: int) -> None:
    assert _core.Board(fen).packed()[25] == target


def test_the_byte_of_repetitions_counts_to_two() -> None:
    board = _core.Board()
    counts = [board.packed()[27]]
    for _ in range(4):
        for move in ("g1f3", "g8f6", "f3g1", "f6g8"):
            board.push(move)
        counts.append(board.packed()[27])
    assert counts == [0, 1, 2, 2, 2]


def test_clocks_too_large_for_their_bytes_stop_at_the_largest() -> None:
    packed = _core.Board("8/8/8/8/8/5k2/8/5K1R b - - 300 70000").packed()
    assert (packed[26], int.from_bytes(packed[28:30], "little")) == (255, 65535)


def test_the_documented_key_is_the_core_s() -> None:
    packed = _core.random_positions(500, 12)
    assert [key(row.tobytes()) for row in packed] == _core.position_keys(packed).tolist()


def test_a_record_written_by_hand_reads_field_by_field(tmp_path: Path) -> None:
    code = 36 | 43 << 6  # e5d6
    known = HAND_PACKED + struct.pack("<HhHHIHbB", code, -35, 2510, 2490, 70_000, 58, -1, 3)
    unknown = HAND_PACKED + struct.pack("<HhHHIHbB", code, NO_EVAL, 0, 0, 0, 0, NO_RESULT, 0)
    folder = ShardFolder.open(a_folder(tmp_path / "f", known + unknown))
    ((name, records),) = folder.shards("train")
    assert (name, len(records), folder.count("train"), folder.count("validation")) == ("a", 2, 2, 0)
    first = records[0]
    assert first["packed"].tobytes() == _core.Board(HAND_FEN).packed()
    assert _core.code_to_uci(int(first["move"])) == "e5d6"
    assert records[0].tolist()[2:] == (-35, 2510, 2490, 70_000, 58, -1, 3)
    assert [records[1][name].item() for name in ("eval", "result")] == [NO_EVAL, NO_RESULT]


def test_a_shard_is_mapped_and_cannot_be_changed_by_a_reader(tmp_path: Path) -> None:
    folder = ShardFolder.open(a_folder(tmp_path / "f", bytes(48 * 3)))
    records = folder.shard("a", "train")
    assert isinstance(records, np.memmap)
    with pytest.raises(ValueError, match="read-only"):
        records["ply"][0] = 1
    assert len(folder.shard("a", "validation")) == 0


def test_games_are_split_by_the_documented_hash(tmp_path: Path) -> None:
    generator = np.random.default_rng(3)
    games, expected = [], []
    for _ in range(400):
        board, codes, text = _core.Board(), [], []
        start = board.packed()
        for _ply in range(6):
            move = str(generator.choice(board.legal_moves()))
            codes.append(_core.uci_to_code(move))
            text.append(board.san(move))
            board.push(move)
        name = key(start)
        for code in codes:
            name = mix(name ^ code)
        expected.append(name % 100 == 0)
        games.append(f'[Event "?"]\n[Result "*"]\n\n{" ".join(text)} *\n\n')
    assert 0 < sum(expected) < 20
    source = tmp_path / "games.pgn"
    source.write_text("".join(games))
    train, validation = tmp_path / "a.train.pos", tmp_path / "a.validation.pos"
    _core.Extraction(source, {}).write_shard(train, validation, 1 << 20, _core.ExtractionMemory())
    found = {int(game) for game in np.fromfile(validation, RECORD)["game"]}
    assert found == {number for number, split in enumerate(expected) if split}
    assert found.isdisjoint(np.fromfile(train, RECORD)["game"].tolist())


def test_a_folder_without_a_manifest_says_what_to_run(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"no manifest\.json in .*: run `tabiya data extract` first"):
        ShardFolder.open(tmp_path)


def test_a_damaged_manifest_is_named(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text('{"format": ')
    with pytest.raises(UserError, match=r"manifest\.json is damaged"):
        ShardFolder.open(tmp_path)


def test_a_later_version_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        UserError, match="tabiya-positions version 2, this program reads tabiya-positions version 1"
    ):
        ShardFolder.open(a_folder(tmp_path / "f", b"", version=2))


def test_an_unfinished_folder_is_refused_unless_it_is_asked_for(tmp_path: Path) -> None:
    path = a_folder(tmp_path / "f", bytes(48), complete=False)
    with pytest.raises(UserError, match="is not finished: run the same `tabiya data extract` again"):
        ShardFolder.open(path)
    assert ShardFolder.open(path, allow_partial=True).count("train") == 1


@pytest.mark.parametrize("content", [None, b"", bytes(47), bytes(96)])
def test_a_shard_of_the_wrong_size_is_named(tmp_path: Path, content: bytes | None) -> None:
    path = a_folder(tmp_path / "f", bytes(48))
    shard = path / "a.train.pos"
    if content is None:
        shard.unlink()
    else:
        shard.write_bytes(content)
    with pytest.raises(
        UserError, match=rf"a\.train\.pos has {len(content or b'')} bytes, its manifest says 48"
    ):
        ShardFolder.open(path)


def test_data_are_the_same_however_long_they_took_to_extract(tmp_path: Path) -> None:
    record = bytes(RECORD.itemsize)
    quick, slow = a_folder(tmp_path / "a", record, seconds=1.5), a_folder(tmp_path / "b", record, seconds=9.0)
    other = a_folder(tmp_path / "c", record, seconds=1.5, excluded_puzzles={"puzzles": 3})
    assert data_checksum(quick) == data_checksum(slow) != data_checksum(other)
    file = tmp_path / "games.pgn"
    file.write_bytes(b"1. e4")
    assert data_checksum(file) == hashlib.sha256(b"1. e4").hexdigest()
