"""A transformer's file computed by torch on a chosen device, for measuring by the thousand."""

from __future__ import annotations

from pathlib import Path

from tabiya.learn.onnx_torch import TorchSession
from tabiya.minds.transformer.onnx_network import OnnxTransformer

BATCH = 512
"""The most positions in one forward pass there."""


def open_on(path: Path, device: str) -> OnnxTransformer:
    """The file's own graph on the device."""
    return OnnxTransformer(path, session=TorchSession(path, device), batch=BATCH)
