"""Where the networks lie: from what a user wrote to one .nnue file, or to none.

`nnue` alone is the network shipped with the package, and the handmade
evaluation as long as there is none; after a colon stands a file, or the folder
of a training run, whose newest network is meant.
"""

from __future__ import annotations

from pathlib import Path

from tabiya.player import PlayerError

SHIPPED = Path(__file__).resolve().parents[2] / "assets" / "nnue"


def network_path(where: str, shipped: Path = SHIPPED) -> Path | None:
    """The file that `where` (the path in a player's name, or nothing) stands for.

    None if nothing was named and nothing is shipped.
    """
    if not where:
        found = sorted(shipped.glob("*.nnue"))
        if len(found) > 1:
            names = ", ".join(path.name for path in found)
            raise PlayerError(f"one shipped network was expected in {shipped}, there are {names}")
        return found[0] if found else None
    path = Path(where).expanduser()
    if path.is_dir():
        # A name that begins with a dot is a file still being written.
        found = [each for each in path.glob("*.nnue") if not each.name.startswith(".")]
        if not found:
            raise PlayerError(f"no .nnue file in the folder {path}: export a network there first")
        return max(found, key=lambda each: (each.stat().st_mtime_ns, each.name))
    if not path.exists():
        raise PlayerError(f"no network {path}: nnue:path takes a .nnue file or the folder of a run")
    return path
