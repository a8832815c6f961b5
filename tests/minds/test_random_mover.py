"""The random player: legal, even-handed, and repeatable when seeded."""

from __future__ import annotations

from collections import Counter

import pytest

from tabiya._core import Board
from tabiya.minds.simple.random_mover import RandomMover, open_player
from tabiya.player import Limit, PlayerError, PlayerName


def game(player: RandomMover, plies: int) -> list[str]:
    board = Board()
    while board.outcome() is None and len(board.moves) < plies:
        board.push(player.play(board, Limit()).move)
    return board.moves


def test_a_seeded_game_is_the_same_game_again():
    assert game(RandomMover(seed=5), 80) == game(RandomMover(seed=5), 80)
    assert game(RandomMover(seed=5), 80) != game(RandomMover(seed=6), 80)


def test_a_seeded_move_depends_on_the_position_alone():
    player, board = RandomMover(seed=5), Board()
    first = player.play(board, Limit()).move
    game(player, 30)
    assert player.play(board, Limit()).move == first


def test_every_move_gets_its_turn():
    player, board = RandomMover(), Board()
    seen = Counter(player.play(board, Limit()).move for _ in range(2000))
    assert set(seen) == set(board.legal_moves())
    assert max(seen.values()) < 200


def test_it_has_a_policy_and_no_opinion():
    decision = RandomMover(seed=1).play(Board(), Limit())
    assert decision.wdl is None
    assert decision.score is None
    assert len(decision.moves) == 20
    assert sum(each.p for each in decision.moves) == pytest.approx(1)


def test_its_seed_is_an_option():
    player = open_player(PlayerName.parse("random?seed=5"))
    assert [option.name for option in player.options()] == ["Seed"]
    assert player.play(Board(), Limit()).move == RandomMover(seed=5).play(Board(), Limit()).move
    player.set_option("Seed", "-1")
    with pytest.raises(ValueError, match="Seed must be a whole number, not 'x'"):
        player.set_option("Seed", "x")
    with pytest.raises(PlayerError, match="random has no option 'sed', did you mean 'Seed'"):
        open_player(PlayerName.parse("random?sed=1"))
