"""A ResNet's file as a network that can go on learning: it answers as before, and starts from there."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("onnx")

from tabiya import _core  # noqa: E402
from tabiya.board.planes import CLOCK_PLANE, CLOCK_SCALE, encode  # noqa: E402
from tabiya.cli import main  # noqa: E402
from tabiya.errors import UserError  # noqa: E402
from tabiya.files import checksum  # noqa: E402
from tabiya.learn.checkpoint import load_checkpoint, load_weights  # noqa: E402
from tabiya.learn.export import OUTPUTS, export_onnx  # noqa: E402
from tabiya.learn.feed import Source  # noqa: E402
from tabiya.learn.quantise import store_weights  # noqa: E402
from tabiya.learn.sidecar import write_sidecar  # noqa: E402
from tabiya.minds.resnet.network import ResNet, ResNetShape  # noqa: E402
from tabiya.minds.resnet.onnx_network import OnnxNetwork  # noqa: E402
from tabiya.minds.resnet.promotion import shipped_shelf  # noqa: E402
from tabiya.minds.resnet.restored import norms, restored  # noqa: E402
from tabiya.minds.resnet.training import ResNetTraining, Run  # noqa: E402

SHAPES = {
    "pairs": ResNetShape(blocks=2, channels=16, squeeze=4, mixing_every=1, move_head="pairs"),
    "planes": ResNetShape(blocks=1, channels=8, squeeze=0, planes=18, own_q_head=False),
}


def planes_of(packed: np.ndarray, shape: ResNetShape) -> torch.Tensor:
    planes = torch.from_numpy(encode(packed, shape.planes)).float()
    planes[:, CLOCK_PLANE] /= CLOCK_SCALE
    return planes


def exported(folder: Path, shape: ResNetShape, half: bool = False) -> Path:
    """A network that has learned from its batches what it is normalised by."""
    torch.manual_seed(1)
    network = ResNet(shape)
    for parameter in network.parameters():
        torch.nn.init.normal_(parameter, std=0.2)
    network.train()
    for seed in range(20):
        network(planes_of(_core.random_positions(64, seed), shape))
    path = folder / "network.onnx"
    export_onnx(network, shape.planes, path, half=half, positions=8)
    write_sidecar(path, kind="resnet", planes=shape.planes, parameters=1, config={"shape": vars(shape)})
    return path


@pytest.mark.parametrize("half", [False, True])
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_it_answers_as_its_file_and_is_normalised_by_what_it_is_shown(
    shape: ResNetShape, half: bool, tmp_path: Path
):
    path = exported(tmp_path, shape, half)
    shown, asked = _core.random_positions(600, 30), _core.random_positions(9, 31)
    network = restored(path, shape, shown)
    assert len(norms(network)) == 3 + 2 * shape.blocks + len(network.mixes)
    wanted = OnnxNetwork(path).evaluate(asked, OUTPUTS)
    with torch.no_grad():
        for head, found in zip(OUTPUTS, network(planes_of(asked, shape)), strict=True):
            np.testing.assert_allclose(found.numpy(), wanted[head], atol=1e-4)
        # Normalised by the batch, as in training: the batch that it was shown changes nothing.
        planes = planes_of(shown, shape)
        before = network(planes)[0]
        after = network.train()(planes)[0]
    assert float(before.std()) > 0.1
    np.testing.assert_allclose(after.numpy(), before.numpy(), atol=1e-3)


def test_a_checkpoint_of_a_file_in_eight_bits_is_what_a_run_starts_from(tmp_path: Path, capsys):
    shape = SHAPES["pairs"]
    wide, small = exported(tmp_path, shape), tmp_path / "small.onnx"
    store_weights(wide, small)
    seen = {"positions_seen": 7}
    write_sidecar(
        small,
        kind="resnet",
        planes=shape.planes,
        parameters=1,
        config={"shape": vars(shape)},
        trained_on=seen,
    )
    out = tmp_path / "start.safetensors"
    assert main(["export", "checkpoint", str(small), "--out", str(out), "--positions", "64", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["out"] == str(out)
    tensors, metadata = load_checkpoint(out)
    assert (metadata["config"]["mind"], metadata["config"]["shape"]["blocks"]) == ("resnet", 2)
    network = ResNet(shape).eval()
    load_weights(network, tensors)
    asked = _core.random_positions(5, 2)
    wanted = OnnxNetwork(small).evaluate(asked, ["policy"])["policy"]
    with torch.no_grad():
        found = network(planes_of(asked, shape))[0].numpy()
    np.testing.assert_allclose(found, wanted, atol=1e-4)
    # What it had learned from goes with it, through a run, to the next network's manifest.
    settings = ResNetTraining(
        steps=3,
        batch=4,
        sources=(Source(kind="games", path="nowhere", share=1.0),),
        shape=shape,
        start_from=str(out),
        device="cpu",
        compile=False,
    )
    run = Run(settings, tmp_path / "run")
    (run.folder / "log.jsonl").write_text('{"step": 3, "seconds": 60.0}\n')
    learned = shipped_shelf().learned(run.export())
    assert learned == {}
    run.step = 3
    learned = shipped_shelf().learned(run.export())
    assert learned["positions_seen"] == 12
    assert learned["before"] == {"sha256": checksum(small), "trained_on": seen}


def test_what_cannot_be_restored_is_one_sentence(tmp_path: Path, capsys):
    path = exported(tmp_path, SHAPES["planes"])
    with pytest.raises(UserError, match=r"does not give back stem"):
        restored(path, SHAPES["pairs"], _core.random_positions(8, 1))
    words = ["export", "checkpoint", str(path), "--out"]
    assert main([*words, str(tmp_path / "start.onnx")]) == 2
    assert "ends in .safetensors" in capsys.readouterr().err
    path.with_suffix(".json").unlink()
    assert main([*words, str(tmp_path / "start.safetensors")]) == 2
    assert "has no manifest that tells its shape" in capsys.readouterr().err
