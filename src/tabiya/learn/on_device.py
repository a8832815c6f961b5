"""A player without search whose network torch computes on a chosen device, for measuring by the thousand."""

from __future__ import annotations

from tabiya.learn.onnx_torch import TorchSession
from tabiya.player import Player
from tabiya.searchless.player import SearchlessPlayer


def on_device(player: Player, device: str) -> Player:
    """The player with its file's own graph on the device; one that searches comes back as it was."""
    if isinstance(player, SearchlessPlayer):
        player.network = player.network.computed_by(TorchSession(player.network.path, device))
    return player
