"""A tower whose squares look at each other: what it begins as, its kernel, and its way through a file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

from tabiya._core import random_positions  # noqa: E402
from tabiya.cli import main  # noqa: E402
from tabiya.errors import UserError  # noqa: E402
from tabiya.learn.export import OUTPUTS, export_onnx  # noqa: E402
from tabiya.learn.onnx_torch import TorchSession  # noqa: E402
from tabiya.learn.planes import planes_of  # noqa: E402
from tabiya.learn.sidecar import write_sidecar  # noqa: E402
from tabiya.minds.resnet.attacks import RELATIONS  # noqa: E402
from tabiya.minds.resnet.attentive import AttentiveTower  # noqa: E402
from tabiya.minds.resnet.network import ResNet, ResNetShape  # noqa: E402
from tabiya.minds.resnet.onnx_network import OnnxNetwork  # noqa: E402
from tabiya.minds.resnet.restored import restored  # noqa: E402


def one_shape(**more: Any) -> ResNetShape:
    sizes = {"blocks": 4, "channels": 32, "mixing_heads": 2, "hidden": 48, "suggestion": (4, 24, 16)}
    return ResNetShape(
        value_channels=2,
        value_hidden=4,
        move_head="pairs",
        **({"tower": "attention"} | sizes | {"attacks": True, "relays_every": 2, "relay_channels": 3} | more),
    )


def some_network(shape: ResNetShape) -> ResNet:
    """Every weight moved off where it begins, so that every part has a say."""
    torch.manual_seed(3)
    network = ResNet(shape)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.1)
    network(
        planes_of(torch.tensor(random_positions(64, seed=5)), shape.planes)
    )  # the norms learn what passes
    return network.eval()


def test_a_tower_begins_by_handing_on_what_stands_on_a_square_and_where_that_is():
    torch.manual_seed(2)
    tower = AttentiveTower(16, blocks=3, heads=2, hidden=8, relays=(1, 2), suggestion=(2, 8, 4))
    features, relations = torch.randn(5, 16, 8, 8), torch.ones(5, RELATIONS, 64, 64)
    standing = features.flatten(2).transpose(1, 2) + tower.places
    wanted = torch.nn.functional.layer_norm(standing, (16,)).transpose(1, 2).unflatten(2, (8, 8))
    assert torch.allclose(tower(features, relations), wanted, atol=1e-5)


def test_whom_a_square_hears_hangs_on_the_rest_of_the_board():
    """Two boards that are alike but for one far square: all squares have another opinion of each other."""
    tower = some_network(one_shape(relays_every=0)).tower
    assert tower is not None
    block = tower.blocks[0]
    squares = torch.randn(1, 64, 32)
    other = squares.clone()
    other[0, 63] = torch.randn(32)
    biases = [tower.pairs(block.suggestion(block.norm(each))) for each in (squares, other)]
    assert (biases[0] != biases[1]).float().mean() > 0.99


def test_relays_stand_in_every_so_many_blocks():
    tower = ResNet(one_shape(relays_every=2)).tower
    assert tower is not None
    assert [block.tell is not None for block in tower.blocks] == [False, True, False, True]
    without = ResNet(one_shape(relays_every=0))
    assert without.tower is not None
    assert not any(block.tell is not None for block in without.tower.blocks)


def test_a_later_round_thinks_on_about_what_the_one_before_it_made():
    shape = one_shape(rounds=2)
    network, once = some_network(shape), ResNet(one_shape())
    once.load_state_dict({name: each for name, each in network.state_dict().items() if ".again." not in name})
    planes = planes_of(torch.tensor(random_positions(9, seed=6)), 21)
    twice, one = network(planes)[0], once.eval()(planes)[0]
    assert (twice - one).abs().mean() > 0.1 * one.std()
    weights = [sum(each.numel() for each in made.parameters()) for made in (network, once)]
    assert weights[0] < 1.05 * weights[1]


@pytest.mark.parametrize("more", [{"relays_every": 0}, {}, {"rounds": 2}])
def test_a_file_in_eight_bits_answers_and_is_restored_nearly_as_it_was(more: dict[str, int], tmp_path: Path):
    shape = one_shape(**more)
    network, packed = some_network(shape), random_positions(9, seed=6)
    planes, wide, small = planes_of(torch.tensor(packed), 21), tmp_path / "wide.onnx", tmp_path / "small.onnx"
    export_onnx(network, 21, wide)
    write_sidecar(wide, kind="resnet", planes=21, parameters=1, config={"shape": asdict(shape)})
    assert main(["export", "int8", str(wide), "--weights-only", "--out", str(small)]) == 0
    assert small.stat().st_size < 0.45 * wide.stat().st_size
    with torch.no_grad():
        wanted = dict(zip(OUTPUTS, (each.numpy() for each in network(planes)), strict=True))
        again = dict(
            zip(OUTPUTS, (each.numpy() for each in restored(wide, shape, packed)(planes)), strict=True)
        )
        rounded = dict(
            zip(OUTPUTS, (each.numpy() for each in restored(small, shape, packed)(planes)), strict=True)
        )
    answered = OnnxNetwork(wide, 1).evaluate(packed, OUTPUTS)
    in_eight_bits = OnnxNetwork(small, 1).evaluate(packed, OUTPUTS)
    for head in OUTPUTS:
        spread = wanted[head].std()
        assert np.allclose(answered[head], wanted[head], atol=1e-3 * spread)
        assert np.allclose(again[head], wanted[head], atol=1e-3 * spread)
        # Restored, it is what its file is, rounding and all.
        assert np.allclose(in_eight_bits[head], rounded[head], atol=1e-2 * spread)
        assert 0 < np.abs(in_eight_bits[head] - wanted[head]).mean() < 0.1 * spread


def test_torch_computes_its_file_like_onnxruntime(tmp_path: Path):
    shape, file = one_shape(), tmp_path / "network.onnx"
    export_onnx(some_network(shape), 21, file)
    packed = random_positions(5, seed=9)
    wanted = OnnxNetwork(file, 1).evaluate(packed, OUTPUTS)
    found = OnnxNetwork(file, 1, session=TorchSession(file, "cpu")).evaluate(packed, OUTPUTS)
    for head in OUTPUTS:
        assert np.allclose(found[head], wanted[head], atol=1e-3 * wanted[head].std())


KERNEL = """
import torch
from tabiya.minds.resnet.attentive import AttentiveBlock
torch.manual_seed(0)
block = AttentiveBlock(32, heads=2, hidden=8, relayed=0, suggestion=(2, 8, 4))
looks, bias = torch.randn(3, 64, 3, 2, 16, requires_grad=True), torch.randn(3, 2, 64, 64, requires_grad=True)
plain = block._attended(looks, bias)
block.fused = True
fused = block._attended(looks, bias)
given = torch.randn_like(plain)
pairs = [(plain, fused), *zip(*(torch.autograd.grad(out, (looks, bias), given) for out in (plain, fused)))]
print(max(float((one - other).abs().max()) + float(not one.any()) for one, other in pairs))
"""


def test_the_kernel_gives_what_plain_torch_gives(interpreted: Callable[[str], float]):
    assert interpreted(KERNEL) < 1e-5


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"suggestion": (4, 0, 16)}, "suggestion must have three sizes of at least 1"),
        ({"mixing_heads": 3}, "channels must be a multiple of mixing_heads, got 32 and 3"),
        ({"hidden": 0}, "hidden must be at least 1, got 0"),
        ({"rounds": 0}, "rounds must be at least 1, got 0"),
        ({"rounds": 2, "tower": "convolutions"}, "only a tower of attention is gone through in rounds"),
    ],
)
def test_sizes_that_make_no_tower_are_refused(wrong: dict[str, Any], sentence: str):
    with pytest.raises(UserError, match=sentence):
        one_shape(**wrong)
