"""What the tests of several minds' experiments do alike."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tabiya import _core
from tabiya.cli import main
from tabiya.data.labels import held_out, write_move_labels

PUZZLES = """PuzzleId,FEN,Moves,Rating,RatingDeviation,Popularity,NbPlays,Themes,GameUrl,OpeningTags
a,6k1/5ppp/8/8/8/8/r4PPP/1R1R2K1 b - - 0 1,a2a3 d1d8,1300,80,90,10,mate,,
b,6k1/5ppp/8/8/8/8/r4PPP/1R1R2K1 b - - 0 1,a2a4 b1b8,1700,80,90,10,mate,,
"""


@pytest.fixture(scope="session")
def two_puzzles() -> str:
    """Mates in one, in Lichess's columns."""
    return PUZZLES


@pytest.fixture(scope="session")
def random_labels() -> Callable[[Path, int, int], None]:
    """Writes labels of so many positions with a seed that leaves some of them held out."""

    def write(path: Path, count: int, seed: int) -> None:
        positions = _core.random_positions(count, seed)
        assert held_out(positions).sum() >= 2
        offsets, _, _ = _core.successors(positions)
        scores = np.random.default_rng(seed).integers(-300, 300, offsets[-1]).astype(np.int16)
        write_move_labels(path, (positions, offsets, scores))

    return write


@pytest.fixture
def run_lab(capsys: pytest.CaptureFixture[str]) -> Callable[..., dict[str, Any]]:
    """Runs an experiment; what it prints as JSON."""

    def run(*words: object) -> dict[str, Any]:
        assert main(["lab", *map(str, words), "--json"]) == 0
        return dict(json.loads(capsys.readouterr().out))

    return run


@pytest.fixture(scope="session")
def lab_without() -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs an experiment in a process of its own, where the modules named first are not installed."""

    def run(modules: tuple[str, ...], *words: object) -> subprocess.CompletedProcess[str]:
        program = (
            "import sys\n"
            f"for name in {modules!r}: sys.modules[name] = None\n"
            "from tabiya.cli import main\n"
            "sys.exit(main(sys.argv[1:]))\n"
        )
        command = [sys.executable, "-c", program, "lab", *map(str, words)]
        alone = os.environ | {"OMP_NUM_THREADS": "1"}
        return subprocess.run(command, env=alone, capture_output=True, text=True)

    return run


@pytest.fixture
def check_training_in_parts(tmp_path: Path) -> Callable[..., None]:
    """Trains an experiment at one go and in pieces: it stops when it must, and the networks are the same."""
    from tabiya.learn.lab.folder import LabFolder

    def check(train: Callable[..., list[str]], lab: Any, names: list[str], suffix: str = ".onnx") -> None:
        whole, parts = LabFolder(tmp_path / "whole", suffix), LabFolder(tmp_path / "parts", suffix)
        assert train(lab, whole) == []
        assert train(lab, parts, minutes=0) == names
        rounds = 0
        while train(lab, parts, minutes=1e-9 if rounds < 3 else None):
            rounds += 1
            assert rounds < 20
        assert rounds >= 1
        for name in names:
            assert parts.network(name).read_bytes() == whole.network(name).read_bytes()

    return check
