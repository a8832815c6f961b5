"""Exported networks: equal to torch, half as large on request, kept only when they are right."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tabiya._core import Board, random_positions
from tabiya.board.planes import encode
from tabiya.errors import UserError
from tabiya.learn.sidecar import read_sidecar, sidecar_path, write_sidecar

torch = pytest.importorskip("torch")
onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

from tabiya.learn import export  # noqa: E402 - only where torch is
from tabiya.learn.export import OUTPUTS, export_onnx  # noqa: E402


class Small(torch.nn.Module):
    """A convolution, a batch norm and four heads: what a ResNet is made of."""

    def __init__(self, planes: int = 18, bins: int = 16) -> None:
        super().__init__()
        self.trunk = torch.nn.Sequential(
            torch.nn.Conv2d(planes, 16, 3, padding=1, bias=False), torch.nn.BatchNorm2d(16), torch.nn.ReLU()
        )
        self.policy = torch.nn.Conv2d(16, 73, 1)
        self.q = torch.nn.Conv2d(16, 73, 1)
        self.wdl = torch.nn.Linear(16 * 64, 3)
        self.bins = torch.nn.Linear(16 * 64, bins)

    def forward(self, planes: Any) -> tuple[Any, ...]:
        trunk = self.trunk(planes)
        flat = trunk.flatten(1)
        moves = [head(trunk).permute(0, 2, 3, 1).flatten(1) for head in (self.policy, self.q)]
        return (*moves, self.wdl(flat), self.bins(flat))


@pytest.fixture
def network() -> Small:
    """Trained a little, so that its batch norm has statistics of its own."""
    torch.manual_seed(1)
    network = Small()
    network(torch.from_numpy(encode(random_positions(64, 2), 18)).float())
    return network


def answers(path: Path, raw: np.ndarray) -> list[np.ndarray]:
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    return list(session.run(list(OUTPUTS), {"planes": raw}))


def by_torch(network: Small, raw: np.ndarray) -> list[np.ndarray]:
    floats = torch.from_numpy(raw).float()
    floats[:, 17] /= 100
    network.eval()
    with torch.no_grad():
        return [output.numpy() for output in network(floats)]


def test_an_exported_network_answers_a_thousand_positions_as_torch_does(network, tmp_path):
    path = tmp_path / "small.onnx"
    differences = export_onnx(network, 18, path, positions=1000)
    assert list(differences) == list(OUTPUTS)
    assert max(differences.values()) < 1e-4
    raw = encode(random_positions(1000, 9), 18)
    for ours, theirs in zip(by_torch(network, raw), answers(path, raw), strict=True):
        assert theirs.dtype == np.float32
        np.testing.assert_allclose(ours, theirs, atol=1e-4)


def test_the_clock_is_divided_inside_the_network(network, tmp_path):
    path = tmp_path / "small.onnx"
    export_onnx(network, 18, path, positions=8)
    packed = np.frombuffer(Board("4k3/8/8/8/8/8/8/R3K3 w - - 90 99").packed(), np.uint8).reshape(1, 32)
    raw = encode(packed, 18)
    assert raw[0, 17, 0, 0] == 90
    np.testing.assert_allclose(by_torch(network, raw)[0], answers(path, raw)[0], atol=1e-4)


def test_any_number_of_positions_can_be_asked_together(network, tmp_path):
    path = tmp_path / "small.onnx"
    export_onnx(network, 18, path, positions=1)
    raw = encode(random_positions(33, 4), 18)
    together = answers(path, raw)
    for size in (1, 2, 33):
        for whole, part in zip(together, answers(path, raw[:size]), strict=True):
            np.testing.assert_allclose(whole[:size], part, atol=1e-5)


def test_half_stores_float16_and_computes_in_float32(network, tmp_path):
    whole, half = tmp_path / "whole.onnx", tmp_path / "half.onnx"
    export_onnx(network, 18, whole)
    differences = export_onnx(network, 18, half, half=True)
    assert half.stat().st_size < 0.6 * whole.stat().st_size
    assert 0 < max(differences.values()) < 0.05
    model = onnx.load(str(half))
    kinds = {tensor.data_type for tensor in model.graph.initializer if np.prod(tensor.dims) >= 512}
    assert kinds == {onnx.TensorProto.FLOAT16}
    assert {each.type.tensor_type.elem_type for each in model.graph.output} == {onnx.TensorProto.FLOAT}


def test_weights_that_float16_cannot_hold_stay_as_they_are(network, tmp_path):
    with torch.no_grad():
        network.wdl.weight[0, 0] = 1e6
    path = tmp_path / "half.onnx"
    export_onnx(network, 18, path, half=True)
    kinds = {tensor.name: tensor.data_type for tensor in onnx.load(str(path)).graph.initializer}
    assert kinds["wdl.weight"] == onnx.TensorProto.FLOAT
    assert onnx.TensorProto.FLOAT16 in kinds.values()


def test_exporting_leaves_the_network_as_it_was(network, tmp_path):
    network.train()
    before = {name: value.clone() for name, value in network.state_dict().items()}
    floats = torch.from_numpy(encode(random_positions(4, 1), 18)).float()
    export_onnx(network, 18, tmp_path / "small.onnx", half=True)
    assert network.training
    assert all(torch.equal(value, before[name]) for name, value in network.state_dict().items())
    assert not network._forward_pre_hooks
    network.eval()
    assert torch.isfinite(network(floats)[0]).all()


def test_a_network_in_bfloat16_is_exported_in_float32(network, tmp_path):
    path = tmp_path / "small.onnx"
    assert max(export_onnx(network.bfloat16(), 18, path).values()) < 1e-4


def test_an_export_that_differs_from_torch_is_refused_and_what_was_there_stays(
    network, tmp_path, monkeypatch
):
    path = tmp_path / "small.onnx"
    path.write_bytes(b"the old one")
    monkeypatch.setitem(export.TOLERANCE, True, 1e-9)
    with pytest.raises(UserError, match=r"policy differs from torch's by .*: nothing was written"):
        export_onnx(network, 18, path, half=True)
    assert path.read_bytes() == b"the old one"
    assert os.listdir(tmp_path) == ["small.onnx"]


def test_a_network_that_answers_no_number_is_refused(network, tmp_path):
    with torch.no_grad():
        network.wdl.bias[0] = float("nan")
    with pytest.raises(UserError, match="the exported wdl differs from torch's by nan"):
        export_onnx(network, 18, tmp_path / "small.onnx")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("planes", [18, 21])
def test_the_player_plays_what_was_exported(tmp_path, planes):
    from tabiya.minds.resnet.player import open_player
    from tabiya.player import Limit, PlayerName

    torch.manual_seed(2)
    export_onnx(Small(planes), planes, tmp_path / "small.onnx", half=True)
    decision = open_player(PlayerName.parse(f"resnet:{tmp_path}")).play(Board(), Limit())
    assert Board().is_legal(decision.move)
    assert decision.nodes == 1


def test_the_manifest_tells_the_network_it_belongs_to(tmp_path):
    path = tmp_path / "main.onnx"
    path.write_bytes(b"weights")
    write_sidecar(path, kind="resnet", planes=18, parameters=7, trained_on={"positions": 3})
    manifest = read_sidecar(path)
    assert manifest == json.loads(sidecar_path(path).read_text())
    assert (manifest["name"], manifest["kind"], manifest["planes"]) == ("main", "resnet", 18)
    assert list(manifest) == [
        "name",
        "kind",
        "sha256",
        "planes",
        "parameters",
        "config",
        "trained_on",
        "measured",
    ]
    path.write_bytes(b"other weights")
    with pytest.raises(UserError, match=r"describes another network than .*main\.onnx: export it again"):
        read_sidecar(path)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [("{", "is damaged"), ("[]", "lacks name, kind"), ('{"name": "a"}', "lacks kind, sha256")],
)
def test_a_manifest_that_is_none_is_refused(tmp_path, text, sentence):
    path = tmp_path / "main.onnx"
    path.write_bytes(b"weights")
    with pytest.raises(UserError, match="no manifest"):
        read_sidecar(path)
    sidecar_path(path).write_text(text)
    with pytest.raises(UserError, match=sentence):
        read_sidecar(path)


def test_a_network_that_is_not_there_gets_no_manifest(tmp_path):
    with pytest.raises(UserError, match="to write a manifest for"):
        write_sidecar(tmp_path / "none.onnx", kind="resnet", planes=18, parameters=1)
    assert os.listdir(tmp_path) == []
