"""The Monte Carlo player: honest counts, every limit kept, the better move found."""

from __future__ import annotations

import threading

import pytest

from tabiya._core import Board
from tabiya.minds.simple.montecarlo import MonteCarlo, Tally, open_player
from tabiya.player import Limit, PlayerName

MATE_IN_ONE = "6k1/5ppp/8/8/8/8/8/3RK3 w - - 0 1"


@pytest.mark.parametrize("games", [1, 7, 100, 1000])
def test_it_plays_exactly_the_games_it_is_allowed(games):
    decision = MonteCarlo(seed=1).play(Board(), Limit(nodes=games))
    assert decision.nodes == games
    assert Board().is_legal(decision.move)
    assert sum(each.p for each in decision.moves) == pytest.approx(1)
    assert sum(decision.wdl) == pytest.approx(1)


def test_the_same_seed_and_games_give_the_same_decision():
    first, second = (MonteCarlo(seed=3).play(Board(), Limit(nodes=500)) for _ in range(2))
    assert (first.move, first.wdl, first.moves) == (second.move, second.wdl, second.moves)


def test_it_finds_a_mate_in_one_for_either_side():
    assert MonteCarlo(seed=1).play(Board(MATE_IN_ONE), Limit(nodes=2000)).move == "d1d8"
    black = Board("3rk3/8/8/8/8/8/5PPP/6K1 b - - 0 1")
    decision = MonteCarlo(seed=1).play(black, Limit(nodes=2000))
    assert (decision.move, decision.wdl) == ("d8d1", (1.0, 0.0, 0.0))


def test_the_candidates_are_ordered_by_how_often_they_were_tried():
    shares = [each.p for each in MonteCarlo(seed=1).play(Board(MATE_IN_ONE), Limit(nodes=500)).moves]
    assert shares == sorted(shares, reverse=True)
    assert shares[0] > 3 * shares[1]


def test_time_ends_it():
    decision = MonteCarlo(seed=1).play(Board(), Limit(movetime=0.05))
    assert decision.nodes > 0
    assert decision.seconds >= 0.05


def test_a_clock_is_shared_out_and_no_limit_means_a_second():
    assert MonteCarlo(seed=1).play(Board(), Limit(white_clock=0.3, black_clock=9)).nodes > 0
    assert MonteCarlo(seed=1).play(Board(), Limit()).seconds >= 1.0


def test_stop_ends_an_endless_thought():
    player = MonteCarlo(seed=1)
    done = threading.Event()

    def stop_until_done() -> None:
        while not done.wait(0.05):
            player.stop()

    thread = threading.Thread(target=stop_until_done)
    thread.start()
    try:
        decision = player.play(Board(), Limit(infinite=True))
    finally:
        done.set()
        thread.join()
    assert Board().is_legal(decision.move)


def test_a_forced_move_needs_no_long_thought():
    only = Board("7k/8/8/8/8/8/1r6/K6r w - - 0 1")
    assert only.legal_moves() == ["a1b2"]
    assert MonteCarlo(seed=1).play(only, Limit(movetime=60)).nodes <= 8


def test_unplayed_moves_come_first_and_then_the_promising():
    assert Tally("e2e4").upper_bound(10) == float("inf")
    good, bad = Tally("e2e4", wins=8), Tally("d2d4", losses=8)
    assert good.upper_bound(16) > bad.upper_bound(16)
    assert (good.share, bad.share, Tally("c2c4").share) == (1.0, 0.0, 0.5)


def test_its_options_are_checked():
    player = open_player(PlayerName.parse("montecarlo?seed=3&maxplies=50"))
    assert player.play(Board(), Limit(nodes=40)).nodes == 40
    with pytest.raises(ValueError, match="MaxPlies must lie between 1 and 10000, not 0"):
        player.set_option("MaxPlies", "0")
