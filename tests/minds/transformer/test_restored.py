"""A transformer's file computed by torch, and its network restored: the answers are ONNX Runtime's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
onnx = pytest.importorskip("onnx")

from tabiya import _core  # noqa: E402
from tabiya.cli import main  # noqa: E402
from tabiya.errors import UserError  # noqa: E402
from tabiya.learn.onnx_torch import TorchSession  # noqa: E402
from tabiya.minds.transformer.attention import Cut  # noqa: E402
from tabiya.minds.transformer.export import export_onnx, load_network  # noqa: E402
from tabiya.minds.transformer.network import Transformer  # noqa: E402
from tabiya.minds.transformer.onnx_inputs import first_inputs, plain_cuts  # noqa: E402
from tabiya.minds.transformer.onnx_network import OnnxTransformer  # noqa: E402
from tabiya.minds.transformer.restored import restored  # noqa: E402
from tabiya.minds.transformer.shape import TransformerShape, Wire  # noqa: E402
from tabiya.minds.transformer.shelf import network_path  # noqa: E402

SHAPES: dict[str, dict[str, Any]] = {
    "added": {"pieces": "added"},
    "separate": {"pieces": "separate", "flipped": False},
    "bare": {"refinement": False, "rights_head": False, "absolute": False},
    "cls": {"bias": "none", "policy": "cls", "flipped": False},
    "fed back": {"feedback": (Wire(from_block=2, to_block=1, cycles=1),)},
    "relu": {"activation": "relu", "mlp_bias": False},
}


def exported(folder: Path, half: bool = False, **changes: Any) -> Path:
    torch.manual_seed(1)
    network = Transformer(TransformerShape(layers=2, width=32, heads=2, **changes))
    for parameter in network.parameters():
        torch.nn.init.normal_(parameter, std=0.1)  # no two alike: the exporter would join them
    path = folder / "network.onnx"
    export_onnx(network, path, half=half)
    return path


def a_second_look(shape: TransformerShape, count: int) -> dict[str, np.ndarray]:
    """Slots filled, a row blanked, a pair cut apart in one head."""
    inputs = first_inputs(_core.random_positions(count, 3), shape.flipped) | plain_cuts(shape)
    inputs["tokens"][:, 81:] = np.arange(3 * count).reshape(count, 3) * 7
    inputs["probability"][:] = 0.25
    inputs["again"][:, 1] = 1
    inputs["rows"][0, 5] = 0
    inputs["attention"][0, 3, 9] = 0
    inputs["heads"][1, 0] = 1
    inputs["renormalise"] = np.ones((), np.float32)
    return inputs


def answers_of(network: Transformer, inputs: dict[str, np.ndarray]) -> list[np.ndarray]:
    given = {name: torch.from_numpy(value) for name, value in inputs.items()}
    cut = Cut(given["attention"], given["heads"], given["renormalise"])
    with torch.no_grad():
        outputs = network.compute("plain")(
            given["tokens"], given["probability"], given["again"], given["rows"], cut
        )
    return [output.numpy() for output in outputs if output is not None]


@pytest.mark.parametrize("half", [False, True])
@pytest.mark.parametrize("changes", SHAPES.values(), ids=SHAPES)
def test_every_shape_answers_alike(changes: dict[str, Any], half: bool, tmp_path: Path):
    path = exported(tmp_path, half, **changes)
    theirs = OnnxTransformer(path, 1)
    on_torch = theirs.computed_by(TorchSession(path, "cpu"))
    assert on_torch.shape == theirs.shape
    inputs = a_second_look(theirs.shape, 3)
    wanted, computed = theirs.run(inputs, theirs.heads), on_torch.run(inputs, theirs.heads)
    again = dict(zip(theirs.heads, answers_of(restored(path), inputs), strict=True))
    for head in theirs.heads:
        assert np.ptp(wanted[head]) > 1e-3
        np.testing.assert_allclose(computed[head], wanted[head], atol=1e-5)
        np.testing.assert_allclose(again[head], wanted[head], atol=1e-5)


def test_the_shipped_network_is_restored():
    path = network_path("")
    network, metadata, file = load_network(path)
    assert (metadata, file) == ({}, path)
    theirs = OnnxTransformer(path, 1)
    inputs = a_second_look(theirs.shape, 2)
    wanted = theirs.run(inputs, theirs.heads)
    for head, found in zip(theirs.heads, answers_of(network, inputs), strict=True):
        np.testing.assert_allclose(found, wanted[head], atol=1e-3)


def test_a_checkpoint_of_a_file_is_a_checkpoint_of_its_network(tmp_path: Path, capsys):
    path, out = exported(tmp_path, half=True), tmp_path / "start.safetensors"
    assert main(["export", "checkpoint", str(path), "--out", str(out)]) == 0
    assert "for start_from in a run's config" in capsys.readouterr().out
    network, metadata, file = load_network(out)
    assert (metadata["step"], file) == (0, out)
    for name, tensor in restored(path).state_dict().items():
        assert torch.equal(network.state_dict()[name], tensor)


def test_what_cannot_be_restored_is_one_sentence(tmp_path: Path):
    with pytest.raises(UserError, match=r"no file .*none\.onnx"):
        restored(tmp_path / "none.onnx")
    (tmp_path / "text.onnx").write_text("no network")
    with pytest.raises(UserError, match="is no ONNX network, or a damaged one"):
        restored(tmp_path / "text.onnx")
    path = exported(tmp_path)
    model = onnx.load(str(path))
    del model.metadata_props[:]
    onnx.save(model, str(tmp_path / "mute.onnx"))
    with pytest.raises(UserError, match="does not say what its tokens mean"):
        restored(tmp_path / "mute.onnx")
    with pytest.raises(UserError, match=r"does not give back shared_bias\.pairs\.weight"):
        restored(exported(tmp_path, bias="dynamic"))
