"""The ResNet player: one look a move, never an illegal one, and no won game shuffled away."""

from __future__ import annotations

import math
import os
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tabiya._core import Board, encode_planes, legal_mask, move_to_index, random_positions
from tabiya.arena.evaluation import BatchPlayer
from tabiya.board.planes import encode
from tabiya.data.worth import LARGEST, centipawns_of
from tabiya.minds.resnet import onnx_network
from tabiya.minds.resnet.player import ResNetPlayer, open_player
from tabiya.player import Limit, PlayerName
from tabiya.protocols import onnx_session

ANY = Limit()
FULL = bool(os.environ.get("TABIYA_FULL"))
BETTER = [0.0] * 15 + [20.0]
WORSE = [20.0] + [0.0] * 15
MATE_IN_ONE = "6k1/5ppp/8/8/8/8/5PPP/3R2K1 w - - 0 1"


def opened(path: Path, **options: Any) -> ResNetPlayer:
    query = "&".join(f"{key}={value}" for key, value in options.items())
    player = open_player(PlayerName.parse(f"resnet:{path}" + (f"?{query}" if query else "")))
    assert isinstance(player, ResNetPlayer)
    return player


def after(*moves: str, fen: str | None = None) -> Board:
    board = Board(fen)
    for move in moves:
        board.push(move)
    return board


def rows(*boards: Board) -> np.ndarray:
    return np.frombuffer(b"".join(board.packed() for board in boards), np.uint8).reshape(-1, 32)


def favouring(board: Board, *moves: str) -> np.ndarray:
    """A bias on the policy that likes these moves of `board`, the first one most."""
    bias = np.zeros(4672, np.float32)
    for place, move in enumerate(moves):
        bias[move_to_index(board, move, "planes")] = 20 - 5 * place
    return bias


class Recorder:
    """Stands in a session's place and keeps every input that reaches the network."""

    def __init__(self, player: ResNetPlayer) -> None:
        self.seen: list[np.ndarray] = []
        self._session = player.network.session
        player.network.session = self

    def run(self, names: list[str], feeds: dict[str, np.ndarray]) -> list[np.ndarray]:
        assert set(feeds) == {"planes"}
        self.seen.append(feeds["planes"].copy())
        return list(self._session.run(names, feeds))


@pytest.mark.parametrize("mode", ["policy", "q", "mix"])
@pytest.mark.parametrize("planes", [18, 21])
def test_one_move_is_one_evaluation_of_the_given_position_and_of_no_other(build, mode, planes):
    player = opened(build(planes=planes), mode=mode, temperature=1, seed=3)
    recorder, board, moves = Recorder(player), Board(), 0
    while board.outcome() is None and moves < 120:
        decision = player.play(board, ANY)
        moves += 1
        assert decision.nodes == 1
        assert len(recorder.seen) == moves
        assert recorder.seen[-1].shape == (1, planes, 8, 8)
        np.testing.assert_array_equal(recorder.seen[-1][:, :18], encode_planes(rows(board), "mover"))
        np.testing.assert_array_equal(recorder.seen[-1], encode(rows(board), planes))
        board.push(decision.move)
    assert moves > 20


@pytest.mark.parametrize("repetition", ["any", "weigh", "third", "allow"])
def test_the_repetition_rule_costs_no_evaluation(build, repetition):
    player = opened(build(value_bins=BETTER), repetition=repetition)
    recorder = Recorder(player)
    board = after("g1f3", "g8f6", "f3g1")
    assert player.play(board, ANY).nodes == 1
    assert [seen.shape[0] for seen in recorder.seen] == [1]
    np.testing.assert_array_equal(recorder.seen[0], encode_planes(rows(board), "mover"))


@pytest.mark.parametrize("mode", ["policy", "q", "mix", "value"])
def test_no_move_is_illegal_in_any_position(build, mode):
    count = 100_000 if FULL and mode != "value" else 500 if mode == "value" else 2_000
    player = opened(build(), mode=mode, temperature=1.5, seed=1)
    positions = random_positions(count, 11)
    for start in range(0, count, 500):
        boards = [Board.from_packed(row.tobytes()) for row in positions[start : start + 500]]
        for board, decision in zip(boards, player.play_batch(boards, ANY), strict=True):
            assert board.is_legal(decision.move)
            assert sorted(each.move for each in decision.moves) == board.legal_moves()
            assert math.fsum(each.p for each in decision.moves) == pytest.approx(1)


