"""What the phases learn from, by name: @games, @labels, @own and @mistakes.

A pipeline makes these itself, so its file cannot know their paths. They stand
for files of the work folder once a stage needs them; every other path is
taken as it is written.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tabiya.errors import UserError
from tabiya.minds.resnet.training import ResNetTraining

GAMES = "@games"
"""The extracted games."""
LABELS = "@labels"
"""All move labels so far, each position once, exams left out."""
OWN = "@own"
"""Positions of the games with the network's own value of every successor."""
MISTAKES = "@mistakes"
"""Of the labels, those that self-play asked for."""


def check_sources(
    training: ResNetTraining, name: str, known: tuple[str, ...], begins_anew: bool = True
) -> None:
    """`UserError` if a run names what its phase does not have, or sets what the pipeline sets."""
    if training.start_from is not None and not begins_anew:
        raise UserError(f"{name}.start_from is set by the pipeline: it goes on from the run before")
    for source in training.sources:
        for path in source.path.split(":"):
            if not path.startswith("@"):
                continue
            if path not in known:
                raise UserError(f"{name} cannot learn from {path!r}, only from {', '.join(known)} and files")
            if (path == GAMES) != (source.kind == "games"):
                wanted = '"games"' if path == GAMES else '"labels" or "successors"'
                raise UserError(f"{name} reads {path} with kind = {wanted}, got {source.kind!r}")


def resolved(training: ResNetTraining, places: Mapping[str, str], **changes: Any) -> ResNetTraining:
    """The run with every @name as the path it stands for; one that stands for nothing ("") is left out."""
    sources = []
    for source in training.sources:
        paths = [places[path] if path.startswith("@") else path for path in source.path.split(":")]
        if joined := ":".join(path for path in paths if path):
            sources.append(replace(source, path=joined))
    return replace(training, sources=tuple(sources), **changes)
