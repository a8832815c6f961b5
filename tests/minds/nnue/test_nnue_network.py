"""The network in torch and the same in integers: sums by hand, every shape, and nothing that overflows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from tabiya import _core  # noqa: E402
from tabiya.errors import UserError  # noqa: E402
from tabiya.minds.nnue.network import OUTPUT, NnueNetwork, NnueShape, parameter_count  # noqa: E402
from tabiya.minds.nnue.quantised import (  # noqa: E402
    evaluations,
    piece_counts,
    quantise,
    rounded,
    rounding_errors,
)

SHAPES = {
    "plain": NnueShape(l1=48, l2=8),
    "wide": NnueShape(l1=128, l2=32),
    "extra layer": NnueShape(l1=32, l2=16, extra=8),
    "buckets": NnueShape(l1=32, l2=8, buckets=8),
    "both": NnueShape(l1=32, l2=8, extra=16, buckets=4),
    "axes": NnueShape(features="H+V+D1+D2", l1=32, l2=8),
    "mobility": NnueShape(features="ALL+MOBILITY-BITS", l1=32, l2=8),
    "large": NnueShape(features="KING-ALL", l1=16, l2=8),
}


def taught(shape: NnueShape, seed: int = 1) -> NnueNetwork:
    """A network whose weights are as uneven as trained ones."""
    torch.manual_seed(seed)
    network = NnueNetwork(shape)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.add_(0.08 * torch.randn_like(parameter))
    network.clip()
    return network


@pytest.fixture(scope="module")
def positions() -> np.ndarray:
    return _core.random_positions(3000, 17)


def test_the_document_s_network_has_its_parameters():
    assert parameter_count(NnueNetwork(NnueShape())) == 768 * 512 + 512 + 1024 * 32 + 32 + 32 + 1


def test_an_evaluation_is_the_sums_written_out():
    network = taught(NnueShape(l1=6, l2=4))
    board = _core.Board("4k3/2q5/8/8/8/8/4P3/4K2R b K - 0 1")
    weight, bias = network.weight.detach().numpy(), network.bias.detach().numpy()
    views = [
        np.clip(weight[network.features.active(board.packed(), view)].sum(0) + bias, 0, 1)
        for view in ("black", "white")
    ]
    l2, output = network.l2, network.output
    hidden = np.clip(l2.weight.detach().numpy() @ np.concatenate(views) + l2.bias.detach().numpy(), 0, 1)
    expected = OUTPUT * float((output.weight.detach().numpy() @ hidden + output.bias.detach().numpy())[0])
    packed = np.frombuffer(board.packed(), np.uint8).reshape(1, 32)
    assert evaluations(network, packed)[0] == pytest.approx(expected, abs=1e-3)


@pytest.mark.parametrize("columns", [32, 5])
def test_large_sets_are_summed_as_small_ones_are(columns: int, monkeypatch, positions: np.ndarray):
    monkeypatch.setattr("tabiya.minds.nnue.network.COLUMNS", columns)
    network = taught(NnueShape(l1=16, l2=8))
    packed = positions[:64]
    rows = torch.from_numpy(network.features.wide_rows(packed, 32))
    pieces = torch.from_numpy(piece_counts(packed))
    found = []
    for dense in (4096, 0):
        monkeypatch.setattr("tabiya.minds.nnue.network.DENSE", dense)
        network.zero_grad()
        outputs = network(rows, pieces)
        outputs.square().sum().backward()
        found.append((outputs.detach(), network.weight.grad[: network.features.size].clone()))
    assert torch.allclose(found[0][0], found[1][0], atol=1e-5)
    assert torch.allclose(found[0][1], found[1][1], atol=1e-5)


@pytest.mark.parametrize("name", SHAPES)
def test_integers_say_what_the_network_says(name: str, tmp_path: Path, positions: np.ndarray):
    network = taught(SHAPES[name])
    errors = rounding_errors(network, quantise(network, tmp_path / "n.nnue"), positions, threads=2)
    assert errors.positions == len(positions) == sum(errors.counts)
    assert errors.within_50 >= 0.95
    assert abs(errors.median) <= 5
    assert np.ptp(evaluations(network, positions)) > 20  # it says something


@pytest.mark.parametrize("name", SHAPES)
def test_no_clipped_network_is_refused_by_the_integers(name: str):
    network = taught(SHAPES[name])
    for sign in (1, -1):
        with torch.no_grad():
            for parameter in network.parameters():
                parameter.fill_(1e6 * sign)
        network.clip()
        assert rounded(network).expression == SHAPES[name].features


def test_small_weights_are_rounded_in_finer_steps(positions: np.ndarray):
    """The scales are the file's own, so a network that leaves room is nearer to its floats."""
    network = taught(NnueShape(l1=64, l2=8))
    with torch.no_grad():
        network.weight.mul_(0.3)
        network.l2.weight.clamp_(-0.4, 0.4)
        network.output.weight.clamp_(-1, 1)
    fine = rounded(network)
    assert fine.scales == (6, 8, 10, OUTPUT)
    finest = rounding_errors(network, fine, positions)
    with torch.no_grad():
        network.l2.weight[0, 0] = 1.5  # one weight that needs the room costs all of them their precision
    assert rounded(network).scales == (6, 6, 10, OUTPUT)
    coarse = rounding_errors(network, rounded(network), positions)
    assert finest.within_50 >= coarse.within_50
    assert finest.largest < coarse.largest


def test_steps_are_only_as_fine_as_the_sums_behind_them_allow():
    network = taught(NnueShape(l1=16, l2=8))
    with torch.no_grad():
        network.l2.weight.clamp_(-0.4, 0.4)
        network.output.weight.fill_(network.limits.output)
    assert rounded(network).scales[1] < 8


def test_a_weight_that_was_not_clipped_is_refused_and_the_old_file_stays(tmp_path: Path):
    network = taught(NnueShape(l1=8, l2=4))
    path = tmp_path / "n.nnue"
    quantise(network, path)
    before = path.read_bytes()
    with torch.no_grad():
        network.l2.weight[0, 0] = 3.0
    with pytest.raises(UserError, match="L2 weight of 3 does not fit"):
        quantise(network, path)
    assert path.read_bytes() == before


def test_what_is_read_back_has_the_shape_that_was_written(tmp_path: Path):
    shape = NnueShape(features="KING-BUCKETS-4", l1=24, l2=8, extra=4, buckets=2)
    network = quantise(taught(shape), tmp_path / "n.nnue")
    assert network.expression == "KING-BUCKETS-4"
    assert network.shape == (24, 8, 4, 2)


def test_a_damaged_file_is_refused(tmp_path: Path):
    quantise(taught(NnueShape(l1=8, l2=4)), tmp_path / "n.nnue")
    content = bytearray((tmp_path / "n.nnue").read_bytes())
    content[len(content) // 2] ^= 1
    with pytest.raises(ValueError, match="damaged"):
        _core.QuantisedNetwork(bytes(content))


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"features": "SQUARE*ROLF"}, "ROLF"),
        ({"l1": 0}, "l1 must lie between 1 and 8192, got 0"),
        ({"buckets": 64}, "buckets must lie between 1 and 32, got 64"),
    ],
)
def test_a_shape_that_cannot_be_is_refused(settings: dict, complaint: str):
    with pytest.raises(UserError, match=complaint):
        NnueShape(**settings)


def test_pieces_are_counted():
    start = np.frombuffer(_core.Board().packed(), np.uint8)
    assert piece_counts(start[None, :]).tolist() == [32]