def test_whole_games_against_itself_end_by_the_rules(build):
    player = opened(build(planes=21), temperature=1)
    endings: Counter[str] = Counter()
    games = 1_000 if FULL else 12
    for game in range(games):
        player.set_option("seed", str(game))
        board = Board()
        while (ending := board.outcome()) is None:
            board.push(player.play(board, ANY).move)  # an illegal move raises
        endings[ending[1]] += 1
    assert sum(endings.values()) == games
    assert len(endings) > 1


def test_the_probabilities_are_a_softmax_over_the_legal_moves_alone(build):
    board = after("e2e4", "c7c5")
    illegal = np.where(legal_mask(rows(board), "planes")[0] == 0, 50.0, 0.0)
    player = opened(build(policy=illegal))
    raw = player.network.evaluate(rows(board), ["policy"])["policy"][0].astype(np.float64)
    indices = [move_to_index(board, move, "planes") for move in board.legal_moves()]
    expected = np.exp(raw[indices]) / np.exp(raw[indices]).sum()
    decision = player.play(board, ANY)
    found = {each.move: each.p for each in decision.moves}
    assert [found[move] for move in board.legal_moves()] == pytest.approx(expected.tolist())
    assert [each.p for each in decision.moves] == sorted(found.values(), reverse=True)
    assert decision.move == decision.moves[0].move


def test_black_is_asked_in_its_own_view(build):
    white = Board("4k3/8/8/8/8/8/P7/4K3 w - - 0 1")
    black = Board("4k3/p7/8/8/8/8/8/4K3 b - - 0 1")
    player = opened(build(weight=0, policy=favouring(white, "a2a4")))
    assert player.play(white, ANY).move == "a2a4"
    assert player.play(black, ANY).move == "a7a5"


def test_q_mode_plays_the_move_of_the_highest_q(build):
    board = Board()
    player = opened(build(policy=favouring(board, "a2a3")), mode="q")
    q = player.network.evaluate(rows(board), ["q"])["q"][0]
    best = max(board.legal_moves(), key=lambda move: q[move_to_index(board, move, "planes")])
    decision = player.play(board, ANY)
    assert decision.move == best
    scores = [each.score for each in decision.moves]
    assert scores == sorted(scores, reverse=True)


@pytest.mark.parametrize(("mix", "move"), [(0, "a2a3"), (1, "h2h3")])
def test_a_mix_goes_from_the_policy_to_q(build, mix, move):
    board = Board()
    q = favouring(board, "h2h3")
    player = opened(build(weight=0, policy=favouring(board, "a2a3"), q=q), mode="mix", mix=mix)
    assert player.play(board, ANY).move == move


def test_value_and_score_come_from_the_named_head(build):
    path = build(weight=0, wdl=[math.log(0.5), math.log(0.3), math.log(0.2)], value_bins=BETTER)
    by_bins, by_wdl = (opened(path, value=head).play(Board(), ANY) for head in ("bins", "wdl"))
    assert by_bins.wdl == pytest.approx((0.5, 0.3, 0.2))
    assert by_wdl.wdl == pytest.approx((0.5, 0.3, 0.2))
    # The middle of the last of 16 bins is 31/32: worth more than any advantage, so the largest there is.
    assert by_bins.score == LARGEST
    assert by_wdl.score == pytest.approx(193 * math.log(0.65 / 0.35), abs=0.1)


def test_many_boards_together_are_answered_as_one_by_one(build, monkeypatch):
    boards = [Board.from_packed(row.tobytes()) for row in random_positions(40, 5)]
    for mode in ("policy", "value"):
        player = opened(build(), mode=mode)
        assert isinstance(player, BatchPlayer)
        singly = [player.play(board, ANY) for board in boards]
        monkeypatch.setattr(onnx_network, "BATCH", 17)
        recorder = Recorder(player)
        together = player.play_batch(boards, ANY)
        assert max(len(seen) for seen in recorder.seen) == 17
        assert sum(len(seen) for seen in recorder.seen) == sum(each.nodes for each in together)
        monkeypatch.undo()
        for one, other in zip(singly, together, strict=True):
            assert (one.move, one.nodes) == (other.move, other.nodes)
            assert one.score == pytest.approx(other.score, abs=0.01)
            assert one.wdl == pytest.approx(other.wdl, abs=1e-6)


