"""What checks of a network rest on: its own games as positions, and two networks timed in turn."""

from __future__ import annotations

import numpy as np

from tabiya._core import Board
from tabiya.minds.resnet.comparison import WARM_UP, agreement, latency
from tabiya.minds.resnet.onnx_network import OnnxNetwork
from tabiya.minds.resnet.own_games import LONGEST, own_positions
from tabiya.minds.resnet.player import ResNetPlayer


def boards(packed: np.ndarray) -> list[Board]:
    return [Board.from_packed(row.tobytes()) for row in packed]


def test_own_games_give_positions_that_are_not_over_and_mostly_differ(build):
    network = OnnxNetwork(build())
    packed = own_positions(network, 300, seed=1)
    assert packed.shape == (300, 32)
    assert all(board.legal_moves() for board in boards(packed))
    assert len({row.tobytes() for row in packed}) > 250
    # Whole games, not openings alone.
    assert max(board.fullmove_number for board in boards(packed)) > 20
    assert max(board.fullmove_number for board in boards(packed)) <= LONGEST


def test_own_games_follow_from_the_seed(build):
    network = OnnxNetwork(build())
    same = [own_positions(network, 100, seed=5) for _ in range(2)]
    assert np.array_equal(*same)
    assert not np.array_equal(same[0], own_positions(network, 100, seed=6))


class Counting(OnnxNetwork):
    """Keeps the order in which networks are asked."""

    asked: list[str]

    def evaluate(self, packed, heads):
        assert len(packed) == 1
        self.asked.append(self.path.stem)
        return super().evaluate(packed, heads)


def test_two_networks_take_turns_after_a_warm_up(build):
    asked: list[str] = []
    networks = [Counting(build(f"{name}.onnx")) for name in "ab"]
    for network in networks:
        network.asked = asked
    figures = latency(networks, own_positions(OnnxNetwork(build()), 5), threads=2, runs=3, passes=4)
    assert asked[: 2 * WARM_UP] == ["a"] * WARM_UP + ["b"] * WARM_UP
    assert asked[2 * WARM_UP :] == ["a", "b", "b", "a"] * 6
    assert (figures["passes"], len(figures["networks"])) == (12, 2)
    for one in figures["networks"]:
        assert min(one["run_medians_ms"]) > 0
        assert one["median_ms"] <= one["p95_ms"]
    assert figures["ratio_range"][0] <= figures["ratio"] <= figures["ratio_range"][1]


def test_positions_that_are_over_are_left_out_of_the_agreement(build):
    mated = Board("rnb1kbnr/pppp1ppp/8/4p3/6Pq/5P2/PPPPP2P/RNBQKBNR w KQkq - 1 3")
    packed = np.frombuffer(Board().packed() + mated.packed(), np.uint8).reshape(2, 32)
    player = ResNetPlayer(OnnxNetwork(build()))
    assert agreement(player, player, packed)["positions"] == 1
    assert agreement(player, player, packed[1:]) == {"positions": 0}


def test_networks_of_another_mind_are_seen_to_differ(build):
    first = ResNetPlayer(OnnxNetwork(build("a.onnx")))
    other = ResNetPlayer(OnnxNetwork(build("b.onnx", value_bins=np.linspace(0, 5, 16), weight=0.0)))
    found = agreement(first, other, own_positions(first.network, 40))
    assert found["same_choice"] < 1
    assert found["value_difference"] > 0.05
    assert found["q_difference"] > 0
    assert found["largest_output_difference"]["wdl"] > 0
    low, high = found["same_choice_95"]
    assert low <= found["same_choice"] <= high
