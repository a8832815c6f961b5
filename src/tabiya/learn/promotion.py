"""A new network in the shipped one's place, of whatever mind: how the two files change together.

The network and its manifest are two files, and no system call replaces two.
So both are written beside their targets first, under names that nothing opens
(`.main.onnx.next`, `.main.json.next`), and are then renamed, the network
first. Killed before, nothing has changed; killed between the two renames, the
new network plays and its manifest still waits under the name `.next`; whatever
was left undone is finished by `Shelf.recover`, with which every promotion begins.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tabiya.files import checksum
from tabiya.learn.run_record import run_config, trained_on
from tabiya.learn.sidecar import read_sidecar, sidecar_path
from tabiya.protocols.network_path import shipped_network

FIRST_NAME = "main"
"""What the network is called where none is shipped yet."""


@dataclass(frozen=True)
class Shelf:
    """Where a mind's shipped network lies, and what only that mind knows of such a file."""

    kind: str
    folder: Path
    suffix: str
    inputs: Callable[[Path], dict[str, Any]]
    """What the network in a file is shown, for its manifest; a file that is none is refused here."""
    parameters: Callable[[Path], int]
    """Asked only where no manifest says it."""
    learned: Callable[[Path], dict[str, Any]] = lambda _network: {}
    """`trained_on` as far as files beside the network tell it."""

    def shipped(self) -> Path | None:
        """The network in place; None where there is none yet."""
        return shipped_network(self.folder, self.suffix)

    def manifest(self, candidate: Path, promotion: dict[str, Any], name: str) -> dict[str, Any]:
        """The manifest of the candidate in its new place.

        Config, training and measurements are those of its own manifest where it
        has one, else of its run's folder; nothing of its predecessor's is taken over.
        """
        own = read_sidecar(candidate) if sidecar_path(candidate).exists() else {}
        folder = candidate.parent
        learned = {**self.learned(candidate), **own.get("trained_on", {}), **trained_on(folder)}
        return {
            "name": name,
            "kind": self.kind,
            "sha256": checksum(candidate),
            **self.inputs(candidate),
            "parameters": int(own.get("parameters") or self.parameters(candidate)),
            "config": own.get("config") or run_config(folder),
            "trained_on": learned,
            "measured": {**own.get("measured", {}), "promotion": promotion},
        }

    def install(self, candidate: Path, promotion: dict[str, Any]) -> Path:
        """Put the candidate and its manifest in the shipped ones' place; where it now lies."""
        self.recover()
        target = self.shipped() or self.folder / f"{FIRST_NAME}{self.suffix}"
        today = datetime.now(UTC).strftime("%Y-%m-%d")
        manifest = self.manifest(candidate, {**promotion, "date": today}, target.stem)
        text = json.dumps(manifest, ensure_ascii=False, indent=1) + "\n"
        self.folder.mkdir(parents=True, exist_ok=True)
        try:
            _write(_next(target), candidate.read_bytes())
            _write(_next(sidecar_path(target)), text.encode())
        except BaseException:
            _next(target).unlink(missing_ok=True)
            _next(sidecar_path(target)).unlink(missing_ok=True)
            raise
        _finish(target)
        return target

    def recover(self) -> str | None:
        """Finish, or undo, what an earlier promotion was killed in; one sentence about it, if any was."""
        for waiting in sorted(self.folder.glob(f".*{self.suffix}.next")):
            target = self.folder / waiting.name.removeprefix(".").removesuffix(".next")
            if _describes(_next(sidecar_path(target)), waiting):
                _finish(target)
                return f"finished an earlier promotion of {target.name}, which had been stopped"
            waiting.unlink()
        for waiting in sorted(self.folder.glob(".*.json.next")):
            named = self.folder / waiting.name.removeprefix(".").removesuffix(".next")
            target = named.with_suffix(self.suffix)
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
