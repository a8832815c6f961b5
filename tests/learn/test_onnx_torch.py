"""A network's file gives the same answers under torch as under ONNX Runtime."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("onnx")

from tabiya import _core  # noqa: E402
from tabiya.cli import main  # noqa: E402
from tabiya.errors import UserError  # noqa: E402
from tabiya.learn.export import OUTPUTS, export_onnx  # noqa: E402
from tabiya.learn.onnx_torch import TorchSession  # noqa: E402
from tabiya.learn.quantise import store_weights  # noqa: E402
from tabiya.minds.resnet.network import ResNet, ResNetShape  # noqa: E402
from tabiya.minds.resnet.onnx_network import OnnxNetwork  # noqa: E402

SHAPES = {
    "pairs": ResNetShape(blocks=2, channels=16, squeeze=4, mixing_every=1, move_head="pairs"),
    "relays": ResNetShape(
        blocks=2, channels=16, squeeze=4, attacks=True, relays_every=1, relay_channels=4, move_head="pairs"
    ),
    "planes": ResNetShape(blocks=1, channels=8, squeeze=4, planes=18, own_q_head=False, move_head="planes"),
}


def exported(folder: Path, shape: ResNetShape, half: bool = False) -> Path:
    torch.manual_seed(1)
    path = folder / "network.onnx"
    export_onnx(ResNet(shape), shape.planes, path, half=half, positions=8)
    return path


@pytest.mark.parametrize("half", [False, True])
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_the_answers_are_onnx_runtime_s(shape: ResNetShape, half: bool, tmp_path: Path):
    path = exported(tmp_path, shape, half)
    ours, theirs = OnnxNetwork(path, session=TorchSession(path, "cpu")), OnnxNetwork(path)
    assert ours.planes == theirs.planes == shape.planes
    for count in (1, 7):
        packed = _core.random_positions(count, 5)
        left, right = ours.evaluate(packed, OUTPUTS), theirs.evaluate(packed, OUTPUTS)
        for head in OUTPUTS:
            np.testing.assert_allclose(left[head], right[head], atol=2e-4)


def test_weights_stored_in_eight_bits_are_computed_as_stored(tmp_path: Path):
    shape = ResNetShape(blocks=1, channels=48, squeeze=4)
    wide = exported(tmp_path, shape)
    small = tmp_path / "small.onnx"
    store_weights(wide, small)
    packed = _core.random_positions(5, 6)
    answers = [
        network.evaluate(packed, ["policy"])["policy"]
        for network in (
            OnnxNetwork(small, session=TorchSession(small, "cpu")),
            OnnxNetwork(small),
            OnnxNetwork(wide),
        )
    ]
    np.testing.assert_allclose(answers[0], answers[1], atol=1e-5)
    assert np.abs(answers[0] - answers[2]).max() > 1e-4  # the rounding shows


def test_an_operator_that_is_not_known_is_named(tmp_path: Path):
    import onnx
    from onnx import TensorProto, helper

    graph = helper.make_graph(
        [helper.make_node("Tanh", ["x"], ["y"])],
        "odd",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1])],
    )
    onnx.save(helper.make_model(graph), str(tmp_path / "odd.onnx"))
    session = TorchSession(tmp_path / "odd.onnx", "cpu")
    with pytest.raises(UserError, match="operator Tanh"):
        session.run(["y"], {"x": np.zeros(1, np.float32)})


def test_two_files_duel(tmp_path: Path, capsys):
    path = exported(tmp_path, SHAPES["planes"])
    args = ["--games", "4", "--max-moves", "6", "--device", "cpu", "--out", str(tmp_path / "out"), "--json"]
    assert main(["export", "duel", str(path), str(path), *args]) == 0
    figures = json.loads(capsys.readouterr().out)
    assert figures["match"]["games"] == 4
    assert figures["match"]["score_share"] == 0.5  # a network against itself, both colours of each opening
    assert json.loads((tmp_path / "out" / "duel.json").read_text())["device"] == "cpu"
