"""A teacher's choices: whose they are, where they come from, and what a kill leaves of them."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import chess
import numpy as np
import pytest

from tabiya import _core
from tabiya.data.choosing import Choosers, ChoosingJob
from tabiya.data.labels import held_out
from tabiya.data.scale import MOVE_MATE
from tabiya.data.shards import NO_RESULT, ShardFolder
from tabiya.data.teaching import Teaching
from tabiya.errors import UserError
from tabiya.files import claimed
from tabiya.scale.local import LOCAL

from .test_label import engine

GAME = "1. e4 e5 2. Nf3 Nc6 3. Bb5 a6 4. Ba4 Nf6 5. O-O Be7 6. Re1 b5 7. Bb3 d6 8. c3 O-O 9. h3 Nb8 10. d4 *"
NODES = 20_000


@pytest.fixture
def games(tmp_path: Path) -> Path:
    from tabiya.data.extract import extract

    pgn = tmp_path / "games.pgn"
    others = GAME.replace("5. O-O", "5. d3"), GAME.replace("9. h3", "9. a3")
    pgn.write_text("".join(f'[Event "{each[:9]}"]\n\n{each}\n\n' for each in (GAME, *others)))
    extract([pgn], tmp_path / "games")
    return tmp_path / "games"


def choose(games: Path, out: Path, command: str, **settings: Any) -> ShardFolder:
    teaching = Teaching(command=command, nodes=NODES, line=settings.pop("line", 1))
    with LOCAL.crew(Choosers(teaching), settings.pop("workers", 1)) as crew:
        ChoosingJob(games, out, teaching, crew, **{"positions": 120, "shard": 40, **settings}).run()
    return ShardFolder.open(out)


def all_records(folder: ShardFolder) -> np.ndarray:
    return np.concatenate([shard for split in ("train", "validation") for _, shard in folder.shards(split)])


def test_a_record_has_the_teachers_move_and_score(games: Path, tmp_path: Path) -> None:
    command = engine(tmp_path, "--mates")
    records = all_records(choose(games, tmp_path / "out", command, wander=0.5))
    assert len(records) > 60
    teacher = _core.Teacher(command)
    for shard in range(3):
        # Its score depends on what it was asked before, so it is asked in the same order.
        of_shard = np.sort(records[records["game"] // 40 == shard], order="game")
        packed = np.ascontiguousarray(of_shard["packed"])
        teacher.new_game()
        places, scores = teacher.best_moves(packed, nodes=NODES)
        offsets, _, codes = _core.successors(packed)
        assert of_shard["move"].tolist() == codes[offsets[:-1] + places].tolist()
        white = np.where(packed[:, 24] & 1, -scores.astype(int), scores)
        mate = np.abs(white) > MOVE_MATE - 1000
        assert mate.any()
        assert of_shard["eval"].tolist() == np.where(mate, white - np.sign(white) * 20_000, white).tolist()
    teacher.close()
    assert (records["result"] == NO_RESULT).all()
    assert len(np.unique(records["game"])) == len(records)


def test_the_line_a_teacher_expects_is_kept_too(games: Path, tmp_path: Path) -> None:
    command = engine(tmp_path, "--mates", "--line", "5")
    records = all_records(choose(games, tmp_path / "out", command, line=3))
    asked = all_records(choose(games, tmp_path / "asked", command))
    assert len(records) > 1.8 * len(asked)
    keys = _core.position_keys(np.ascontiguousarray(records["packed"])).tolist()
    assert len(set(keys)) == len(keys)
    # What was asked for itself has its own answer.
    of_asked = dict(zip(keys, records, strict=True))
    first = asked[asked["game"] < 40]
    for key, each in zip(_core.position_keys(np.ascontiguousarray(first["packed"])), first, strict=True):
        assert of_asked[int(key)]["ply"] == 0
        assert of_asked[int(key)]["eval"] == each["eval"]
    by_place = {(int(each["game"]), int(each["ply"])): each for each in records}
    assert {ply for _, ply in by_place} == {0, 1, 2}
    pairs = [(each, by_place.get((game, ply + 1))) for (game, ply), each in by_place.items()]
    followed = [(one, other) for one, other in pairs if other is not None]
    assert len(followed) > len(asked) / 2
    for one, other in followed:
        board = chess.Board(_core.unpack_fens(one["packed"][None])[0])
        code = int(one["move"])
        board.push(chess.Move(code & 63, code >> 6 & 63, (None, 2, 3, 4, 5)[code >> 12]))
        assert _core.unpack_fens(other["packed"][None])[0].split()[:3] == board.fen().split()[:3]
        # One score for the whole line, in which a mate comes nearer with every move of the side that mates.
        nearer = int(other["eval"]) - int(one["eval"])
        mates, white_mates = abs(int(one["eval"])) > 9000, int(one["eval"]) > 0
        by_the_mater = white_mates != bool(one["packed"][24] & 1)
        assert nearer == (0 if not (mates and by_the_mater) else 1 if white_mates else -1)


def test_each_position_is_asked_once_and_lies_in_the_games_or_a_move_beside(
    games: Path, tmp_path: Path
) -> None:
    source = np.concatenate([shard["packed"] for _, shard in ShardFolder.open(games).shards("train")])
    inside = set(_core.position_keys(np.ascontiguousarray(source)).tolist())
    beside = set(_core.position_keys(_core.successors(np.ascontiguousarray(source))[1]).tolist())

    plain = all_records(choose(games, tmp_path / "plain", engine(tmp_path)))
    keys = _core.position_keys(np.ascontiguousarray(plain["packed"])).tolist()
    assert len(set(keys)) == len(keys)
    assert set(keys) <= inside

    moved = all_records(choose(games, tmp_path / "moved", engine(tmp_path), wander=1.0))
    keys = _core.position_keys(np.ascontiguousarray(moved["packed"])).tolist()
    assert len(set(keys)) == len(keys)
    assert set(keys) <= beside
    assert len(set(keys) - inside) > 60


def test_stripped_positions_have_an_army_against_a_king_and_hardly_more(games: Path, tmp_path: Path) -> None:
    records = all_records(
        choose(games, tmp_path / "out", engine(tmp_path), strip=1.0, positions=400, shard=400)
    )
    boards = [chess.Board(fen) for fen in _core.unpack_fens(np.ascontiguousarray(records["packed"]))]
    assert len(boards) > 60
    assert not any(board.was_into_check() or board.is_game_over() for board in boards)
    men = [sorted(len(board.piece_map(mask=board.occupied_co[side])) for side in (0, 1)) for board in boards]
    assert sum(weak == 1 for weak, _ in men) > len(boards) / 3
    assert sum(strong - weak > 4 for weak, strong in men) > 0.9 * len(boards)
    # Some stalemate at once if the wrong move is made, and the weaker side is of both colours.
    assert any(_stalemating(board) for board in boards)
    stronger = {
        bool(chess.popcount(board.occupied_co[1]) > chess.popcount(board.occupied_co[0])) for board in boards
    }
    assert stronger == {True, False}


def _stalemating(board: chess.Board) -> bool:
    for move in board.legal_moves:
        board.push(move)
        over = board.is_stalemate()
        board.pop()
        if over:
            return True
    return False


def test_only_boards_with_so_many_men_are_asked_about(tmp_path: Path) -> None:
    packed = _core.random_positions(300, seed=2)
    (tmp_path / "list.fen").write_text("\n".join(_core.unpack_fens(packed)) + "\n")
    folder = choose(
        tmp_path / "list.fen", tmp_path / "out", engine(tmp_path), positions=320, men=(12, 20), wander=0.3
    )
    fens = _core.unpack_fens(np.ascontiguousarray(all_records(folder)["packed"]))
    men = {len(chess.Board(fen).piece_map()) for fen in fens}
    assert {12, 20} <= men <= set(range(12, 21))
    assert folder.manifest["options"]["men"] == [12, 20]


def test_validation_is_what_no_mind_trains_on(games: Path, tmp_path: Path) -> None:
    folder = choose(games, tmp_path / "out", engine(tmp_path), positions=2000, shard=1000, wander=1.0)
    for split, examined in (("train", False), ("validation", True)):
        for _, shard in folder.shards(split):
            assert (held_out(np.ascontiguousarray(shard["packed"])) == examined).all()
    assert folder.count("validation") > 0


def test_workers_and_a_larger_number_make_no_difference_to_what_there_is(games: Path, tmp_path: Path) -> None:
    command = engine(tmp_path, "--line", "3")
    one = choose(games, tmp_path / "one", command, wander=0.5, line=2)
    choose(games, tmp_path / "three", command, wander=0.5, workers=3, positions=40, line=2)
    three = choose(games, tmp_path / "three", command, wander=0.5, workers=3, line=2)
    assert one.manifest["shards"] == three.manifest["shards"]
    assert all_records(one).tobytes() == all_records(three).tobytes()


def test_a_list_of_positions_is_asked_whole_before_any_comes_again(games: Path, tmp_path: Path) -> None:
    packed = _core.random_positions(300, seed=2)
    (tmp_path / "list.fen").write_text("\n".join(_core.unpack_fens(packed)) + "\n")
    records = all_records(choose(tmp_path / "list.fen", tmp_path / "out", engine(tmp_path), positions=320))
    playable = packed[np.diff(_core.successors(packed)[0]) > 0]
    asked = _core.position_keys(np.ascontiguousarray(records["packed"]))
    assert set(asked.tolist()) == set(_core.position_keys(np.ascontiguousarray(playable)).tolist())


def test_puzzles_are_left_out(games: Path, tmp_path: Path) -> None:
    puzzles = tmp_path / "puzzles.csv"
    line = "r1bqkbnr/pppp1ppp/2n5/4p3/4P3/5N2/PPPP1PPP/RNBQKB1R w KQkq - 2 3,f1b5 a7a6"
    puzzles.write_text(f"FEN,Moves\n{line}\n")
    folder = choose(games, tmp_path / "out", engine(tmp_path), puzzles=puzzles)
    fens = _core.unpack_fens(np.ascontiguousarray(all_records(folder)["packed"]))
    assert not [fen for fen in fens if fen.startswith("r1bqkbnr/pppp1ppp/2n5/")]
    assert [fen for fen in fens if "r1bq1rk1" in fen]


def test_kill_9_at_any_time_loses_and_doubles_nothing(games: Path, tmp_path: Path) -> None:
    slow, out = engine(tmp_path, "--slow", "2"), tmp_path / "cut"
    program = f"""
