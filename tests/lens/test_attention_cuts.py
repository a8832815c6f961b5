"""Attention: pairs cut apart in batches, beside random ones."""

from __future__ import annotations

import numpy as np
import pytest

from tabiya._core import Board
from tabiya.lens.attention import ALL_PAIRS, cut_each, head_map, likely_pairs, pair_map, random_cuts
from tabiya.lens.interface import SQUARES, look_into

BLACK = "r1bqkbnr/pppp1ppp/2n5/1B2p3/4P3/5N2/PPPP1PPP/RNBQK2R b KQkq - 3 3"


@pytest.fixture
def subject(transformer):
    return look_into(transformer(), Board(BLACK))


def test_every_directed_pair_has_its_place_in_the_map(subject):
    made = []
    found = pair_map(subject, advance=made.append)
    assert sum(made) == len(ALL_PAIRS) == 4096
    assert found.tv.shape == (64, 64)
    assert np.isfinite(found.tv).all()
    assert found.tv.max() > 0
    by, at = SQUARES.index("e5"), SQUARES.index("f3")
    alone = cut_each(subject, [[("e5", "f3")]])
    assert np.isclose(found.tv[by, at], alone.tv[0], atol=1e-6)
    assert not np.isclose(found.tv[by, at], found.tv[at, by])


def test_the_strongest_pairs_come_first_and_no_square_looks_at_itself(subject):
    found = pair_map(subject, ALL_PAIRS[:200])
    strongest = found.strongest(5)
    weights = [weight for _, _, weight in strongest]
    assert weights == sorted(weights, reverse=True)
    assert all(by != at for by, at, _ in strongest)
    assert len(found.strongest(10_000)) == sum(by != at for by, at in ALL_PAIRS[:200])


def test_one_head_alone_can_be_cut(subject):
    where = np.zeros((2, 2), np.float32)
    where[0, 0] = 1
    pairs = [[(by, at) for by in SQUARES for at in SQUARES]]
    one, every = cut_each(subject, pairs, where=where), cut_each(subject, pairs)
    assert one.tv[0] > 0
    assert one.tv[0] != every.tv[0]
    # After the last layer only CLS is read: what squares see of each other there comes to nothing.
    last = np.array([[0, 0], [1, 1]], np.float32)
    assert cut_each(subject, pairs, where=last).tv[0] == 0


def test_a_few_cuts_say_where_the_strong_pairs_are(subject):
    likely = likely_pairs(subject, 4)
    assert 12 <= len(likely) <= 16
    assert all(by != at for by, at in likely)


def test_random_pairs_are_the_same_for_the_same_seed_and_more_of_them_change_more(subject):
    one, again = random_cuts(subject, 1, 8, seed=5), random_cuts(subject, 1, 8, seed=5)
    assert np.array_equal(one.tv, again.tv)
    many = random_cuts(subject, 2000, 8, seed=5)
    assert many.mean > one.mean
    assert one.below(1.1) == 8
    assert one.mean <= one.tv.max()


def test_a_silent_head_is_measured_for_every_layer(subject):
    found = head_map(subject)
    assert found.shape == (2, 2)
    assert (found > 0).any()
