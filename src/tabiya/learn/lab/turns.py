"""The first stage of every experiment: the networks that its folder lacks, trained in turn."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TypeAlias

from tabiya.files import in_turn
from tabiya.learn.config import config_to_dict
from tabiya.learn.lab.comparison import Variant
from tabiya.learn.lab.folder import LabFolder
from tabiya.learn.lab.plan import LabPlan
from tabiya.learn.lab.training import Say, checksums, refuse_missing_device, train_in_turn

Files: TypeAlias = Iterable[tuple[str, str, bool]]
"""What is learned from: the setting that asks for it, paths separated by ':', whether they are folders."""


def begin_training(lab: LabPlan, folder: LabFolder, files: Files) -> dict[str, str]:
    """Hold a folder to an experiment's settings; the checksums of the files that are learned from."""
    refuse_missing_device(lab.budget.device)
    sums = checksums(files)
    # How the networks are measured has no part in them.
    settings = {name: value for name, value in config_to_dict(lab).items() if name != "measures"}
    folder.begin("lab.json", settings)
    return sums


def train_missing(
    folder: LabFolder,
    variants: Sequence[Variant],
    train_one: Callable[[Variant, float | None], bool],
    minutes: float | None = None,
    say: Say = lambda _text: None,
) -> list[str]:
    """Train each network that the folder lacks and that no other process is training.

    `train_one` is told the minutes left and says whether it came to its end.
    What comes back are the names still missing then.
    """
    waiting = {variant.name: variant for variant in folder.lacking(variants)}

    def train(name: str, left: float | None) -> bool:
        with folder.claim(name) as mine:
            if not mine or folder.has_network(name):
                return True
            lacking = len(folder.lacking(variants))
            say(f"{name}: {waiting[name].title} ({lacking} of {len(variants)} left)")
            return train_one(waiting[name], left)

    train_in_turn(list(waiting), train, minutes)
    return [variant.name for variant in folder.lacking(variants)]


def device_turn() -> AbstractContextManager[None]:
    """The training device to itself, once those before are done with it, whichever experiment they are of.

    Processes that take a device at the same time get less of it together than one that has it alone.
    """
    whose = getattr(os, "getuid", lambda: "one")()
    return in_turn(Path(tempfile.gettempdir()) / f"tabiya-device-of-{whose}.lock")
