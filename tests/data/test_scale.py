"""The exchange rate of centipawns and win probability."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tabiya.data import scale
from tabiya.data.scale import centipawns, fit_scale, label_probability, mate_in, win_probability
from tabiya.errors import UserError

NAMES = st.sampled_from(sorted(scale.SCALES))


@pytest.mark.parametrize(
    ("name", "cp", "p"),
    [
        ("natural", 100, 1 / (1 + math.exp(-0.25))),
        ("natural", 400, 1 / (1 + math.exp(-1))),
        ("base10", 100, 1 / (1 + 10**-0.25)),
        ("base10", 400, 10 / 11),
        ("base10", -400, 1 / 11),
        ("fitted", 0, 0.5),
    ],
)
def test_each_named_curve_has_its_textbook_values(name: str, cp: float, p: float) -> None:
    assert win_probability(cp, name) == pytest.approx(p, rel=1e-12)


@given(st.floats(-2000, 2000), NAMES)
def test_a_score_survives_the_way_there_and_back(cp: float, name: str) -> None:
    assert centipawns(win_probability(cp, name), name) == pytest.approx(cp, abs=1e-3)


@given(st.floats(allow_nan=False), NAMES)
def test_both_sides_share_one_point(cp: float, name: str) -> None:
    mine, yours = win_probability(cp, name), win_probability(-cp, name)
    assert 0 <= mine <= 1
    assert mine + yours == pytest.approx(1)


def test_arrays_and_numbers_agree() -> None:
    cp = np.array([-300, -4, 0, 77, 1200], np.int16)
    assert win_probability(cp).tolist() == [win_probability(float(one)) for one in cp]
    p = np.array([0.0, 0.25, 0.5, 1.0])
    assert centipawns(p).tolist() == [centipawns(float(one)) for one in p]


def test_certainty_ends_at_the_limit_and_nonsense_is_refused() -> None:
    assert centipawns(1.0) == 9000
    assert centipawns(0.0, limit=500) == -500
    with pytest.raises(ValueError, match=r"\[0, 1\]"):
        centipawns(1.5)


@pytest.mark.parametrize("k", [90.0, 193.0, 400.0])
def test_the_fit_finds_the_scale_that_made_the_results(k: float) -> None:
    random = np.random.default_rng(7)
    cp = random.normal(0, 250, 200_000).round()
    results = (random.random(cp.size) < win_probability(cp, k)).astype(float)
    assert fit_scale(cp, results) == pytest.approx(k, rel=0.02)


def test_the_fit_is_exact_where_results_are_the_expectation() -> None:
    cp = np.array([-600.0, -50.0, 10.0, 300.0])
    assert fit_scale(cp, win_probability(cp, 123.0)) == pytest.approx(123.0, rel=1e-9)


@pytest.mark.parametrize(
    ("cp", "results"),
    [([100, -100], [1, 0]), ([100, -100], [0, 1]), ([100, 100], [0.5, 0.5]), ([0, 0], [1, 0])],
)
def test_results_without_a_finite_scale_are_refused(cp: list[int], results: list[float]) -> None:
    with pytest.raises(UserError, match="no scale fits"):
        fit_scale(cp, results)


def test_a_fit_needs_as_many_results_as_scores() -> None:
    with pytest.raises(UserError, match="2 and 1"):
        fit_scale([1, 2], [1])
    with pytest.raises(UserError, match="results are 1"):
        fit_scale([1, 2], [1, -1])


@pytest.mark.parametrize(
    ("label", "mate", "moves"),
    [
        (9997, scale.VALUE_MATE, 3),
        (-9999, scale.VALUE_MATE, -1),
        (-10000, scale.VALUE_MATE, 0),
        (29998, scale.MOVE_MATE, 2),
        (-29995, scale.MOVE_MATE, -5),
        (9997, scale.MOVE_MATE, None),
        (850, scale.VALUE_MATE, None),
        (scale.UNLABELLED, scale.VALUE_MATE, None),
        (scale.UNLABELLED, scale.MOVE_MATE, None),
    ],
)
def test_mates_are_told_from_centipawns(label: int, mate: int, moves: int | None) -> None:
    assert mate_in(label, mate) == moves
    assert bool(scale.is_mate(label, mate)) is (moves is not None)


def test_labels_become_probabilities_with_mates_certain_and_gaps_marked() -> None:
    p = label_probability(np.array([9990, -9990, -10000, 0, 32767], np.int16))
    assert p[:4].tolist() == [1.0, 0.0, 0.0, 0.5]
    assert np.isnan(p[4])
    assert label_probability(np.array([29999, -29999], np.int16), scale.MOVE_MATE).tolist() == [1.0, 0.0]
    assert [scale.mate_probability(moves) for moves in (3, -3, 0)] == [1.0, 0.0, 0.0]


def test_an_unknown_scale_is_refused_by_name() -> None:
    with pytest.raises(UserError, match="unknown scale 'base2'"):
        win_probability(1.0, "base2")
    with pytest.raises(UserError, match="positive"):
        win_probability(1.0, -3.0)


@pytest.mark.parametrize("cp", [-900.0, -250.0, -40.0, 0.0, 7.0, 120.0, 600.0, 2500.0, 31_000.0])
def test_win_draw_and_loss_are_chances_that_keep_the_expected_score(cp: float) -> None:
    win, draw, loss = scale.win_draw_loss(cp)
    assert min(win, draw, loss) >= 0
    assert win + draw + loss == pytest.approx(1.0)
    assert win + draw / 2 == pytest.approx(win_probability(cp))
    assert scale.win_draw_loss(-cp) == pytest.approx((loss, draw, win))


def test_draws_are_likeliest_between_equals() -> None:
    draws = [scale.win_draw_loss(cp)[1] for cp in (0.0, 50.0, 150.0, 400.0)]
    assert draws == sorted(draws, reverse=True)
    assert draws[0] == scale.DRAWS_AT_EQUALITY
