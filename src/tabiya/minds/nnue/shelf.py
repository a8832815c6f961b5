"""Where the networks lie: from what a user wrote to one .nnue file, or to none.

`nnue` alone is the network shipped with the package, and the handmade
evaluation where there is none; after a colon stands a file, or the folder of a
training run, whose newest network is meant.
"""

from __future__ import annotations

from pathlib import Path

from tabiya.protocols.network_path import ASSETS, shipped_network, written_network

SHIPPED = ASSETS / "nnue"


def network_path(where: str, shipped: Path = SHIPPED) -> Path | None:
    """The file that `where` (the path in a player's name, or nothing) stands for.

    None if nothing was named and nothing is shipped.
    """
    return written_network("nnue", where, ".nnue") if where else shipped_network(shipped, ".nnue")