from pathlib import Path
from tabiya.data.choosing import Choosers, ChoosingJob
from tabiya.data.teaching import Teaching
from tabiya.scale.local import LOCAL
teaching = Teaching(command={slow!r}, nodes={NODES})
with LOCAL.crew(Choosers(teaching), 2) as crew:
    games, out = Path({str(games)!r}), Path({str(out)!r})
    ChoosingJob(games, out, teaching, crew, positions=600, wander=0.7, shard=100).run()
"""
    shards = []
    for _ in range(2):
        before = len(list(out.glob("*.train.pos")))
        process = subprocess.Popen([sys.executable, "-c", program])
        while process.poll() is None and len(list(out.glob("*.train.pos"))) <= before:
            time.sleep(0.002)
        process.send_signal(signal.SIGKILL)
        process.wait()
        # Half a shard may lie there that the manifest does not name yet.
        shards.append(len(json.loads((out / "manifest.json").read_text())["shards"]) if before else 0)
    assert shards[1] >= 1
    assert subprocess.run([sys.executable, "-c", program]).returncode == 0
    whole = choose(games, tmp_path / "whole", engine(tmp_path), positions=600, wander=0.7, shard=100)
    assert all_records(ShardFolder.open(out)).tobytes() == all_records(whole).tobytes()


def test_two_at_once_are_refused(games: Path, tmp_path: Path) -> None:
    with claimed(tmp_path / "out" / ".lock") as mine:
        assert mine
        with pytest.raises(UserError, match="another `tabiya data choose` is at work"):
            choose(games, tmp_path / "out", engine(tmp_path))


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"wander": 1.5}, "--wander is a share, between 0 and 1, got 1.5"),
        ({"strip": -1}, "--strip is a share, between 0 and 1, got -1"),
        ({"positions": 0}, "--positions must be at least 1, got 0"),
        ({"line": 0}, "--line must be at least 1, got 0"),
        ({"line": 2}, "was begun with line = None, now it is 2"),
        ({"seed": 1}, "was begun with seed = 0, now it is 1"),
    ],
)
def test_a_mistake_is_one_sentence(
    games: Path, tmp_path: Path, settings: dict[str, Any], sentence: str
) -> None:
    choose(games, tmp_path / "out", engine(tmp_path))
    with pytest.raises(UserError, match=sentence):
        choose(games, tmp_path / "out", engine(tmp_path), **settings)
