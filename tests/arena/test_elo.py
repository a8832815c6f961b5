"""Elo, intervals and likelihood of superiority, against published figures or figures done by hand."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tabiya.arena.elo import Score, elo_from_score, score_from_elo


@pytest.mark.parametrize(
    ("wins", "losses", "draws", "elo", "half_width"),
    [
        # Matches as published with their own program's output: "Elo difference: 41.6 +/- 14.2".
        (869, 646, 357, 41.6, 14.2),
        (409, 197, 133, 102.5, 23.5),
        (628, 416, 277, 56.2, 16.8),
        (449, 276, 275, 60.7, 18.5),
        (382, 320, 298, 21.6, 18.1),
    ],
)
def test_elo_and_its_half_width_agree_with_published_matches(
    wins: int, losses: int, draws: int, elo: float, half_width: float
) -> None:
    score = Score(wins=wins, draws=draws, losses=losses)
    low, high = score.elo_95()
    assert low is not None
    assert high is not None
    assert score.elo() == pytest.approx(elo, abs=0.05)
    assert (high - low) / 2 == pytest.approx(half_width, abs=0.05)


@pytest.mark.parametrize(("games", "half_width"), [(100, 61), (200, 43), (400, 30), (1000, 19)])
def test_an_even_match_with_a_fifth_drawn_has_the_known_half_width(games: int, half_width: int) -> None:
    score = Score(wins=games * 2 // 5, draws=games // 5, losses=games * 2 // 5)
    low, high = score.elo_95()
    assert high == pytest.approx(half_width, abs=0.8)
    assert low == pytest.approx(-half_width, abs=0.8)


@pytest.mark.parametrize(
    ("wins", "losses", "los"),
    [(382, 320, 0.990), (372, 322, 0.971), (382, 304, 0.999), (5, 5, 0.5), (9, 0, 0.99865)],
)
def test_superiority_of_single_games_is_the_familiar_formula(wins: int, losses: int, los: float) -> None:
    assert Score(wins=wins, losses=losses, draws=300).superiority() == pytest.approx(los, abs=0.0005)


def test_pairs_by_hand() -> None:
    # Four pairs with 1½, 1, 1, 2 points: mean share 0.6875, pair variance
    # (0.75−m)² + 2(0.5−m)² + (1−m)² over 4 = 0.04296875, error √(0.04296875/4).
    score = Score(wins=4, draws=3, losses=1, pairs=(0, 0, 2, 1, 1))
    assert score.share == 0.6875
    assert score.error == pytest.approx(math.sqrt(0.04296875 / 4))
    assert score.elo() == pytest.approx(400 * math.log10(0.6875 / 0.3125))
    # Around an even score: sum of leads 0.75, sum of squares 0.3125.
    assert score.superiority() == pytest.approx(0.5 * math.erfc(-0.75 / math.sqrt(0.3125) / math.sqrt(2)))


def test_pairs_that_cancel_out_are_quieter_than_single_games() -> None:
    single = Score(wins=50, losses=50)
    paired = Score(wins=50, losses=50, pairs=(5, 0, 40, 0, 5))
    assert single.error == pytest.approx(math.sqrt(0.25 / 100))
    assert paired.error == pytest.approx(math.sqrt((10 * 0.25 / 50) / 50))
    assert paired.error < single.error


def test_a_game_whose_partner_is_missing_still_counts() -> None:
    whole = Score(wins=20, draws=40, losses=20, pairs=(2, 8, 20, 8, 2))
    with_one_more = Score(wins=21, draws=40, losses=20, pairs=(2, 8, 20, 8, 2))
    assert with_one_more.games == 81
    assert with_one_more.share > whole.share
    assert with_one_more.error == pytest.approx(whole.error, rel=0.02)


def test_all_wins_have_a_lower_bound_and_no_upper_one() -> None:
    score = Score(wins=10)
    low, high = score.elo_95()
    assert score.elo() is None
    assert high is None
    assert low is not None
    # Ten wins in a row have a chance of 5 % for a player who scores 0.05^(1/10).
    assert low == pytest.approx(elo_from_score(0.05**0.1))
    assert json.loads(json.dumps(score.summary()))["elo_95"] == [round(low, 2), None]
    assert "won" in score.sentence()


def test_all_losses_are_the_mirror_of_all_wins() -> None:
    high = Score(losses=10).elo_95()[1]
    low = Score(wins=10).elo_95()[0]
    assert low is not None
    assert high == pytest.approx(-low)


def test_all_draws_are_even_but_not_certain() -> None:
    score = Score(draws=10)
    low, high = score.elo_95()
    assert score.elo() == 0
    assert score.superiority() == 0.5
    assert low is not None
    assert high is not None
    assert low < -20
    assert high > 20


def test_no_games_say_nothing() -> None:
    score = Score()
    assert score.elo() is None
    assert score.elo_95() == (None, None)
    assert score.superiority() == 0.5
    assert score.sentence() == "no games yet"


def test_more_pairs_than_games_are_refused() -> None:
    with pytest.raises(ValueError, match="2 pairs need more than 3 games"):
        Score(wins=3, pairs=(0, 0, 0, 0, 2))


@given(st.integers(0, 300), st.integers(0, 300), st.integers(0, 300))
def test_the_interval_holds_the_estimate_and_mirrors(wins: int, draws: int, losses: int) -> None:
    score = Score(wins=wins, draws=draws, losses=losses)
    mirror = Score(wins=losses, draws=draws, losses=wins)
    low, high = score.share_95()
    assert 0 <= low <= score.share <= high <= 1
    assert score.superiority() == pytest.approx(1 - mirror.superiority())
    assert mirror.share_95()[0] == pytest.approx(1 - high)
    json.dumps(score.summary(), allow_nan=False)


@given(st.floats(-1200, 1200))
def test_elo_and_score_are_each_others_inverse(elo: float) -> None:
    assert elo_from_score(score_from_elo(elo)) == pytest.approx(elo, abs=1e-6)
