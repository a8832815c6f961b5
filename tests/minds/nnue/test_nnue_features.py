"""The bindings of feature sets, and which positions are quiet."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from tabiya import _core

BLACK_TO_MOVE = "4k3/8/8/8/8/8/4P3/4K2R b K - 0 1"


def packed(*fens: str) -> np.ndarray:
    return _core.pack_fens(list(fens))


def test_a_set_knows_its_size_and_the_names_of_its_features():
    features = _core.FeatureSet("ALL")
    assert (features.expression, features.size, features.max_active) == ("ALL", 768, 32)
    names = {features.name(number) for number in range(768)}
    assert len(names) == 768
    assert "white rook on h1" in names


def test_pawns_on_the_last_ranks_are_dead():
    features = _core.FeatureSet("ALL")
    dead = {features.name(int(number)) for number in np.flatnonzero(features.dead())}
    assert "white pawn on a1" in dead
    assert "white pawn on e4" not in dead


def test_each_side_sees_itself_as_white():
    features = _core.FeatureSet("ALL")
    board = _core.Board(BLACK_TO_MOVE)
    mover = {features.name(number) for number in features.active(board.packed())}
    other = {features.name(number) for number in features.active(board.packed(), "white")}
    assert mover == {"white king on e1", "black pawn on e7", "black king on e8", "black rook on h8"}
    assert other == {"black king on e8", "white pawn on e2", "white king on e1", "white rook on h1"}


@pytest.mark.parametrize("expression", ["ALL", "H+V", "KING-ALL", "ALL+ATTACK-COUNTS"])
def test_batches_and_rows_hold_the_same(expression: str):
    features = _core.FeatureSet(expression)
    positions = _core.random_positions(200, 4)
    width = features.most_active(positions, 2)
    assert width <= features.max_active
    rows = features.rows(positions, width, 2)
    assert np.array_equal(rows, features.wide_rows(positions, width))
    for side, (offsets, indices) in enumerate(features.batch(positions, 2)):
        filled = [row[row < features.size].tolist() for row in rows[:, side]]
        assert filled == [indices[start:end].tolist() for start, end in pairwise(offsets)]


def test_rows_that_are_too_narrow_are_refused():
    with pytest.raises(ValueError, match="rows of 8 are too narrow for ALL"):
        _core.FeatureSet("ALL").rows(_core.random_positions(3, 1, 2), 8)


def test_the_top_features_are_a_set_of_their_own():
    worth = np.zeros(768)
    worth[[5, 6, 100]] = 1.0
    best = _core.FeatureSet("ALL").top(worth, 3)
    assert best.size == 3
    assert best.name(2) == _core.FeatureSet("ALL").name(100)


def test_bad_input_is_an_error_that_names_it():
    with pytest.raises(ValueError, match="NOTHING"):
        _core.FeatureSet("ALL+NOTHING")
    with pytest.raises(IndexError, match="feature 768 of a set of 768"):
        _core.FeatureSet("ALL").name(768)
    with pytest.raises(ValueError, match="32 bytes, got 3"):
        _core.FeatureSet("ALL").active(b"abc")


def test_every_named_set_can_be_read():
    for name, expression, meaning in _core.FeatureSet.named():
        assert _core.FeatureSet(name).size == _core.FeatureSet(expression).size
        assert meaning


def test_quiet_is_no_check_and_nothing_that_hangs():
    hanging, defended = "4k3/8/8/3n4/8/8/8/3RK3 w - - 0 1", "4k3/8/4p3/3n4/8/8/8/3RK3 w - - 0 1"
    check = "4k3/8/8/8/8/8/4r3/4K3 w - - 0 1"
    assert _core.quiet(packed(hanging, defended, check), None, 2).tolist() == [False, True, False]


def test_a_known_best_move_decides_what_is_quiet():
    hanging = "4k3/8/8/3n4/8/8/8/3RK3 w - - 0 1"
    best = np.array([_core.uci_to_code(move) for move in ("e1e2", "d1d5")], np.uint16)
    assert _core.quiet(packed(hanging, hanging), best).tolist() == [True, False]
    with pytest.raises(ValueError, match="2 positions but 1 moves"):
        _core.quiet(packed(hanging, hanging), best[:1])
