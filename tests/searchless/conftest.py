"""Tiny networks of both minds without search."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

RESNET = Path(__file__).resolve().parents[1] / "minds" / "resnet" / "conftest.py"
SPEC = importlib.util.spec_from_file_location("resnet_files", RESNET)
MODULE = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(MODULE)

build = MODULE.build
"""The fixture that writes ResNets."""


@pytest.fixture(scope="session")
def tiny_transformer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A transformer that was never trained."""
    torch = pytest.importorskip("torch")
    pytest.importorskip("onnx")
    from tabiya.minds.transformer.export import export_network
    from tabiya.minds.transformer.network import Transformer
    from tabiya.minds.transformer.shape import TransformerShape

    torch.manual_seed(3)
    shape = TransformerShape(layers=1, width=16, heads=2, mlp_ratio=1.0, value_hidden=8, value_bins=16)
    made = Transformer(shape).eval()
    for parameter in made.parameters():
        torch.nn.init.normal_(parameter, std=0.4)
    path = tmp_path_factory.mktemp("networks") / "tiny.onnx"
    export_network(made, path, half=False, positions=2)
    return path