# Repetition. Black's f6g8 in SHUFFLED brings the start position back.
SHUFFLED = ("g1f3", "g8f6", "f3g1")


def repeating(build, **options: Any) -> ResNetPlayer:
    """Likes to repeat, then likes e7e5; `bins` says how it thinks it stands."""
    policy = favouring(after(*SHUFFLED), "f6g8", "e7e5")
    bins = options.pop("bins")
    q = options.pop("q", np.zeros(4672))
    return opened(build(weight=0, policy=policy, value_bins=bins, q=q), **options)


def test_a_better_side_does_not_repeat(build):
    decision = repeating(build, bins=BETTER).play(after(*SHUFFLED), ANY)
    assert decision.move == "e7e5"
    by_move = {each.move: each.p for each in decision.moves}
    least = min(p for move, p in by_move.items() if move != "f6g8")
    assert by_move["f6g8"] == pytest.approx(least / 10)


def test_a_side_that_is_not_better_repeats_as_it_likes(build):
    player = repeating(build, bins=WORSE)
    decision = player.play(after(*SHUFFLED), ANY)
    plain = repeating(build, bins=WORSE, repetition="allow").play(after(*SHUFFLED), ANY)
    assert decision.move == plain.move == "f6g8"
    assert decision.moves == plain.moves
    assert repeating(build, bins=[0.0] * 16).play(after(*SHUFFLED), ANY).move == "f6g8"


def test_the_margin_decides_who_is_better(build):
    level = [0.0] * 16
    assert repeating(build, bins=level, margin=-0.1).play(after(*SHUFFLED), ANY).move == "e7e5"
    assert repeating(build, bins=BETTER, margin=0.49).play(after(*SHUFFLED), ANY).move == "f6g8"


def test_only_the_third_time_may_be_refused(build):
    player = repeating(build, bins=BETTER, repetition="third")
    assert player.play(after(*SHUFFLED), ANY).move == "f6g8"
    assert player.play(after(*SHUFFLED, "f6g8", *SHUFFLED), ANY).move == "e7e5"
    allowing = repeating(build, bins=BETTER, repetition="allow")
    assert allowing.play(after(*SHUFFLED, "f6g8", *SHUFFLED), ANY).move == "f6g8"


def test_a_repetition_is_weighed_against_the_move_that_would_be_played_instead(build):
    board = after(*SHUFFLED)
    good = favouring(board, "e7e5")
    assert repeating(build, bins=BETTER, repetition="weigh", q=good).play(board, ANY).move == "e7e5"
    assert repeating(build, bins=BETTER, repetition="weigh", q=-good).play(board, ANY).move == "f6g8"


def test_the_same_position_without_its_history_repeats_nothing(build):
    board = after(*SHUFFLED)
    assert repeating(build, bins=BETTER).play(Board(board.fen()), ANY).move == "f6g8"


def test_where_the_only_move_repeats_it_is_played(build):
    # Two rooks leave White's king a1 and a2.
    board = after("a1a2", "e8d8", "a2a1", "d8e8", fen="1r2k3/8/8/8/8/7r/8/K7 w - - 0 1")
    assert board.legal_moves() == ["a1a2"]
    assert board.repetitions_after("a1a2") == 1
    decision = opened(build(weight=0, value_bins=BETTER)).play(board, ANY)
    assert (decision.move, decision.moves[0].p) == ("a1a2", 1.0)


@pytest.mark.parametrize(("repetition", "repeats"), [("any", False), ("allow", True)])
def test_a_side_that_feels_better_never_shuffles_a_whole_game_into_a_draw(build, repetition, repeats):
    # Both sides like nothing more than a knight out and back again.
    policy = np.random.default_rng(2).normal(0, 1, 4672)
    policy += favouring(Board(), "g1f3") + favouring(after("g1f3", "g8f6"), "f3g1")
    player = opened(build(weight=0, policy=policy, value_bins=BETTER), repetition=repetition)
    board = Board()
    while board.outcome() is None and board.ply < 60:
        board.push(player.play(board, ANY).move)
    ending = board.outcome()
    assert (ending is not None and ending[1] == "threefold repetition") == repeats


