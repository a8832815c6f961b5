"""A limit in a player's name counts, whatever the game allows."""

from __future__ import annotations

import pytest

from tabiya import _core
from tabiya.player import Limit, PlayerError
from tabiya.roster import open_player

BUSY = "r1bqkb1r/pppp1ppp/2n2n2/4p2Q/2B1P3/8/PPPP1PPP/RNB1K1NR w KQkq - 4 4"


def test_a_player_searches_as_far_as_its_name_says():
    board = _core.Board(BUSY)
    with open_player("nnue?at=nodes:500") as bounded, open_player("nnue") as free:
        assert (
            bounded.play(board, Limit(nodes=20_000)).nodes
            < 1000
            < free.play(board, Limit(nodes=20_000)).nodes
        )
        assert bounded.play(board, Limit(white_clock=60.0, black_clock=60.0)).nodes < 1000
        bounded.set_option("Hash", "8")
        assert "Hash" in {option.name for option in bounded.options()}
        told = []
        bounded.report = told.append
        bounded.play(board, Limit(nodes=20_000))
        assert told


def test_other_settings_stand_beside_the_limit():
    with open_player("turing?depth=3&at=depth:1") as player:
        assert player.play(_core.Board(), Limit(depth=4)).nodes == 20


@pytest.mark.parametrize("wrong", ["5", "depth:0", "nodes:-3", "depth:two", "moves:3", ""])
def test_a_limit_that_is_none_is_refused(wrong: str):
    with pytest.raises(PlayerError, match="at must read nodes:N, depth:N or movetime:MILLISECONDS"):
        open_player(f"turing?at={wrong}")
