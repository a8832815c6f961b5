"""Occlusion: every part weighed, by the network's policy or by what the old move loses."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tabiya._core import Board
from tabiya.lens.interface import SQUARES, look_into
from tabiya.lens.occlusion import log_odds, occlude, total_variation
from tabiya.player import Limit

MATE = "r1bqkb1r/pppp1ppp/2n2n2/4p2Q/2B1P3/8/PPPP1PPP/RNB1K1NR w KQkq - 4 4"
FORK = "r3k3/8/8/3N4/8/8/8/4K3 w - - 0 1"


def test_total_variation_counts_what_went_to_moves_that_were_not_there():
    p = np.array([0.5, 0.5])
    assert total_variation(p, np.array([[0.5, 0.5], [1.0, 0.0], [0.0, 0.0]])).tolist() == [0.0, 0.5, 1.0]


def test_log_odds_of_certainty_are_finite():
    assert np.isfinite(log_odds(np.array([0.0, 1.0]))).all()
    assert log_odds(np.array([0.5]))[0] == 0.0


def test_every_row_of_a_transformer_is_weighed(transformer):
    found = occlude(look_into(transformer(), Board(MATE)))
    assert len(found.parts) == 85
    assert found.map().shape == (8, 8)
    assert len(found.others) == 21
    assert all(0 <= shift.weight <= 1 and math.isfinite(shift.log_odds) for shift in found.parts.values())
    assert max(shift.tv for shift in found.squares.values()) > 0
    # A flipped network's turn is always off, and its row still says something to it.
    assert found.parts["turn"].choice in Board(MATE).legal_moves()


def test_the_map_has_rank_one_first(resnet):
    found = occlude(look_into(resnet, Board(MATE)))
    assert found.map().flatten().tolist() == [found.parts[square].weight for square in SQUARES]
    rank, file = divmod(SQUARES.index("c4"), 8)
    assert found.map()[rank, file] == found.parts["c4"].weight > 0.5
    assert found.map()[7 - rank, file] == found.parts["c5"].weight != found.parts["c4"].weight
    assert found.parts["c4"].log_odds > 1
    assert found.parts["c4"].choice != found.chosen == "h5f7"


def test_for_a_mind_that_searches_a_piece_weighs_what_the_old_move_loses_without_it():
    from tabiya.minds.nnue.player import NnuePlayer
    from tabiya.minds.nnue.settings import Settings

    player = NnuePlayer(None, Settings(hash=1))
    found = occlude(look_into(player, Board(FORK), Limit(depth=4)))
    assert found.chosen == "d5c7"
    # Without the rook there is nothing to fork, and the knight may go anywhere.
    assert found.parts["a8"].choice is None or found.parts["a8"].weight < 0.5
    # Without the knight its move does not exist, which says nothing about the move.
    assert found.parts["d5"].weight == 0.0


@pytest.mark.parametrize("nodes", [500])
def test_a_shift_is_shown_without_numbers_that_json_does_not_know(genetic, nodes):
    found = occlude(look_into(genetic, Board(MATE), Limit(nodes=nodes)))
    shown = [shift.shown() for shift in found.parts.values()]
    assert all(value is None or value == value for row in shown for value in row.values())
    assert any(row["choice"] is None for row in shown)
