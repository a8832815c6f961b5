"""Mode second: the policy's likeliest moves weighed with what they lead to, and nothing else looked at."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from tabiya._core import Board, move_to_index
from tabiya.minds.resnet.player import ResNetPlayer, open_player
from tabiya.player import Limit, PlayerName
from tabiya.protocols import onnx_session

MATE_IN_ONE = "6k1/5ppp/8/8/8/8/5PPP/3R2K1 w - - 0 1"
BETTER = [0.0] * 15 + [20.0]


def opened(path: Path, mode: str = "second") -> ResNetPlayer:
    player = open_player(PlayerName.parse(f"resnet:{path}?mode={mode}&value=bins"))
    assert isinstance(player, ResNetPlayer)
    return player


def favouring(board: Board, *moves: str) -> np.ndarray:
    """A bias on the policy that likes these moves of `board`, the first one most."""
    bias = np.zeros(4672, np.float32)
    for place, move in enumerate(moves):
        bias[move_to_index(board, move, "planes")] = 20 - 4 * place
    return bias


def test_three_moves_are_weighed_with_what_they_lead_to(build, monkeypatch):
    player, board = opened(build()), Board()
    evaluate, seen = player.network.evaluate, []
    monkeypatch.setattr(
        player.network, "evaluate", lambda packed, heads: seen.append(packed) or evaluate(packed, heads)
    )
    decision = player.play(board, Limit())
    first = opened(player.network.path, mode="policy").play(board, Limit())
    outcomes = []
    for each in first.moves[:3]:
        board.push(each.move)
        outcomes.append(np.frombuffer(board.packed(), np.uint8))
        board.pop()
    given = np.frombuffer(board.packed(), np.uint8)
    assert decision.nodes == 4
    np.testing.assert_array_equal(np.concatenate(seen), np.stack([given, *outcomes]))
    worth = 1 - onnx_session.expected_score(evaluate(np.stack(outcomes), ["value_bins"])["value_bins"])
    chances = [each.p * math.exp(own / 0.04) for each, own in zip(first.moves, worth, strict=False)]
    rest = sum(each.p for each in first.moves[3:]) * math.exp(min(worth) / 0.04)
    found = {each.move: each.p for each in decision.moves}
    for each, chance in zip(first.moves, chances, strict=False):
        assert found[each.move] == pytest.approx(chance / (sum(chances) + rest), rel=1e-4)
    assert decision.move == first.moves[int(np.argmax(chances))].move


def test_among_the_moves_looked_at_the_policy_may_count_in_part(build):
    board = Board()
    whole = opened(build())
    part = opened(whole.network.path, mode="second&prior=0.25").play(board, Limit())
    first = {
        each.move: each.p for each in opened(whole.network.path, mode="policy").play(board, Limit()).moves
    }
    found = {each.move: each.p for each in part.moves}
    second = {each.move: each.p for each in whole.play(board, Limit()).moves}
    one, other, third, *rest = sorted(first, key=lambda move: -first[move])
    for move in (other, third):
        wanted = second[move] / second[one] * (first[one] / first[move]) ** 0.75
        assert found[move] / found[one] == pytest.approx(wanted, rel=1e-4)
    for move in rest:
        assert found[move] / found[one] == pytest.approx(second[move] / second[one], rel=1e-4)


def test_a_mate_is_known_by_the_rules_if_it_is_among_the_likeliest(build):
    board = Board(MATE_IN_ONE)
    likes = favouring(board, "d1d7", "d1d6", "d1d8")
    decision = opened(build(weight=0, value_bins=BETTER, policy=likes)).play(board, Limit())
    assert (decision.move, decision.score, decision.nodes) == ("d1d8", 29_999, 3)
    unlikely = favouring(board, "d1d7", "d1d6", "d1d5", "d1d8")
    decision = opened(build(weight=0, value_bins=BETTER, policy=unlikely)).play(board, Limit())
    assert (decision.move, decision.nodes) == ("d1d7", 4)


def test_a_single_move_is_looked_at_alone(build):
    only = Board("k7/8/1K6/8/8/8/8/1R6 b - - 0 1")
    assert len(only.legal_moves()) == 1
    assert opened(build()).play(only, Limit()).nodes == 2
