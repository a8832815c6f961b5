"""Games to shards: what is kept, what is counted, and going on after a stop."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import chess.pgn
import numpy as np
import pytest
import zstandard

from tabiya import _core
from tabiya.data.extract import BUCKETS, TIERS, Extraction, Tier, extract
from tabiya.data.shards import NO_EVAL, NO_RESULT, RECORD, ShardFolder
from tabiya.errors import UserError

SCHOLAR = "1. e4 e5 2. Qh5 Nc6 3. Bc4 Nf6 4. Qxf7# 1-0"
FOOL = "1. f3 e5 2. g4 Qh4# 0-1"


def game(moves: str, white: int | str = 2600, black: int | str = 2600, extra: str = "") -> str:
    result = moves.split()[-1]
    return f'[WhiteElo "{white}"]\n[BlackElo "{black}"]\n[Result "{result}"]\n{extra}\n{moves}\n\n'


def random_game(seed: int, plies: int = 60) -> str:
    rng = np.random.default_rng(seed)
    board, words = _core.Board(), []
    while len(words) < plies and board.outcome() is None:
        moves = board.legal_moves()
        move = moves[rng.integers(len(moves))]
        words.append(board.san(move))
        board.push(move)
    return " ".join(words) + " *"


@pytest.fixture(scope="session")
def many_games(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A PGN of 400 random games, rated 2000 to 2800, three of them broken."""
    path = tmp_path_factory.mktemp("games") / "many.pgn"
    rng = np.random.default_rng(7)
    # A long tag makes the file many chunks long, so that it fills several shards.
    padding = f'[Annotator "{"x" * 1000}"]\n'
    games = [game(random_game(seed), *rng.integers(2000, 2800, 2), padding) for seed in range(400)]
    for at, moves in ((50, "1. e4 e5 2. Ke5 *"), (150, "1. e4 {no end"), (399, "1. zz9 *")):
        games[at] = game(moves)
    path.write_text("".join(games))
    return path


def records(folder: Path, split: str | None = None) -> np.ndarray:
    shards = ShardFolder.open(folder)
    splits = [split] if split else ["train", "validation"]
    return np.concatenate([shard for s in splits for _, shard in shards.shards(s)] or [np.zeros(0, RECORD)])


def test_every_position_is_kept_without_options(tmp_path):
    path = tmp_path / "two.pgn"
    path.write_text(game(SCHOLAR, 2000, 2100) + game(FOOL))
    manifest = extract([path], tmp_path / "out")
    kept = records(tmp_path / "out")
    assert manifest["counts"]["positions_kept"] == len(kept) == 7 + 4
    first = kept[(kept["game"] == 0) & (kept["ply"] == 0)][0]
    assert _core.Board.from_packed(first["packed"].tobytes()).fen() == _core.Board().fen()
    assert _core.code_to_uci(int(first["move"])) == "e2e4"
    assert (first["white_elo"], first["black_elo"], first["result"], first["eval"]) == (
        2000,
        2100,
        1,
        NO_EVAL,
    )


def test_the_records_replay_to_python_chess_positions(tmp_path, many_games):
    extract([many_games], tmp_path / "out")
    kept = np.sort(records(tmp_path / "out"), order=["game", "ply"])
    fens = iter(_core.unpack_fens(np.ascontiguousarray(kept["packed"])))
    moves = iter(kept["move"])
    for text in many_games.read_text().split("[WhiteElo")[1:]:
        parsed = chess.pgn.read_game(io.StringIO("[WhiteElo" + text))
        assert parsed is not None
        if parsed.errors or "no end" in text:
            continue
        board = parsed.board()
        for move in parsed.mainline_moves():
            assert next(fens) == board.fen()
            assert _core.code_to_uci(int(next(moves))) == move.uci()
            board.push(move)
    assert next(fens, None) is None


