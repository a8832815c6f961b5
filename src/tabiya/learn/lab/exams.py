"""Questions without games: each network's answers are one file, made once.

A file holds the questions' own settings and the network's checksum, so one
that answers other questions, or was answered by another network, is made anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from tabiya.data.shards import data_checksum
from tabiya.files import write_json
from tabiya.learn.lab.folder import LabFolder, read_json
from tabiya.learn.lab.games import Meter, Progress

Figures: TypeAlias = dict[str, Any]
Ask: TypeAlias = Callable[[str, Meter], Figures]
"""Puts an exam's questions to a network."""


def sit_exam(
    folder: LabFolder,
    kind: str,
    names: Iterable[str],
    settings: dict[str, Any],
    questions: Callable[[], tuple[int, Ask]],
    progress: Progress,
) -> None:
    """Put an exam to every network that has not answered it yet and is not being asked by another process.

    `questions` are read only if somebody is asked: how many positions they have, and how they are put.
    """
    missing = unanswered(folder, kind, names, settings)
    if not missing:
        return
    positions, ask = questions()
    for name in missing:
        with folder.claim(f"{name}.{kind}") as mine:
            if not mine or not unanswered(folder, kind, [name], settings):
                continue
            with progress(f"{kind}: {name}", positions) as meter:
                answer(folder, name, kind, settings, partial(ask, name, meter))


def drawn_settings(sources: Iterable[Path], count: int, seed: int) -> dict[str, Any]:
    """The settings of an exam that draws so many questions from files or folders of games."""
    return {"sha256": [data_checksum(source) for source in sources], "count": count, "seed": seed}


def unanswered(folder: LabFolder, kind: str, names: Iterable[str], settings: dict[str, Any]) -> list[str]:
    """Those of the networks that have not answered these very questions yet."""
    sums = folder.network_sums(names)
    return [name for name in sums if not _is_answered(folder, name, kind, settings | {"network": sums[name]})]


def answer(
    folder: LabFolder, name: str, kind: str, settings: dict[str, Any], ask: Callable[[], Figures]
) -> None:
    """Put the questions to a network and keep its figures."""
    asked = settings | {"network": folder.network_sums([name])[name]}
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
