"""A ResNet player whose network is computed by torch on a chosen device, for measuring by the thousand."""

from __future__ import annotations

from tabiya.learn.onnx_torch import TorchSession
from tabiya.minds.resnet.onnx_network import OnnxNetwork
from tabiya.minds.resnet.player import ResNetPlayer
from tabiya.player import Player


def on_device(player: Player, device: str) -> Player:
    """The player with its file's graph on the device; one that is no ResNet comes back as it was."""
    if isinstance(player, ResNetPlayer):
        path = player.network.path
        player.network = OnnxNetwork(path, session=TorchSession(path, device))
    return player
