"""The bench compares equal work and says what it compared."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tabiya import _core
from tabiya.bench.inputs import pgn_inputs, random_inputs
from tabiya.bench.measure import HotPath, Measurement, measure
from tabiya.bench.paths import PATHS
from tabiya.errors import UserError

TWO_GAMES = """[Event "one"]
[Result "1-0"]

1. e4 e5 2. Bc4 Nc6 3. Qh5 Nf6 4. Qxf7# 1-0

[Event "two"]
[Result "0-1"]

1. f3 e5 2. g4 Qh4# 0-1
"""


def bench(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "tabiya", "bench", *words], capture_output=True, text=True)


@pytest.mark.parametrize("name", PATHS)
def test_every_path_gives_what_python_chess_gives(name: str, tmp_path: Path) -> None:
    path = PATHS[name][0](random_inputs(tmp_path, positions=120, seed=2))
    assert path.name == name
    assert path.items > 0
    assert path.same(path.here(), path.python_chess())


def test_a_path_with_different_answers_is_not_measured() -> None:
    path = HotPath("odd", "numbers", 1, lambda: 1, lambda: 2, lambda here, there: here == there)
    with pytest.raises(RuntimeError, match=r"bench odd.*not python-chess's"):
        measure(path, repeat=1)


def test_a_measurement_has_one_ratio_for_each_repeat() -> None:
    repeats = []
    path = HotPath("sum", "numbers", 1000, lambda: sum(range(10)), lambda: sum(range(10)), int.__eq__)
    measured = measure(path, 3, lambda: repeats.append(1))
    assert len(measured.ratios) == len(repeats) == 3


def test_the_ratio_is_the_median_with_its_spread() -> None:
    figures = Measurement("sum", "numbers", here=(100, 400, 300), python_chess=(10, 10, 10)).as_json()
    assert (figures["ratio_low"], figures["ratio"], figures["ratio_high"]) == (10, 30, 40)
    assert (figures["per_second"], figures["python_chess_per_second"]) == (300, 10)


def test_random_games_are_the_same_for_the_same_seed(tmp_path: Path) -> None:
    first, second = (random_inputs(tmp_path, 150, seed=4) for _ in range(2))
    assert np.array_equal(first.packed, second.packed)
    records = _core.pgn_records(first.games)
    assert np.array_equal(records[:150, :32], first.packed)


@pytest.mark.parametrize("ending", ["", ".gz", ".bz2", ".zst"])
def test_positions_come_from_a_pgn_file_however_it_is_packed(tmp_path: Path, ending: str) -> None:
    file = tmp_path / f"games.pgn{ending}"
    file.write_bytes(_packed_as(ending, TWO_GAMES.encode()))
    inputs = pgn_inputs(tmp_path, file, positions=9)
    assert len(inputs.packed) == 9
    assert _core.unpack_fens(inputs.packed)[7].endswith("w KQkq - 0 1")


def _packed_as(ending: str, text: bytes) -> bytes:
    import bz2
    import gzip

    import zstandard

    ways = {".gz": gzip.compress, ".bz2": bz2.compress, ".zst": zstandard.compress}
    return ways[ending](text) if ending else text


def test_a_file_without_games_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "empty.pgn"
    file.write_text("")
    with pytest.raises(UserError, match="no game in"):
        pgn_inputs(tmp_path, file, 10)
    damaged = tmp_path / "damaged.pgn.zst"
    damaged.write_bytes(b"not zstandard")
    with pytest.raises(UserError, match="is damaged"):
        pgn_inputs(tmp_path, damaged, 10)


def test_the_command_prints_and_keeps_its_figures(tmp_path: Path) -> None:
    answer = bench(
        "fen", "pack", "--positions", "40", "--repeat", "2", "--json", "--out", str(tmp_path / "new")
    )
    assert (answer.returncode, answer.stderr) == (0, "")
    report = json.loads(answer.stdout)
    assert [path["name"] for path in report["paths"]] == ["fen", "pack"]
    assert all(len(path["ratios"]) == 2 for path in report["paths"])
    assert json.loads((tmp_path / "new/bench.json").read_text()) == report


def test_the_command_shows_a_table() -> None:
    answer = bench("tokens", "--positions", "40", "--repeat", "1")
    assert answer.returncode == 0
    assert "40 positions" in answer.stdout
    assert "×" in answer.stdout


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["planez"], "unknown bench 'planez', did you mean 'planes'?"),
        (["--repeat", "0"], "--repeat must be at least 1, got 0"),
        (["--pgn", "nowhere.pgn"], "no file nowhere.pgn"),
    ],
)
def test_a_wrong_word_is_one_sentence(words: list[str], sentence: str) -> None:
    answer = bench(*words)
    assert (answer.returncode, answer.stderr) == (2, f"tabiya: {sentence}\n")
