"""What tests share: a real engine where there is one, the developer's data folder where it is set."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings

# How long an example takes says more about the machine than about the code.
settings.register_profile("house", deadline=None)
settings.load_profile("house")


def _required(reason: str) -> None:
    """Skip with the reason; in CI, where the package must be installed, fail."""
    if os.environ.get("CI"):
        pytest.fail(f"{reason}, and CI installs it")
    pytest.skip(reason)


@pytest.fixture(scope="session")
def stockfish() -> str:
    """The path of a Stockfish, as Debian installs it or from PATH."""
    path = shutil.which("stockfish") or shutil.which("stockfish", path="/usr/games")
    if path is None:
        _required("stockfish is not installed")
    assert path is not None
    return path


@pytest.fixture(scope="session")
def needs_ray() -> None:
    """The package ray is there; it is not imported here, because it reads the environment when it is."""
    if importlib.util.find_spec("ray") is None:
        _required("the package ray is not installed")


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The developer's folder of real games, puzzles and books: TABIYA_DATA."""
    path = os.environ.get("TABIYA_DATA")
    if not path:
        pytest.skip("TABIYA_DATA names no data folder")
    return Path(path)


@pytest.fixture(scope="session")
def interpreted() -> Callable[[str], float]:
    """Runs a program with kernels of Triton on the processor; the number that it prints."""
    if importlib.util.find_spec("triton") is None:
        pytest.skip("triton is not installed")

    def answer_of(program: str) -> float:
        # In a process of its own: Triton decides when it is first imported whether it interprets.
        answer = subprocess.run(
            [sys.executable, "-c", program],
            env=os.environ | {"TRITON_INTERPRET": "1", "OMP_NUM_THREADS": "1"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert answer.returncode == 0, answer.stderr
        return float(answer.stdout)

    return answer_of