def test_broken_games_are_skipped_counted_and_named_by_file_and_line(tmp_path):
    path = tmp_path / "some.pgn"
    path.write_text(game(SCHOLAR) + game("1. e4 e5 2. Ke5 *") + game("1. e4 {no end") + game(FOOL))
    manifest = extract([path], tmp_path / "out")
    assert manifest["counts"]["games"] == 4
    assert manifest["counts"]["games_broken"] == 2
    assert [(entry["file"], entry["line"]) for entry in manifest["broken"]] == [
        ("some.pgn", 7),
        ("some.pgn", 13),
    ]
    assert "Ke5" in manifest["broken"][0]["why"]
    assert "comment" in manifest["broken"][1]["why"]
    assert len(records(tmp_path / "out")) == 11


@pytest.mark.parametrize("ending", [".gz", ".bz2", ".zst"])
def test_compressed_games_give_the_same_records(tmp_path, many_games, ending):
    text = many_games.read_bytes()
    pack = {".gz": gzip.compress, ".bz2": bz2.compress, ".zst": zstandard.compress}[ending]
    (tmp_path / f"many.pgn{ending}").write_bytes(pack(text))
    extract([tmp_path / f"many.pgn{ending}"], tmp_path / "packed")
    extract([many_games], tmp_path / "plain")
    assert np.array_equal(records(tmp_path / "packed"), records(tmp_path / "plain"))


