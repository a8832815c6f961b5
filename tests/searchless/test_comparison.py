"""What checks of a network rest on: its own games as positions, two networks timed in turn, their answers."""

from __future__ import annotations

import numpy as np

from tabiya._core import Board
from tabiya.minds.resnet.onnx_network import OnnxNetwork
from tabiya.minds.resnet.player import ResNetPlayer
from tabiya.minds.resnet.settings import Settings
from tabiya.minds.transformer.onnx_network import OnnxTransformer
from tabiya.minds.transformer.player import TransformerPlayer
from tabiya.player import Limit
from tabiya.searchless.comparison import WARM_UP, agreement, latency
from tabiya.searchless.own_games import LONGEST, own_positions


def boards(packed: np.ndarray) -> list[Board]:
    return [Board.from_packed(row.tobytes()) for row in packed]


def test_own_games_give_positions_that_are_not_over_and_mostly_differ(build):
    packed = own_positions(ResNetPlayer(OnnxNetwork(build())), 300, seed=1)
    assert packed.shape == (300, 32)
    assert all(board.legal_moves() for board in boards(packed))
    assert len({row.tobytes() for row in packed}) > 250
    # Whole games, not openings alone.
    assert max(board.fullmove_number for board in boards(packed)) > 20
    assert max(board.fullmove_number for board in boards(packed)) <= LONGEST


def test_own_games_follow_from_the_seed(build):
    network = OnnxNetwork(build())
    # Whatever the player would do in a game of its own.
    players = (ResNetPlayer(network), ResNetPlayer(network, Settings(mode="q", temperature=5.0, seed=1)))
    same = [own_positions(player, 100, seed=5) for player in players]
    assert np.array_equal(*same)
    assert not np.array_equal(same[0], own_positions(players[0], 100, seed=6))


def test_a_transformer_plays_games_of_its_own_too(tiny_transformer):
    player = TransformerPlayer(OnnxTransformer(tiny_transformer))
    packed = own_positions(player, 60, seed=1)
    assert all(board.legal_moves() for board in boards(packed))
    assert np.array_equal(packed, own_positions(player, 60, seed=1))


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
    packed = own_positions(ResNetPlayer(OnnxNetwork(build())), 5)
    figures = latency(networks, packed, threads=2, runs=3, passes=4)
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
    found = agreement(first, other, own_positions(first, 40))
    assert found["same_choice"] < 1
    assert found["value_difference"] > 0.05
    assert found["q_difference"] > 0
    assert found["largest_output_difference"]["wdl"] > 0
    low, high = found["same_choice_95"]
    assert low <= found["same_choice"] <= high


def test_bins_of_another_number_are_values_all_the_same(build):
    first = ResNetPlayer(OnnxNetwork(build("a.onnx")))
    other = ResNetPlayer(OnnxNetwork(build("b.onnx", bins=8)))
    found = agreement(first, other, own_positions(first, 20))
    assert 0 < found["value_difference"] < 1
    assert set(found["largest_output_difference"]) == {"policy", "q", "wdl"}


def test_two_minds_agree_on_moves_and_values_though_not_on_outputs(build, tiny_transformer):
    resnet = ResNetPlayer(OnnxNetwork(build()))
    transformer = TransformerPlayer(OnnxTransformer(tiny_transformer))
    packed = own_positions(resnet, 30)
    found = agreement(transformer, resnet, packed)
    assert found["positions"] == 30
    decided = [
        [each.move for each in player.play_batch(boards(packed), Limit())] for player in (transformer, resnet)
    ]
    same = sum(one == other for one, other in zip(*decided, strict=True))
    assert found["same_choice"] == round(same / 30, 5)
    # Neither repeats: those boards know no past, so the likeliest move is the choice.
    assert found["same_policy_move"] == found["same_choice"]
    assert found["policy_divergence"] > 0
    assert found["value_difference"] > 0
    assert "q_difference" not in found
    assert set(found["largest_output_difference"]) == {"wdl", "value_bins"}
    itself = agreement(transformer, transformer, packed)
    assert (itself["same_choice"], itself["policy_divergence"], itself["value_difference"]) == (1, 0, 0)
    assert set(itself["largest_output_difference"]) == {"policy", "wdl", "value_bins"}
    figures = latency([transformer.network, resnet.network], packed, threads=2, runs=1, passes=3)
    assert len(figures["networks"]) == 2
    assert figures["ratio"] > 0


def test_the_policy_divergence_of_two_minds_is_that_of_their_moves(build, tiny_transformer):
    resnet = ResNetPlayer(OnnxNetwork(build()))
    transformer = TransformerPlayer(OnnxTransformer(tiny_transformer))
    packed = own_positions(resnet, 1)
    said = [
        {each.move: each.p for each in player.play(boards(packed)[0], Limit()).moves}
        for player in (transformer, resnet)
    ]
    divergence = sum(p * np.log(p / said[1][move]) for move, p in said[0].items())
    assert agreement(transformer, resnet, packed)["policy_divergence"] == round(divergence, 7)
