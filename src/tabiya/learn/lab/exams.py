"""Questions without games: each network's answers are one file, made once.

A file holds the questions' own settings and the network's checksum, so one
that answers other questions, or was answered by another network, is made anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

from tabiya.files import write_json
from tabiya.learn.lab.folder import LabFolder, read_json

Figures: TypeAlias = dict[str, Any]


def unanswered(folder: LabFolder, kind: str, names: Iterable[str], settings: dict[str, Any]) -> list[str]:
    """Those of the networks that have not answered these very questions yet."""
    sums = {name: manifest["sha256"] for name, manifest in folder.manifests(names).items()}
    return [name for name in sums if not _is_answered(folder, name, kind, settings | {"network": sums[name]})]


def answer(
    folder: LabFolder, name: str, kind: str, settings: dict[str, Any], ask: Callable[[], Figures]
) -> None:
    """Put the questions to a network and keep its figures."""
    asked = settings | {"network": folder.manifests([name])[name]["sha256"]}
    write_json(folder.exam(name, kind), {"settings": asked, "figures": ask()})


def answers(folder: LabFolder, name: str, kinds: Iterable[str]) -> dict[str, Figures]:
    """What a network answered, by the exam's kind; only what is there."""
    found = {}
    for kind in kinds:
        path = folder.exam(name, kind)
        if path.exists():
            found[kind] = read_json(path).get("figures", {})
    return found


def _is_answered(folder: LabFolder, name: str, kind: str, settings: dict[str, Any]) -> bool:
    path = folder.exam(name, kind)
    return path.exists() and read_json(path).get("settings") == settings
