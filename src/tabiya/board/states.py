"""What `_core.states` says of a position: names for its three numbers."""

from __future__ import annotations

GOES_ON = 0
MATED = 1
"""The side to move is."""
DRAWN = 2
"""By stalemate, or with too few men for a mate."""
