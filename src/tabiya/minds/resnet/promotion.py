"""A new network in the shipped one's place: how the two files change together.

The network and its manifest are two files, and no system call replaces two.
So both are written beside their targets first, under names that nothing opens
(`.main.onnx.next`, `.main.json.next`), and are then renamed, the network
first. Killed before, nothing has changed; killed between the two renames, the
new network plays and its manifest still waits under the name `.next`; whatever
was left undone is finished by `recover`, with which every promotion begins.
"""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tabiya.errors import UserError
from tabiya.files import checksum
from tabiya.learn.parameters import parameter_count
from tabiya.learn.sidecar import read_sidecar, sidecar_path
from tabiya.minds.resnet.onnx_network import OnnxNetwork
from tabiya.minds.resnet.run_record import run_config, trained_on
from tabiya.minds.resnet.shelf import SHIPPED, network_path
from tabiya.player import PlayerError

FIRST_NAME = "main.onnx"
"""What the network is called where none is shipped yet."""


def candidate_path(where: Path) -> Path:
    """The network that is to be promoted: a file, or the newest one of a run's folder."""
    try:
        return network_path(str(where))
    except PlayerError:
        if where.is_dir() and any(where.glob("step-*.safetensors")):
            raise UserError(
                f"the run {where} has no network yet: "
                f"run `tabiya export onnx {where} --out {where / FIRST_NAME}` first"
            ) from None
        raise


def shipped_path(shelf: Path = SHIPPED) -> Path | None:
    """The network in place; None where there is none yet."""
    return network_path("", shelf) if any(shelf.glob("*.onnx")) else None


def new_manifest(candidate: Path, promotion: dict[str, Any], name: str) -> dict[str, Any]:
    """The manifest of the candidate in its new place.

    Config, training and measurements are those of its own manifest where it
    has one, else of its run's folder; nothing of its predecessor's is taken over.
    """
    own = read_sidecar(candidate) if sidecar_path(candidate).exists() else {}
    folder = candidate.parent
    return {
        "name": name,
        "kind": "resnet",
        "sha256": checksum(candidate),
        "planes": OnnxNetwork(candidate).planes,
        "parameters": int(own.get("parameters") or parameter_count(candidate)),
        "config": own.get("config") or run_config(folder),
        "trained_on": {**own.get("trained_on", {}), **trained_on(folder)},
        "measured": {**own.get("measured", {}), "promotion": promotion},
    }


def install(candidate: Path, promotion: dict[str, Any], shelf: Path = SHIPPED) -> Path:
    """Put the candidate and its manifest in the shipped ones' place; where it now lies."""
    recover(shelf)
    target = shipped_path(shelf) or shelf / FIRST_NAME
    today = datetime.now(UTC).strftime("%Y-%m-%d")
    manifest = new_manifest(candidate, {**promotion, "date": today}, target.stem)
    text = json.dumps(manifest, ensure_ascii=False, indent=1) + "\n"
    shelf.mkdir(parents=True, exist_ok=True)
    try:
        _write(_next(target), candidate.read_bytes())
        _write(_next(sidecar_path(target)), text.encode())
    except BaseException:
        _next(target).unlink(missing_ok=True)
        _next(sidecar_path(target)).unlink(missing_ok=True)
        raise
    _finish(target)
    return target


def recover(shelf: Path = SHIPPED) -> str | None:
    """Finish, or undo, what an earlier promotion was killed in; one sentence about it, if there was any."""
    for waiting in sorted(shelf.glob(".*.onnx.next")):
        target = shelf / waiting.name.removeprefix(".").removesuffix(".next")
        if _describes(_next(sidecar_path(target)), waiting):
            _finish(target)
            return f"finished an earlier promotion of {target.name}, which had been stopped"
        waiting.unlink()
    for waiting in sorted(shelf.glob(".*.json.next")):
        target = (shelf / waiting.name.removeprefix(".").removesuffix(".next")).with_suffix(".onnx")
        if _describes(waiting, target):
            _finish(target)
            return f"finished an earlier promotion of {target.name}, which had been stopped"
        waiting.unlink()
    return None


def _finish(target: Path) -> None:
    """The renames that are still to be made, the network's first."""
    for path in (target, sidecar_path(target)):
        if _next(path).exists():
            os.replace(_next(path), path)
    descriptor = os.open(target.parent, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _describes(manifest: Path, network: Path) -> bool:
    """Whether a manifest is whole and of this network."""
    try:
        return bool(json.loads(manifest.read_text(encoding="utf-8"))["sha256"] == checksum(network))
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _next(path: Path) -> Path:
    return path.with_name(f".{path.name}.next")


def _write(path: Path, content: bytes) -> None:
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