def test_the_last_of_a_hundred_quiet_half_moves_is_refused_like_a_repetition(build):
    board = Board("4k3/8/8/8/8/8/P7/R3K3 w - - 99 80")
    policy = favouring(board, "a1b1", "a2a3")
    assert opened(build(weight=0, policy=policy, value_bins=BETTER)).play(board, ANY).move == "a2a3"
    assert opened(build(weight=0, policy=policy, value_bins=WORSE)).play(board, ANY).move == "a1b1"
    sooner = Board(board.fen().replace(" 99 ", " 98 "))
    assert opened(build(weight=0, policy=policy, value_bins=BETTER)).play(sooner, ANY).move == "a1b1"


STALEMATE_OR_NOT = "7k/8/5K2/8/8/8/6Q1/8 w - - 0 1"


def test_a_better_side_does_not_stalemate_unless_it_may(build):
    board = Board(STALEMATE_OR_NOT)
    policy = favouring(board, "g2g6", "g2g4")
    better = build(weight=0, policy=policy, value_bins=BETTER)
    assert opened(better).play(board, ANY).move == "g2g4"
    assert opened(better, stalemate="allow").play(board, ANY).move == "g2g6"
    assert opened(build(weight=0, policy=policy, value_bins=WORSE)).play(board, ANY).move == "g2g6"


def test_a_better_side_does_not_take_the_last_man_that_could_mate(build):
    # With the rook on g2 gone, and a knight left, nobody can mate.
    board = Board("8/8/8/3k4/8/8/6rN/7K w - - 0 1")
    policy = favouring(board, "h1g2")
    assert board.draws_after("h1g2")
    assert opened(build(weight=0, policy=policy, value_bins=BETTER)).play(board, ANY).move != "h1g2"
    assert opened(build(weight=0, policy=policy, value_bins=WORSE)).play(board, ANY).move == "h1g2"


def test_in_q_mode_a_stalemate_is_worth_a_draw(build):
    board = Board(STALEMATE_OR_NOT)
    q = np.full(4672, -3.0)
    q[move_to_index(board, "g2g6", "planes")] = 3.0
    assert opened(build(weight=0, q=q), mode="q", stalemate="allow").play(board, ANY).moves[0].score > 100
    decision = opened(build(weight=0, q=q), mode="q").play(board, ANY)
    # Everything else is worth less still: the draw is taken, for what it is.
    assert decision.move == "g2g6"
    assert decision.moves[0].score == 0
    q[move_to_index(board, "g2g4", "planes")] = 1.0
    assert opened(build(weight=0, q=q), mode="q").play(board, ANY).move == "g2g4"


def test_a_mate_in_one_is_not_looked_for_in_one_pass(build):
    board = Board(MATE_IN_ONE)
    player = opened(build(weight=0, policy=favouring(board, "g1f1")))
    assert player.play(board, ANY).move == "g1f1"


def test_in_q_mode_a_repetition_is_worth_a_draw_at_most(build):
    board = after(*SHUFFLED)
    q = np.full(4672, -3.0)
    q[move_to_index(board, "f6g8", "planes")] = 3.0
    path = build(weight=0, q=q)
    assert opened(path, mode="q").play(board, ANY).move == "f6g8"
    q[move_to_index(board, "e7e5", "planes")] = 1.0
    path = build(weight=0, q=q)
    assert opened(path, mode="q").play(board, ANY).move == "e7e5"
    assert opened(path, mode="q", repetition="allow").play(board, ANY).move == "f6g8"


# Drawing moves by chance.


def frequencies(player: ResNetPlayer, board: Board, draws: int) -> dict[str, float]:
    played = Counter(each.move for each in player.play_batch([board] * draws, ANY))
    return {move: count / draws for move, count in played.items()}


def three_moves(board: Board) -> np.ndarray:
    """Half e2e4, three tenths d2d4, a fifth c2c4, and next to nothing for the rest."""
    bias = np.full(4672, -30.0)
    for move, p in (("e2e4", 0.5), ("d2d4", 0.3), ("c2c4", 0.2)):
        bias[move_to_index(board, move, "planes")] = math.log(p)
    return bias


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"temperature": 0}, {"e2e4": 1.0}),
        ({"temperature": 1}, {"e2e4": 0.5, "d2d4": 0.3, "c2c4": 0.2}),
        ({"temperature": 0.5}, {"e2e4": 25 / 38, "d2d4": 9 / 38, "c2c4": 4 / 38}),
        ({"temperature": 1, "top_p": 0.8}, {"e2e4": 0.625, "d2d4": 0.375}),
        ({"temperature": 1, "top_p": 0.81}, {"e2e4": 0.5, "d2d4": 0.3, "c2c4": 0.2}),
        ({"temperature": 1, "top_p": 0}, {"e2e4": 1.0}),
    ],
)
def test_moves_are_drawn_as_temperature_and_top_p_say(build, options, expected):
    board, draws = Board(), 3000
    player = opened(build(weight=0, policy=three_moves(board)), **options)
    player._unseeded.seed(4)
    found = frequencies(player, board, draws)
    assert set(found) == set(expected)
    for move, p in expected.items():
        assert abs(found[move] - p) <= 4 * math.sqrt(p * (1 - p) / draws)


