"""Worth: the same order as the win probability, but one win is told from another."""

from __future__ import annotations

import numpy as np
import pytest

from tabiya.data.scale import MOVE_MATE, UNLABELLED, VALUE_MATE, label_probability
from tabiya.data.worth import centipawns_of, label_worth, worth


def test_worth_rises_with_the_win_probability_and_is_symmetric():
    cp = np.arange(-2500, 2501, 10)
    assert np.all(np.diff(worth(cp)) > 0)
    assert worth(0) == 0.5
    assert np.allclose(worth(cp) + worth(-cp), 1.0)


def test_one_win_is_told_from_another():
    labels = np.array([1000, 2000], np.int16)
    assert np.diff(label_worth(labels))[0] > 10 * np.diff(label_probability(labels))[0]


@pytest.mark.parametrize("mate", [VALUE_MATE, MOVE_MATE])
def test_a_mate_is_worth_more_than_any_advantage_and_the_nearer_the_more(mate):
    far, near, queen_up = label_worth(np.array([mate - 9, mate - 1, 8000]), mate)
    assert 1.0 > near > far > queen_up
    mated_soon, mated_late = label_worth(np.array([-(mate - 1), -(mate - 9)]), mate)
    assert mated_soon < mated_late < 1 - queen_up


def test_what_is_not_labelled_stays_so():
    assert np.isnan(label_worth(np.array([UNLABELLED]))[0])


def test_centipawns_come_back():
    cp = np.array([-2400.0, -31.0, 0.0, 7.0, 850.0])
    assert np.allclose(centipawns_of(worth(cp)), cp, atol=0.5)
