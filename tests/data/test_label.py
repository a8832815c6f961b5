"""Labelling: every source, any number of workers, any end of the work."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import chess
import numpy as np
import pytest
from numpy.typing import NDArray

from tabiya import _core
from tabiya.data.label import LabelJob
from tabiya.data.label_source import Task, tasks_of
from tabiya.data.label_store import MoveStore, ValueStore
from tabiya.data.labels import load_move_labels, read_value_labels, shard_values, write_move_labels
from tabiya.data.shards import FORMAT, RECORD, VERSION, ShardFolder
from tabiya.data.teaching import Teaching
from tabiya.errors import UserError

NODES = 20_000  # with this limit a chunk is 50 positions, or 3 for all moves
MATED = "7k/6Q1/6K1/8/8/8/8/8 b - - 0 1"
STALEMATED = "7k/5Q2/6K1/8/8/8/8/8 b - - 0 1"


def engine(tmp_path: Path, *arguments: str) -> str:
    """An executable that is the fake teacher with its arguments."""
    script = tmp_path / f"teacher-{len(list(tmp_path.glob('teacher-*')))}"
    fake = Path(__file__).with_name("fake_teacher.py")
    quoted = " ".join(f"'{word}'" for word in arguments)
    script.write_text(f"#!/bin/sh\nexec '{sys.executable}' '{fake}' {quoted}\n")
    script.chmod(0o755)
    return str(script)


def positions(count: int, seed: int = 5) -> NDArray[np.uint8]:
    return _core.pack_fens(_core.unpack_fens(_core.random_positions(count, seed)))


def fen_file(path: Path, packed: NDArray[np.uint8]) -> Path:
    path.write_text("".join(f"{fen}\n" for fen in _core.unpack_fens(packed)))
    return path


def label(
    packed: NDArray[np.uint8], target: Path, maximum: int | None = None, **settings: Any
) -> dict[str, Any]:
    task = Task(target.name, target, lambda: packed)
    return LabelJob(task, Teaching(**{"nodes": NODES, **settings}), maximum).run()


def target_of(folder: Path, all_moves: bool) -> Path:
    return folder / ("p.moves" if all_moves else "p.i16")


both_kinds = pytest.mark.parametrize("all_moves", [False, True], ids=["values", "moves"])


@both_kinds
def test_workers_make_no_difference(tmp_path: Path, all_moves: bool) -> None:
    packed, command = positions(170), engine(tmp_path)
    one, three = (target_of(tmp_path / name, all_moves) for name in ("one", "three"))
    entries = label(packed, one, command=command, all_moves=all_moves)
    label(packed, three, command=command, all_moves=all_moves, workers=3)
    assert one.read_bytes() == three.read_bytes()
    assert (entries["labelled"], entries["complete"]) == (170, True)
    assert sorted(path.name for path in one.parent.iterdir()) == [one.name, f"{one.name}.json"]


def test_values_are_the_engines_seen_from_white(tmp_path: Path) -> None:
    packed = positions(60)
    label(packed, tmp_path / "p.i16", command=engine(tmp_path, "--mates"))
    teacher = _core.Teacher(engine(tmp_path, "--mates"))
    scores = [int(teacher.values(packed[i : i + 1], nodes=NODES)[0]) for i in range(50)]
    teacher.close()
    assert read_value_labels(tmp_path / "p.i16")[:50].tolist() == scores
    assert any(abs(score) > 9900 for score in scores)


def test_finished_games_have_values_of_their_own(tmp_path: Path) -> None:
    mirrored = chess.Board(MATED).mirror().fen()
    packed = _core.pack_fens([MATED, STALEMATED, mirrored])
    label(packed, tmp_path / "p.i16", command=engine(tmp_path))
    assert read_value_labels(tmp_path / "p.i16").tolist() == [10000, 0, -10000]
    label(packed, tmp_path / "p.moves", command=engine(tmp_path), all_moves=True)
    assert load_move_labels(tmp_path / "p.moves")[1].tolist() == [0, 0, 0, 0]


@both_kinds
def test_kill_9_at_any_time_loses_and_doubles_nothing(tmp_path: Path, all_moves: bool) -> None:
    packed = positions(400 if not all_moves else 40)
    source = fen_file(tmp_path / "p.fen", packed)
    whole = target_of(tmp_path / "whole", all_moves)
    label(packed, whole, command=engine(tmp_path), all_moves=all_moves)

    command = [sys.executable, "-m", "tabiya", "data", "label", str(source), "--nodes", str(NODES)]
    command += [
        "--teacher",
        engine(tmp_path, "--slow", "4"),
        "--out",
        str(tmp_path / "cut"),
        "--workers",
        "2",
    ]
    command += ["--all-moves"] if all_moves else []
    cut = target_of(tmp_path / "cut", all_moves)
    work = cut.with_name(cut.name + (".journal" if all_moves else ".part"))
    kept = []
    for _ in range(3):
        before = _progress_of(work)
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while process.poll() is None and _progress_of(work) <= before:
            time.sleep(0.002)
        process.send_signal(signal.SIGKILL)
        process.wait()
        kept.append(_progress_of(work))
    assert sorted(kept) == kept, "a restart lost finished chunks"
    assert kept[0] > 0
    assert subprocess.run(command, capture_output=True).returncode == 0
    assert cut.read_bytes() == whole.read_bytes()
    assert not work.exists()
    assert json.loads(cut.with_name(cut.name + ".json").read_text())["labelled"] == len(packed)


def _progress_of(work: Path) -> int:
    if not work.exists():
        return 0
    if work.suffix == ".journal":
        return work.stat().st_size // 64
    values = np.fromfile(work, "<i2")
    return int(np.count_nonzero(values != 32767)) // 50


@both_kinds
def test_more_can_be_labelled_later(tmp_path: Path, all_moves: bool) -> None:
    packed, command = positions(130), engine(tmp_path)
    whole, grown = (target_of(tmp_path / name, all_moves) for name in ("whole", "grown"))
    label(packed, whole, command=command, all_moves=all_moves)
    for maximum in (20, 100, 60):
        label(packed, grown, maximum, command=command, all_moves=all_moves)
    if all_moves:
        assert len(load_move_labels(grown)[0]) == 60
    else:
        assert np.flatnonzero(read_value_labels(grown) == 32767).tolist() == list(range(100, 130))
    entries = label(packed, grown, command=command, all_moves=all_moves)
    assert grown.read_bytes() == whole.read_bytes()
    assert entries["labelled"] == 130


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"nodes": NODES + 1}, "limit nodes 20000, not nodes 20001"),
        ({"nodes": None, "depth": 3}, "limit nodes 20000, not depth 3"),
        ({"options": {"Taste": "sour"}}, "options none, not Taste sour"),
    ],
)
def test_work_goes_on_only_under_the_same_settings(
    tmp_path: Path, change: dict[str, Any], sentence: str
) -> None:
    packed, command, target = positions(60), engine(tmp_path), tmp_path / "p.i16"
    label(packed, target, 50, command=command)
    before = target.read_bytes()
    with pytest.raises(UserError, match=sentence):
        label(packed, target, **{"command": command, **change})
    assert target.read_bytes() == before


def test_other_positions_under_the_same_name_are_refused(tmp_path: Path) -> None:
    label(positions(60), tmp_path / "p.i16", command=engine(tmp_path))
    with pytest.raises(UserError, match="checksum"):
        label(positions(60, seed=6), tmp_path / "p.i16", command=engine(tmp_path))


def test_labels_of_unknown_origin_are_not_touched(tmp_path: Path) -> None:
    (tmp_path / "p.i16").write_bytes(b"mine")
    with pytest.raises(UserError, match=r"p\.i16\.json"):
        label(positions(5), tmp_path / "p.i16", command=engine(tmp_path))
    (tmp_path / "p.i16.json").write_text("{")
    with pytest.raises(UserError, match="damaged"):
        label(positions(5), tmp_path / "p.i16", command=engine(tmp_path))
    assert (tmp_path / "p.i16").read_bytes() == b"mine"


@both_kinds
def test_a_teacher_that_dies_is_replaced(tmp_path: Path, all_moves: bool) -> None:
    packed = positions(120)
    steady, shaky = (target_of(tmp_path / name, all_moves) for name in ("steady", "shaky"))
    settings = {"nodes": 1000, "all_moves": all_moves}  # chunks of more than 20 positions, where it dies
    label(packed, steady, command=engine(tmp_path), **settings)
    label(packed, shaky, command=engine(tmp_path, "--die-once", str(tmp_path / "died")), **settings)
    assert (tmp_path / "died").exists()
    assert shaky.read_bytes() == steady.read_bytes()


def test_a_position_that_kills_every_teacher_ends_the_work_but_keeps_it(tmp_path: Path) -> None:
    packed = positions(170)
    fatal = _core.unpack_fens(packed[120:121])[0].split()[0]
    with pytest.raises(UserError, match=r"failed 3 times on positions 101 to 150: .*died"):
        label(packed, tmp_path / "p.i16", command=engine(tmp_path, "--die-at", fatal))
    assert not (tmp_path / "p.i16").exists()
    labelled = np.fromfile(tmp_path / "p.i16.part", "<i2") != 32767
    assert labelled[:100].all()
    assert not labelled[100:150].any()
    assert json.loads((tmp_path / "p.i16.json").read_text())["labelled"] == np.count_nonzero(labelled)
    label(packed, tmp_path / "p.i16", command=engine(tmp_path))
    label(packed, tmp_path / "whole.i16", command=engine(tmp_path))
    assert (tmp_path / "p.i16").read_bytes() == (tmp_path / "whole.i16").read_bytes()


def test_a_missing_engine_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no-such-engine"):
        label(positions(5), tmp_path / "p.i16", command=str(tmp_path / "no-such-engine"))
    assert not list(tmp_path.glob("p.i16*"))


@both_kinds
def test_a_full_disk_keeps_what_was_finished(
    tmp_path: Path, all_moves: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    packed, command = positions(170), engine(tmp_path)
    whole, full = (target_of(tmp_path / name, all_moves) for name in ("whole", "full"))
    label(packed, whole, command=command, all_moves=all_moves)
    writes, pwrite = 0, os.pwrite

    def pwrite_on_a_small_disk(file: int, data: Any, place: int) -> int:
        nonlocal writes
        writes += 1
        if writes > 4:
            # A disk that fills up takes part of the data first.
            if len(data) > 9:
                return pwrite(file, bytes(data)[:9], place)
            raise OSError(errno.ENOSPC, "No space left on device")
        return pwrite(file, data, place)

    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", pwrite_on_a_small_disk)
        with pytest.raises(UserError, match=r"no room to write .* what was labelled is kept"):
            label(packed, full, command=command, all_moves=all_moves)
    assert not full.exists()
    job = LabelJob(
        Task("p", full, lambda: packed), Teaching(command=command, nodes=NODES, all_moves=all_moves)
    )
    assert job.done == (9 if all_moves else 150)
    job.run()
    assert full.read_bytes() == whole.read_bytes()


def test_a_disk_too_small_for_the_labels_is_met_before_the_work(tmp_path: Path) -> None:
    """With a real limit on the size of files, in a process of its own."""
    source = fen_file(tmp_path / "p.fen", positions(400))
    small = "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (600, 600)); "
    run = "from tabiya.cli import main; sys.exit(main())"
    words = ["data", "label", str(source), "--nodes", str(NODES), "--teacher", engine(tmp_path), "--out"]
    answer = subprocess.run(
        [sys.executable, "-c", small + run, *words, str(tmp_path / "out")], capture_output=True, text=True
    )
    assert answer.returncode == 2
    assert "no room to write" in answer.stderr
    assert answer.stderr.count("\n") == 1


def test_two_at_once_on_one_target_are_refused(tmp_path: Path) -> None:
    store = ValueStore(tmp_path / "p.i16", 10, 10, 5)
    with pytest.raises(UserError, match="another `tabiya data label`"):
        ValueStore(tmp_path / "p.i16", 10, 10, 5)
    store.close()


@pytest.mark.parametrize("cut", [1, 7, 15, 20, 40])
def test_a_journal_drops_a_tail_that_was_cut_off(tmp_path: Path, cut: int) -> None:
    packed = positions(6)
    counts = np.array([0, 2, 4], np.int64)

    def scores(chunk: int) -> NDArray[np.int16]:
        return np.arange(4, dtype=np.int16) + 10 * np.int16(chunk)

    store = MoveStore(tmp_path / "p.moves", packed, 6, 2)
    for chunk in (2, 0, 1):
        store.write(chunk, (counts, scores(chunk)))
    store.close()
    journal = tmp_path / "p.moves.journal"
    journal.write_bytes(journal.read_bytes()[:-cut])
    store = MoveStore(tmp_path / "p.moves", packed, 6, 2)
    lost = [1] if cut <= 26 else [0, 1]
    assert store.missing() == lost
    for chunk in lost:
        store.write(chunk, (counts, scores(chunk)))
    store.finish()
    assert load_move_labels(tmp_path / "p.moves")[2].tolist() == [0, 1, 2, 3, 10, 11, 12, 13, 20, 21, 22, 23]


def test_a_journal_with_a_flipped_bit_is_believed_up_to_there(tmp_path: Path) -> None:
    packed, answer = positions(6), (np.array([0, 2, 4], np.int64), np.arange(4, dtype=np.int16))
    store = MoveStore(tmp_path / "p.moves", packed, 6, 2)
    for chunk in range(3):
        store.write(chunk, answer)
    store.close()
    journal = tmp_path / "p.moves.journal"
    raw = bytearray(journal.read_bytes())
    raw[16 + 26 + 18] ^= 4
    journal.write_bytes(raw)
    store = MoveStore(tmp_path / "p.moves", packed, 6, 2)
    assert store.missing() == [1, 2]
    store.close()


def test_games_are_labelled_ply_by_ply_in_their_order(tmp_path: Path) -> None:
    games = ["1. e4 e5 2. Nf3 Nc6 1-0", "1. d4 d5 2. c4 *"]
    (tmp_path / "g.pgn").write_text("".join(f'[Result "*"]\n\n{game}\n\n' for game in games))
    fens = []
    for moves in (["e4", "e5", "Nf3", "Nc6"], ["d4", "d5", "c4"]):
        board = chess.Board()
        for move in moves:
            fens.append(board.fen())
            board.push_san(move)
    [task] = tasks_of(tmp_path / "g.pgn", "i16", tmp_path / "out")
    assert _core.unpack_fens(np.ascontiguousarray(task.load())) == fens
    assert task.target == tmp_path / "out" / "g.i16"


def small_folder(path: Path, sizes: dict[str, tuple[int, int]]) -> ShardFolder:
    path.mkdir()
    shards = []
    for name, (train, validation) in sizes.items():
        for split, count in (("train", train), ("validation", validation)):
            records = np.zeros(count, RECORD)
            records["packed"] = positions(count, seed=count)
            records.tofile(path / f"{name}.{split}.pos")
        shards.append({"name": name, "train": train, "validation": validation})
    manifest = {"format": FORMAT, "version": VERSION, "complete": True, "shards": shards}
    (path / "manifest.json").write_text(json.dumps(manifest))
    return ShardFolder.open(path)


def test_a_folders_labels_stand_beside_its_records(tmp_path: Path) -> None:
    folder = small_folder(tmp_path / "data", {"a": (60, 3), "b": (7, 0)})
    with pytest.raises(UserError, match=r"no labels in .*: run `tabiya data label"):
        shard_values(folder, "a", "train")
    teaching = Teaching(command=engine(tmp_path), nodes=NODES)
    for task in tasks_of(folder.path, "i16"):
        LabelJob(task, teaching).run()
    for name, split, count in (("a", "train", 60), ("a", "validation", 3), ("b", "train", 7)):
        assert len(shard_values(folder, name, split)) == count  # type: ignore[arg-type]
    assert shard_values(folder, "b", "validation").tolist() == []
    (tmp_path / "data" / "labels" / "b.train.i16").write_bytes(bytes(4))
    with pytest.raises(UserError, match="2 labels for 7 positions"):
        shard_values(folder, "b", "train")


def test_labelled_positions_can_be_labelled_anew(tmp_path: Path) -> None:
    packed, command = positions(12), engine(tmp_path)
    label(packed, tmp_path / "p.moves", command=command, all_moves=True)
    [task] = tasks_of(tmp_path / "p.moves", "moves", tmp_path / "again")
    assert np.array_equal(task.load(), packed)
    with pytest.raises(UserError, match="would replace it"):
        tasks_of(tmp_path / "p.moves", "moves", tmp_path)
    write_move_labels(tmp_path / "q.tsv", load_move_labels(tmp_path / "p.moves"))
    [task] = tasks_of(tmp_path / "q.tsv", "i16", tmp_path)
    assert np.array_equal(task.load(), packed)


def test_epd_lines_are_positions_too(tmp_path: Path) -> None:
    (tmp_path / "s.epd").write_text("7k/8/8/8/8/8/8/K7 w - - bm Kb2; id 1;\n\n7k/8/8/8/8/8/8/K7 b - - 4 9\n")
    [task] = tasks_of(tmp_path / "s.epd", "i16", tmp_path)
    assert _core.unpack_fens(task.load()) == ["7k/8/8/8/8/8/8/K7 w - - 0 1", "7k/8/8/8/8/8/8/K7 b - - 4 9"]


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("p.fen", "7k/8/8/8/8/8/8/K7 w - - 0 1\nnonsense\n", "line 2"),
        ("p.doc", "x", "cannot tell what"),
        ("gone.fen", None, "no such file"),
    ],
)
def test_a_bad_source_is_one_sentence(tmp_path: Path, name: str, content: str | None, sentence: str) -> None:
    if content is not None:
        (tmp_path / name).write_text(content)
    with pytest.raises(UserError, match=sentence):
        tasks_of(tmp_path / name, "i16", tmp_path)[0].load()


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({}, "--depth, --nodes or --movetime"),
        ({"depth": 0}, "positive"),
        ({"depth": 1, "workers": 0}, "worker"),
    ],
)
def test_a_teacher_needs_a_sensible_limit(settings: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UserError, match=sentence):
        Teaching(command="engine", **settings)


def test_chunks_shrink_as_thought_grows() -> None:
    def chunk(**settings: Any) -> int:
        return Teaching(command="engine", **settings).chunk

    assert chunk(depth=5) == 1024
    assert chunk(depth=5) > chunk(depth=8) > chunk(depth=20) >= 1
    assert chunk(movetime=10.0) == chunk(nodes=10_000_000) == 1
    assert chunk(depth=5, all_moves=True) == 64


def test_stockfish_labels_are_the_same_on_two_workers(tmp_path: Path, stockfish: str) -> None:
    board = chess.Board()
    fens = []
    smothered = "e4 e5 Nf3 Nc6 Bc4 Nd4 Nxe5 Qg5 Nxf7 Qxg2 Rf1 Qxe4+ Be2 Nf3#"
    for move in smothered.split():
        board.push_san(move)
        fens.append(board.fen())
    packed = _core.pack_fens(fens)
    for workers in (1, 2):
        for all_moves in (False, True):
            target = target_of(tmp_path / str(workers), all_moves)
            limit = {"nodes": 200_000, "depth": 5}  # small chunks by the first, a short search by the second
            label(packed, target, command=stockfish, workers=workers, all_moves=all_moves, **limit)
    for all_moves in (False, True):
        one, two = (target_of(tmp_path / name, all_moves) for name in ("1", "2"))
        assert one.read_bytes() == two.read_bytes()
    values = read_value_labels(tmp_path / "1" / "p.i16").tolist()
    assert values[-2:] == [-9999, -10000]  # Black mates with Nf3, then has mated
    _, offsets, scores = load_move_labels(tmp_path / "1" / "p.moves")
    moves = _core.Board(fens[-2]).legal_moves()
    assert scores[offsets[-3] + moves.index("d4f3")] == 29999