def test_a_seeded_game_is_the_same_game_again(build):
    def game(seed: int) -> list[str]:
        player, board = opened(build(), temperature=2, seed=seed), Board()
        while board.outcome() is None and board.ply < 40:
            board.push(player.play(board, ANY).move)
        return board.moves

    assert game(5) == game(5)
    assert game(5) != game(6)


# Mode value.


def test_value_mode_evaluates_every_successor_once(build):
    player = opened(build(), mode="value")
    recorder, board = Recorder(player), after("e2e4", "c7c5")
    decision = player.play(board, ANY)
    successors = [after("e2e4", "c7c5", move) for move in board.legal_moves()]
    assert decision.nodes == len(successors)
    np.testing.assert_array_equal(np.concatenate(recorder.seen), encode_planes(rows(*successors), "mover"))
    seen = player.network.evaluate(rows(*successors), ["value_bins", "wdl", "q"])
    bins = onnx_session.expected_score(seen["value_bins"])
    chances = [win + draw / 2 for win, draw, _ in onnx_session.softmax(seen["wdl"])]
    replies = [
        max(1 / (1 + math.exp(-q[move_to_index(each, move, "planes")])) for move in each.legal_moves())
        for each, q in zip(successors, seen["q"].astype(float), strict=True)
    ]
    theirs = 0.4 * bins + 0.4 * np.array(replies) + 0.2 * np.array(chances)
    assert decision.move == board.legal_moves()[int(np.argmin(theirs))]
    scores = {each.move: each.score for each in decision.moves}
    own = [scores[move] for move in board.legal_moves()]
    np.testing.assert_allclose(own, centipawns_of(1 - theirs), rtol=1e-5)
    by_bins = opened(player.network.path, mode="value", value="bins").play(board, ANY)
    assert by_bins.move == board.legal_moves()[int(np.argmin(bins))]


def test_value_mode_knows_a_mate_by_the_rules(build):
    player = opened(build(weight=0, value_bins=WORSE), mode="value")
    recorder, board = Recorder(player), Board(MATE_IN_ONE)
    decision = player.play(board, ANY)
    assert decision.move == "d1d8"
    assert decision.wdl == (1.0, 0.0, 0.0)
    assert decision.score == 29_999
    assert decision.moves[0].score == 29_999
    # The mate itself is not put to the network.
    assert decision.nodes == len(board.legal_moves()) - 1 == sum(len(seen) for seen in recorder.seen)


def test_value_mode_counts_a_stalemate_and_a_third_repetition_as_draws(build):
    stalemating = Board("7k/8/6K1/8/8/8/8/5Q2 w - - 0 1")
    winning = opened(build(weight=0, value_bins=WORSE), mode="value").play(stalemating, ANY)
    assert winning.moves[-1].move == "f1f7"
    assert winning.moves[-1].score == 0
    third = after(*SHUFFLED, "f6g8", *SHUFFLED)
    losing = opened(build(weight=0, value_bins=BETTER), mode="value").play(third, ANY)
    assert losing.move == "f6g8"
    assert (losing.score, losing.wdl) == (0, (0.0, 1.0, 0.0))


def test_value_mode_counts_a_repetition_as_a_draw_at_most(build):
    board = after(*SHUFFLED)
    path = build(weight=0, value_bins=WORSE)
    counted = opened(path, mode="value", value="bins").play(board, ANY)
    scores = {each.move: each.score for each in counted.moves}
    assert scores["f6g8"] == 0
    assert scores["e7e5"] > 500
    allowed = opened(path, mode="value", value="bins", repetition="allow").play(board, ANY)
    assert min(each.score for each in allowed.moves) > 500