@pytest.mark.parametrize("ending", [".gz", ".bz2", ".zst"])
def test_a_cut_off_file_is_refused_with_a_sentence(tmp_path, many_games, ending):
    pack = {".gz": gzip.compress, ".bz2": bz2.compress, ".zst": zstandard.compress}[ending]
    packed = pack(many_games.read_bytes())
    path = tmp_path / f"cut.pgn{ending}"
    path.write_bytes(packed[: len(packed) // 2])
    with pytest.raises(UserError, match=r"cut\.pgn.*(cut|damaged)"):
        extract([path], tmp_path / "out")


def test_evaluations_in_comments_stay_with_the_position_they_judge(tmp_path):
    path = tmp_path / "evals.pgn"
    path.write_text(game("1. e4 { [%eval 0.25] } e5 { [%eval #4] } 2. Nf3 *"))
    extract([path], tmp_path / "out")
    assert list(records(tmp_path / "out")["eval"]) == [NO_EVAL, 25, 9996]


def test_value_labels_of_a_file_are_joined_ply_for_ply(tmp_path):
    path = tmp_path / "g.pgn"
    path.write_text(game(SCHOLAR) + game("1. Ke9 *") + game(FOOL))
    (tmp_path / "labels").mkdir()
    np.arange(100, 111, dtype="<i2").tofile(tmp_path / "labels" / "g.i16")
    extract([path], tmp_path / "out", Extraction(from_ply=2), evals=tmp_path / "labels")
    kept = np.sort(records(tmp_path / "out"), order=["game", "ply"])
    assert list(kept["eval"]) == [102, 103, 104, 105, 106, 109, 110]


def test_value_labels_of_another_length_are_refused(tmp_path):
    path = tmp_path / "g.pgn"
    path.write_text(game(SCHOLAR))
    np.arange(6, dtype="<i2").tofile(tmp_path / "g.i16")
    with pytest.raises(UserError, match="7 plies, but its value labels number 6"):
        extract([path], tmp_path / "out", evals=tmp_path)


def test_tiers_go_by_the_lower_rating_and_buckets_by_the_average(tmp_path):
    path = tmp_path / "rated.pgn"
    path.write_text(game(SCHOLAR, 2700, 2450) + game(FOOL, 1900, 2900) + game("1. d4 d5 *", "?", 2600))
    extract([path], tmp_path / "tiers", Extraction(tiers=TIERS))
    assert set(records(tmp_path / "tiers")["tier"]) == {2}
    extract([path], tmp_path / "buckets", Extraction(tiers=BUCKETS, rated_by="average"))
    by_game = {int(r["game"]): int(r["tier"]) for r in records(tmp_path / "buckets")}
    assert by_game == {0: 4, 1: 3, 2: 1}


def test_a_tier_is_sampled_and_bounded(tmp_path, many_games):
    tiers = (Tier("low", 0, 2400, sample=0.5), Tier("high", 2400, 65535, max_positions=100))
    manifest = extract([many_games], tmp_path / "out", Extraction(tiers=tiers))
    kept = records(tmp_path / "out")
    assert np.count_nonzero(kept["tier"] == 2) == 100
    low = np.count_nonzero(kept["tier"] == 1)
    share = low / (low + manifest["counts"]["positions_not_sampled"])
    assert 0.45 < share < 0.55


def test_games_faster_than_the_limit_are_left_out_where_a_time_control_is_given(tmp_path):
    path = tmp_path / "timed.pgn"
    tag = '[TimeControl "{}"]\n'
    path.write_text(
        game(SCHOLAR, extra=tag.format("600+5"))
        + game(FOOL, extra=tag.format("40/7200:3600"))
        + game("1. d4 *")
    )
    manifest = extract([path], tmp_path / "out", Extraction(min_minutes=15))
    assert manifest["counts"]["games_too_fast"] == 1
    assert set(records(tmp_path / "out")["game"]) == {1, 2}


def test_one_position_of_each_game_after_twenty_half_moves(tmp_path, many_games):
    extract([many_games], tmp_path / "out", Extraction(one_per_game=True, from_ply=20))
    kept = records(tmp_path / "out")
    assert len(np.unique(kept["game"])) == len(kept) > 380
    assert kept["ply"].min() >= 20
    assert len(np.unique(kept["ply"])) > 20


def test_duplicates_are_kept_as_often_as_asked(tmp_path, many_games):
    for copies in (1, 3):
        manifest = extract([many_games], tmp_path / str(copies), Extraction(copies=copies))
        kept = records(tmp_path / str(copies))
        _, counts = np.unique(_core.position_keys(np.ascontiguousarray(kept["packed"])), return_counts=True)
        assert counts.max() == copies
        assert manifest["counts"]["positions_duplicate"] == manifest["counts"]["plies"] - len(kept)


def test_the_seed_decides_the_sample_and_the_threads_do_not(tmp_path, many_games):
    def sample(name: str, seed: int, threads: int) -> np.ndarray:
        extract([many_games], tmp_path / name, Extraction(sample=0.3, seed=seed), threads=threads)
        return records(tmp_path / name)

    assert np.array_equal(sample("a", 1, 1), sample("b", 1, 4))
    assert not np.array_equal(sample("c", 2, 1), records(tmp_path / "a"))


def test_the_validation_split_is_one_game_in_a_hundred_and_never_changes(tmp_path):
    path = tmp_path / "many.pgn"
    path.write_text("".join(game(random_game(seed, 8)) for seed in range(3000)))
    extract([path], tmp_path / "out")
    held_out = np.unique(records(tmp_path / "out", "validation")["game"])
    assert 15 <= len(held_out) <= 50
    assert not set(held_out) & set(records(tmp_path / "out", "train")["game"])
    # The rule is fixed for ever: were it to change, networks would have trained on their exam.
    assert list(held_out[:5]) == [59, 131, 147, 216, 286]


def test_positions_on_puzzle_lines_and_one_ply_from_them_are_left_out(tmp_path):
    path = tmp_path / "g.pgn"
    path.write_text(game("1. e4 e5 2. Nf3 Nc6 3. Bb5 a6 4. Ba4 Nf6 *"))
    board = _core.Board()
    for move in ("e2e4", "e7e5"):
        board.push(move)
    puzzles = tmp_path / "puzzles.csv"
    puzzles.write_text(f"PuzzleId,FEN,Moves,Rating,Themes\nx,{board.fen()},g1f3 b8c6,1500,short\n")
    manifest = extract([path], tmp_path / "out", puzzles=puzzles)
    # On the line: plies 2, 3, 4; one before: 1; one after: 5.
    assert sorted(records(tmp_path / "out")["ply"]) == [0, 6, 7]
    assert manifest["counts"]["positions_near_puzzles"] == 5
    assert manifest["excluded_puzzles"]["puzzles"] == 1


def test_some_positions_wander_and_nothing_is_known_of_them(tmp_path, many_games):
    labels = tmp_path / "labels"
    labels.mkdir()
    plies = extract([many_games], tmp_path / "whole")["counts"]["plies"]
    np.full(plies, 33, "<i2").tofile(labels / "many.i16")
    wandering = Extraction(wander=0.3, seed=2)
    counts = extract([many_games], tmp_path / "out", wandering, evals=labels)["counts"]
    kept, before = records(tmp_path / "out", "train"), records(tmp_path / "whole", "train")
    strayed = kept["move"] == 0
    assert 0.25 < strayed.mean() < 0.35
    assert (kept["eval"][strayed] == NO_EVAL).all()
    assert (kept["eval"][~strayed] == 33).all()
    assert len(before) - len(kept) == counts["positions_ended"] > 0
    played = {(row["game"], row["ply"]): row["packed"] for row in before}
    for row in kept[strayed][::50]:
        _, after, _ = _core.successors(played[row["game"], row["ply"] - 1][None])
        keys = _core.position_keys(after)
        assert _core.position_keys(row["packed"][None])[0] in keys
    assert (records(tmp_path / "out", "validation")["move"] != 0).all()
    extract([many_games], tmp_path / "again", wandering, evals=labels)
    assert np.array_equal(records(tmp_path / "again"), records(tmp_path / "out"))
    extract([many_games], tmp_path / "other", Extraction(wander=0.3, seed=3))
    assert not np.array_equal(records(tmp_path / "other", "train")["move"], kept["move"])


def test_who_won_says_nothing_of_a_position_that_wandered(tmp_path):
    path = tmp_path / "g.pgn"
    path.write_text(game(SCHOLAR))
    extract([path], tmp_path / "out", Extraction(wander=0.5, seed=1))
    kept = records(tmp_path / "out", "train")
    assert set(kept["result"][kept["move"] == 0]) == {NO_RESULT}
    assert set(kept["result"][kept["move"] != 0]) == {1}


def test_what_wanders_keeps_away_from_puzzles(tmp_path):
    path = tmp_path / "g.pgn"
    path.write_text(game("1. e4 e5 2. Nf3 Nc6 *"))
    board = _core.Board()
    for move in ("e2e4", "e7e5", "g1f3"):
        board.push(move)
    line = [(board, "b8c6"), (board, "d7d6")]
    puzzles = tmp_path / "puzzles.csv"
    rows = [f"x{n},{at.fen()},{move},1500,short" for n, (at, move) in enumerate(line)]
    puzzles.write_text("PuzzleId,FEN,Moves,Rating,Themes\n" + "\n".join(rows) + "\n")
    near = _core.Exclusion()
    for at, move in line:
        near.add_line(at.fen(), [move])
    met = 0
    for seed in range(60):
        out = tmp_path / str(seed)
        met += extract([path], out, Extraction(wander=1.0, seed=seed), puzzles=puzzles)["counts"].get(
            "positions_near_puzzles", 0
        )
        packed = np.ascontiguousarray(records(out, "train")["packed"])
        assert not any(near.near(packed))
    assert met > 60


def test_a_puzzle_file_with_wrong_columns_is_refused(tmp_path):
    (tmp_path / "g.pgn").write_text(game(FOOL))
    (tmp_path / "p.csv").write_text("a,b\n1,2\n")
    with pytest.raises(UserError, match=r"p\.csv has no FEN and Moves columns"):
        extract([tmp_path / "g.pgn"], tmp_path / "out", puzzles=tmp_path / "p.csv")


@pytest.mark.parametrize("row", ["8/8 w,e2e4", "only-a-fen", '"no end of this'])
def test_a_bad_line_of_a_puzzle_file_is_named(tmp_path, row):
    (tmp_path / "g.pgn").write_text(game(FOOL))
    (tmp_path / "p.csv").write_text(f"FEN,Moves\n{row}{'x' * 200_000}\n")
    with pytest.raises(UserError, match=r"p\.csv, line \d"):
        extract([tmp_path / "g.pgn"], tmp_path / "out", puzzles=tmp_path / "p.csv")


def test_going_on_with_other_settings_is_refused_by_name(tmp_path, many_games):
    extract([many_games], tmp_path / "out", Extraction(seed=1))
    with pytest.raises(UserError, match="seed = 1, now it is 2"):
        extract([many_games], tmp_path / "out", Extraction(seed=2))


def test_a_full_disk_is_one_sentence_and_loses_no_finished_shard(tmp_path, many_games):
    # A limit on the size of files is how a full disk looks to the writer.
    script = (
        "import resource, signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000));"
        "from tabiya.data import extract as e; e.SHARD_RECORDS = 3000;"
        "from tabiya.cli import main; sys.exit(main(sys.argv[1:]))"
    )
    out = tmp_path / "out"
    command = [sys.executable, "-c", script, "data", "extract", str(many_games), "--out", str(out)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "too large" in done.stderr.lower()
    assert not list(out.glob("*.part"))


def test_an_unwritable_folder_is_one_sentence(tmp_path, many_games):
    blocker = tmp_path / "file"
    blocker.write_text("")
    command = [
        sys.executable,
        "-m",
        "tabiya",
        "data",
        "extract",
        str(many_games),
        "--out",
        str(blocker / "x"),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 2
    assert done.stderr.startswith("tabiya: Not a directory")
    assert done.stderr.count("\n") == 1


SLOW_EXTRACT = """
import sys, time
from tabiya.data.extract import Extraction, extract
extract([sys.argv[1]], sys.argv[2], Extraction(copies=2, sample=0.7, seed=5), shard_records=1500,
        on_progress=lambda *_: time.sleep(0.05))
"""


def test_kill_nine_in_the_middle_and_the_next_run_goes_on_to_the_same_bytes(tmp_path, many_games):
    settings = Extraction(copies=2, sample=0.7, seed=5)
    whole = extract([many_games], tmp_path / "whole", settings, shard_records=1500)
    out = tmp_path / "killed"
    kills = 0
    for shards in (1, 2, 4):
        process = subprocess.Popen([sys.executable, "-c", SLOW_EXTRACT, str(many_games), str(out)])
        while process.poll() is None and len(list(out.glob("*.train.pos"))) < shards:
            time.sleep(0.005)
        if process.poll() is None:
            os.kill(process.pid, signal.SIGKILL)
            kills += 1
        process.wait()
    assert kills >= 2
    resumed = extract([many_games], out, settings, shard_records=1500)
    assert resumed["complete"]
    assert resumed["counts"] == whole["counts"]
    assert resumed["shards"] == whole["shards"]
    for shard in whole["shards"]:
        for split in ("train", "validation"):
            name = f"{shard['name']}.{split}.pos"
            assert (out / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


def test_a_damaged_shard_is_found_when_a_folder_is_opened(tmp_path, many_games):
    extract([many_games], tmp_path / "out")
    shard = next((tmp_path / "out").glob("*.train.pos"))
    shard.write_bytes(shard.read_bytes()[:-1])
    with pytest.raises(UserError, match="its manifest says"):
        ShardFolder.open(tmp_path / "out")


def test_the_manifest_names_its_sources_by_checksum(tmp_path, many_games):
    import hashlib

    extract([many_games], tmp_path / "out")
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert manifest["sources"][0]["sha256"] == hashlib.sha256(many_games.read_bytes()).hexdigest()
    assert manifest["sources"][0]["games"] == 400
    assert manifest["sources"][0]["broken"] == 3
