"""Whose network a path means: told by a file's ending, manifest or own words, or by a run's config."""

from __future__ import annotations

import json
from pathlib import Path

USUAL = "resnet"
"""Whose a network is that says nothing."""


def kind_of(where: Path) -> str:
    """The mind of a network's file, or of the networks in a folder."""
    if where.is_dir():
        kind = _said(where / "config.json", "mind")
        return kind or _kind_of_files(where)
    if where.suffix == ".nnue":
        return "nnue"
    return _said(where.with_suffix(".json"), "kind") or _own_word(where)


def _kind_of_files(folder: Path) -> str:
    from tabiya.player import PlayerError
    from tabiya.protocols.network_path import written_network

    try:
        return kind_of(written_network(USUAL, str(folder), ".onnx"))
    except PlayerError:
        return "nnue" if any(folder.glob("*.nnue")) else USUAL


def _own_word(file: Path) -> str:
    """What an ONNX file tells by its metadata; one that cannot be opened is refused by whoever plays it."""
    from tabiya.minds.transformer.onnx_inputs import METADATA
    from tabiya.player import PlayerError
    from tabiya.protocols.onnx_session import open_session

    try:
        words = open_session(USUAL, file, threads=1).get_modelmeta().custom_metadata_map
    except PlayerError:
        return USUAL
    return "transformer" if METADATA in words else USUAL


def _said(file: Path, key: str) -> str | None:
    """What a JSON file says under a key; None where it says nothing."""
    try:
        return str(json.loads(file.read_text(encoding="utf-8"))[key])
    except (OSError, ValueError, KeyError, TypeError):
        return None
