"""Networks in eight bits: what becomes int8, how true it stays, what is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tabiya._core import random_positions
from tabiya.board.planes import encode
from tabiya.errors import UserError
from tabiya.learn.fidelity import policy_fidelity
from tabiya.learn.parameters import parameter_count

torch = pytest.importorskip("torch")
onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

from tabiya.learn.export import OUTPUTS, export_onnx  # noqa: E402 - only where torch is
from tabiya.learn.int8_storage import rounded, store_int8  # noqa: E402
from tabiya.learn.quantise import convolutions, quantise, store_weights  # noqa: E402
from tabiya.minds.resnet.network import ResNet, ResNetShape  # noqa: E402

POSITIONS = random_positions(96, seed=5)


@pytest.fixture(scope="module")
def network(tmp_path_factory) -> Path:
    """A ResNet of two blocks with statistics of its own, as ONNX."""
    torch.manual_seed(2)
    shape = ResNetShape(blocks=2, channels=16, planes=21, squeeze=8, value_channels=4, value_hidden=16)
    network = ResNet(shape)
    for block in network.blocks:
        torch.nn.init.normal_(block.second_norm.weight, 1, 0.2)
    network(torch.from_numpy(encode(random_positions(64, 1), 21)).float())
    path = tmp_path_factory.mktemp("network") / "float.onnx"
    export_onnx(network, 21, path)
    return path


def answers(path: Path, packed: np.ndarray) -> dict[str, np.ndarray]:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(path.read_bytes(), options, providers=["CPUExecutionProvider"])
    return dict(zip(OUTPUTS, session.run(list(OUTPUTS), {"planes": encode(packed, 21)}), strict=True))


def operators(path: Path) -> list[str]:
    return [node.op_type for node in onnx.load(str(path)).graph.node]


def test_convolutions_are_told_apart_by_what_they_lead_to(network):
    groups = convolutions(onnx.load(str(network)))
    assert groups["first"] == ["/stem/Conv"]
    assert sorted(groups["heads"]) == ["/move/Conv", "/policy/Conv", "/q/Conv", "/value/Conv"]
    assert len(groups["tower"]) == 4
    assert all(name.startswith("/blocks.") for name in groups["tower"])


@pytest.mark.parametrize(
    ("keep", "quantised"), [("nothing", 9), ("first", 8), ("heads", 5), ("first+heads", 4)]
)
def test_what_is_kept_float_is_not_quantised(network, tmp_path, keep, quantised):
    out = tmp_path / "int8.onnx"
    made = quantise(network, out, POSITIONS, 21, keep=keep)
    assert made["kept_float"] == keep
    assert operators(out).count("QLinearConv") == quantised
    assert operators(out).count("Conv") == 9 - quantised


def test_the_truest_choice_is_written_and_stays_close_to_float(network, tmp_path):
    out = tmp_path / "int8.onnx"
    heard = []
    made = quantise(network, out, POSITIONS, 21, tried=heard.append)
    assert len(heard) == len(made["tried"]) == 4
    best = min(made["tried"], key=lambda attempt: attempt["policy_divergence"])
    assert made["kept_float"] == best["kept_float"]
    assert out.stat().st_size == best["bytes"] < network.stat().st_size
    packed = random_positions(200, seed=6)
    ours, theirs = answers(network, packed), answers(out, packed)
    for head in OUTPUTS:
        assert theirs[head].dtype == np.float32
        assert np.abs(ours[head] - theirs[head]).mean() < 0.05 * np.abs(ours[head]).max()
    fidelity = policy_fidelity(packed, ours["policy"], theirs["policy"])
    assert fidelity.same_share > 0.8
    assert fidelity.divergence < 0.01


def test_a_network_stored_in_sixteen_bits_is_read_like_any_other(network, tmp_path):
    from tabiya.learn.half import store_half

    model = onnx.load(str(network))
    store_half(model)
    half = tmp_path / "half.onnx"
    half.write_bytes(model.SerializeToString())
    quantise(half, tmp_path / "int8.onnx", POSITIONS, 21, keep="first+heads")
    assert operators(tmp_path / "int8.onnx").count("QLinearConv") == 4
    store_weights(half, tmp_path / "weights.onnx")
    assert len(answers(tmp_path / "weights.onnx", POSITIONS)["wdl"]) == 96


def test_weights_stored_in_eight_bits_are_float_again_when_the_file_is_opened(network, tmp_path):
    out = tmp_path / "weights.onnx"
    made = store_weights(network, out)
    model = onnx.load(str(out))
    small = [t for t in model.graph.initializer if t.data_type == onnx.TensorProto.INT8]
    assert made["weights_int8"] == sum(int(np.prod(tensor.dims)) for tensor in small) > 0
    ours, theirs = answers(network, POSITIONS), answers(out, POSITIONS)
    for head in OUTPUTS:
        assert 0 < np.abs(ours[head] - theirs[head]).max() < 0.05 * np.abs(ours[head]).max()
    # Nothing of the storage is left to compute once the file is open.
    options = onnxruntime.SessionOptions()
    options.optimized_model_filepath = str(tmp_path / "opened.onnx")
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    options.log_severity_level = 4
    onnxruntime.InferenceSession(str(out), options, providers=["CPUExecutionProvider"])
    opened = onnx.load(str(tmp_path / "opened.onnx"))
    assert not [t for t in opened.graph.initializer if t.data_type == onnx.TensorProto.INT8]


def test_rounding_loses_at_most_half_a_step_of_its_channel():
    chance = np.random.default_rng(1)
    wide = (
        chance.normal(0, 1, (6, 5, 3, 3)) * np.array([1e-4, 1, 1e3, 0, 7, 1]).reshape(-1, 1, 1, 1)
    ).astype(np.float32)
    small, scale = rounded(wide, 0)
    assert small.dtype == np.int8
    assert (np.abs(small * scale - wide) <= 0.5001 * scale).all()
    assert (small[3] == 0).all()


@pytest.mark.parametrize(("number", "stored"), [(0.5, 0), (128.0, 0), (-127.0, 1024), (1.0, 1024)])
def test_a_tensor_with_other_uses_is_left_alone_unless_it_is_of_small_whole_numbers(
    number: float, stored: int
):
    helper, kinds = onnx.helper, onnx.TensorProto
    weight = np.full((32, 32), number, np.float32)
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["y"]),
        helper.make_node("Add", ["y", "w"], ["z"]),
    ]
    ends = [helper.make_tensor_value_info(name, kinds.FLOAT, [32, 32]) for name in "xz"]
    graph = helper.make_graph(nodes, "g", ends[:1], ends[1:], [onnx.numpy_helper.from_array(weight, "w")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    assert store_int8(model) == stored
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    (answer,) = session.run(None, {"x": np.eye(32, dtype=np.float32)})
    assert np.array_equal(answer, 2 * weight)


def test_bad_input_is_one_sentence_and_leaves_what_was_there(network, tmp_path):
    out = tmp_path / "int8.onnx"
    out.write_bytes(b"before")
    damaged = tmp_path / "damaged.onnx"
    damaged.write_bytes(network.read_bytes()[:1000])
    for source, packed, sentence in (
        (network, POSITIONS[:63], "calibration needs at least 64 positions, got 63"),
        (damaged, POSITIONS, "is no ONNX network, or a damaged one"),
        (tmp_path / "none.onnx", POSITIONS, "cannot be read: No such file"),
    ):
        with pytest.raises(UserError, match=sentence):
            quantise(source, out, packed, 21, keep="first")
    assert out.read_bytes() == b"before"
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_parameters_are_counted_however_they_are_stored(network, tmp_path):
    store_weights(network, tmp_path / "weights.onnx")
    count = parameter_count(network)
    assert count > 10_000
    assert abs(parameter_count(tmp_path / "weights.onnx") - count) < 0.1 * count
    (tmp_path / "bad.onnx").write_bytes(b"\xff\xff nothing")
    with pytest.raises(UserError, match="is no ONNX network"):
        parameter_count(tmp_path / "bad.onnx")


def test_fidelity_looks_at_legal_moves_alone():
    from tabiya._core import legal_indices

    offsets, indices = legal_indices(POSITIONS, "planes", "mover")
    first = np.zeros((len(POSITIONS), 4672), np.float32)
    other = np.full_like(first, 50.0)
    for row in range(len(POSITIONS)):
        other[row, indices[offsets[row] : offsets[row + 1]]] = 0
    same = policy_fidelity(POSITIONS, first, other)
    assert (same.same_share, same.divergence) == (1.0, 0.0)
    assert policy_fidelity(POSITIONS[:0], first[:0], other[:0]).same_share == 1.0
