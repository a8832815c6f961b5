"""From what a user wrote after a mind's name to one file of a network.

Nothing written means the network shipped with the package. A file is itself; of
a folder, such as that of a training run, the newest network is meant.
"""

from __future__ import annotations

from pathlib import Path

from tabiya.player import PlayerError

ASSETS = Path(__file__).resolve().parents[1] / "assets"
"""Where the package keeps what it is shipped with, a folder for each mind."""


def network_file(mind: str, where: str, shipped: Path, suffix: str) -> Path:
    """The file that `where`, the path in a player's name or nothing, stands for."""
    if where:
        return written_network(mind, where, suffix)
    found = shipped_network(shipped, suffix)
    if found is None:
        raise PlayerError(f"no {mind} network is shipped yet: name one with {mind}:path")
    return found


def shipped_network(folder: Path, suffix: str) -> Path | None:
    """The one network in a mind's folder of assets; None if there is none yet."""
    found = sorted(folder.glob(f"*{suffix}"))
    if len(found) > 1:
        names = ", ".join(path.name for path in found)
        raise PlayerError(f"one shipped network was expected in {folder}, there are {names}")
    return found[0] if found else None


def written_network(mind: str, where: str, suffix: str) -> Path:
    """The file that a path in a player's name stands for."""
    path = Path(where).expanduser()
    if path.is_dir():
        # A name that begins with a dot is a file still being written.
        found = [each for each in path.glob(f"*{suffix}") if not each.name.startswith(".")]
        if not found:
            raise PlayerError(f"no {suffix} file in the folder {path}: export a network there first")
        return max(found, key=lambda each: (each.stat().st_mtime_ns, each.name))
    if not path.exists():
        article = "an" if suffix == ".onnx" else "a"
        raise PlayerError(
            f"no network {path}: {mind}:path takes {article} {suffix} file or the folder of a run"
        )
    return path
