"""The files beside the board, found once and named by keys: results, training runs, gene pools.

A request names a key that was made here. What it stands for was found under
the folders the server was started with, so no path ever comes from outside.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tabiya.web import limits
from tabiya.web.refusal import Refusal

_SKIPPED = {"tensorboard", "node_modules", "__pycache__"}


class Archive:
    """What lies under some folders."""

    def __init__(self, folders: Sequence[Path]) -> None:
        self.folders = [Path(folder) for folder in folders]

    def files(self, ending: str) -> dict[str, Path]:
        """The files whose names end so, by their keys, in the order of their paths."""
        found = sorted(path for path in self._walk() if path.name.endswith(ending))
        return {key_of(path): path for path in found}

    def find(self, ending: str, key: str) -> Path:
        path = self.files(ending).get(key)
        if path is None:
            raise Refusal("there is no such file of results here", 404)
        return path

    def name(self, path: Path) -> str:
        """How a file is called on the page: its path under the folder where it was found."""
        for folder in self.folders:
            if path.is_relative_to(folder):
                return str(path.relative_to(folder))
        return path.name

    def _walk(self) -> Iterator[Path]:
        left = limits.MOST_FILES
        for folder in self.folders:
            for here, below, names in os.walk(folder):
                below[:] = sorted(each for each in below if each not in _SKIPPED and not each.startswith("."))
                for name in sorted(names):
                    if not name.startswith("."):
                        left -= 1
                        if left < 0:
                            return
                        yield Path(here) / name


def key_of(path: Path) -> str:
    return hashlib.sha256(str(path.absolute()).encode()).hexdigest()[:16]


def read_object(path: Path) -> dict[str, Any] | None:
    """The JSON object in a file; None where there is none, or one too large to be a result."""
    try:
        if path.stat().st_size > limits.LARGEST_FILE // 8:
            return None
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def thinned(series: list[Any], most: int = limits.MOST_POINTS) -> list[Any]:
    """At most so many of a series, evenly, the first and the last among them."""
    if len(series) <= most:
        return series
    return [series[round(at * (len(series) - 1) / (most - 1))] for at in range(most)]
