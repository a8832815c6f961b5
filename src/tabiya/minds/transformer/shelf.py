"""Where the networks lie: from what a user wrote to one ONNX file.

`transformer` alone is the network shipped with the package; after a colon
stands a file, or the folder of a training run, whose newest network is meant.
"""

from __future__ import annotations

from pathlib import Path

from tabiya.player import PlayerError

SHIPPED = Path(__file__).resolve().parents[2] / "assets" / "transformer"


def network_path(where: str, shipped: Path = SHIPPED) -> Path:
    """The ONNX file that `where` (the path in a player's name, or nothing) stands for."""
    if not where:
        found = sorted(shipped.glob("*.onnx"))
        if not found:
            raise PlayerError("no transformer network is shipped yet: name one with transformer:path")
        if len(found) > 1:
            names = ", ".join(path.name for path in found)
            raise PlayerError(f"one shipped network was expected in {shipped}, there are {names}")
        return found[0]
    path = Path(where).expanduser()
    if path.is_dir():
        # A name that begins with a dot is a file still being written.
        found = [each for each in path.glob("*.onnx") if not each.name.startswith(".")]
        if not found:
            raise PlayerError(f"no .onnx file in the folder {path}: export a network there first")
        return max(found, key=lambda each: (each.stat().st_mtime_ns, each.name))
    if not path.exists():
        raise PlayerError(f"no network {path}: transformer:path takes an .onnx file or the folder of a run")
    return path
