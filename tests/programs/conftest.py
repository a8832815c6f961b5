"""A `tabiya` program and a home folder of the test's own, and the chess programs where they are installed.

The chess programs are Debian's xboard, polyglot, pychess and xvfb. Where one is
missing, its tests are skipped with that reason; with CI set they fail, but for
pychess, which is a large package.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import tabiya


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home, of which the programs under test know nothing else."""
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    return folder


@pytest.fixture
def starter(tmp_path: Path) -> Path:
    """A program that is this very Tabiya, in a folder whose name has a space."""
    path = tmp_path / "my programs" / "tabiya"
    path.parent.mkdir()
    source = Path(tabiya.__file__).parents[1]
    path.write_text(f"#!/bin/sh\nPYTHONPATH='{source}' exec '{sys.executable}' -m tabiya \"$@\"\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def installed_program() -> Callable[[str], str]:
    """The path of a Debian program; the test is skipped, or fails, where it is not installed."""

    def find(name: str) -> str:
        path = shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/games")
        if path is None:
            if os.environ.get("CI") and name != "pychess":
                pytest.fail(f"{name} is not installed")
            pytest.skip(f"{name} is not installed")
        return path

    return find
