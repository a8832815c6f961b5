"""The sequential test, against log-likelihood ratios that others published for real tests."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tabiya.arena.elo import Pentanomial, Score, score_from_elo
from tabiya.arena.sprt import Sprt
from tabiya.errors import UserError


def pairs(counts: Pentanomial) -> Score:
    """Any games that form these pairs; a pair of 1 point is taken as two draws."""
    wins = counts[3] + 2 * counts[4]
    losses = counts[1] + 2 * counts[0]
    return Score(wins=wins, losses=losses, draws=2 * sum(counts) - wins - losses, pairs=counts)


@pytest.mark.parametrize(
    ("counts", "elo0", "elo1", "llr"),
    [
        # Finished tests of Stockfish's testing site: pentanomial counts and the LLR it shows.
        ((19, 4020, 10316, 4215, 24), -1.75, 0.25, 2.94),
        ((103, 3851, 8316, 3728, 98), 0, 2, -2.03),
        ((291, 10353, 21899, 10175, 306), 0, 2, -3.08),
        ((99, 3323, 8399, 3606, 109), 0, 2, 2.98),
        ((2, 40, 72, 14, 0), 0, 2, -0.36),
        ((59, 6427, 15570, 6693, 91), 0, 2, 2.94),
        ((900, 30596, 67292, 30899, 809), 0, 2, -2.96),
        ((45, 8506, 25934, 8883, 57), 0.5, 2.5, 2.94),
        ((68, 15448, 39104, 15441, 94), 0.5, 2.5, -2.94),
        ((36, 5804, 14811, 5986, 39), -1.75, 0.25, 2.94),
        ((0, 0, 0, 0, 10), -1.75, 0.25, 0.08),
        ((10, 5, 2, 5, 10), -1.75, 0.25, 0.0),
        ((0, 2, 4, 6, 10), -1.75, 0.25, 0.13),
    ],
)
def test_normalized_pairs_agree_with_published_tests(
    counts: Pentanomial, elo0: float, elo1: float, llr: float
) -> None:
    test = Sprt(elo0=elo0, elo1=elo1, model="normalized")
    assert test.ratio(pairs(counts)) == pytest.approx(llr, abs=0.0051)


@pytest.mark.parametrize(
    ("wins", "losses", "draws", "elo0", "elo1", "model", "llr"),
    [
        # Figures that another match program checks itself against.
        (36433, 36027, 68692, 0, 2, "normalized", 0.92),
        (10871, 10650, 20431, -1.75, 0.25, "normalized", 2.30),
        (4250, 0, 0, 0, 10, "normalized", 120.56),
        (21404, 21184, 40708, 0.5, 2.5, "logistic", -1.57),
        (57433, 57030, 106593, 0, 2, "logistic", -2.59),
    ],
)
def test_single_games_agree_with_published_figures(
    wins: int, losses: int, draws: int, elo0: float, elo1: float, model: str, llr: float
) -> None:
    test = Sprt(elo0=elo0, elo1=elo1, model=model)  # type: ignore[arg-type]
    assert test.ratio(Score(wins=wins, draws=draws, losses=losses)) == pytest.approx(llr, rel=0.01)


@pytest.mark.parametrize(
    ("counts", "elo0", "elo1", "llr"),
    [((223, 9863, 21279, 10037, 246), 0.5, 2.5, -3.07), ((871, 26175, 55983, 26678, 821), 0, 2, -4.98)],
)
def test_logistic_pairs_agree_with_published_figures(
    counts: Pentanomial, elo0: float, elo1: float, llr: float
) -> None:
    assert Sprt(elo0=elo0, elo1=elo1).ratio(pairs(counts)) == pytest.approx(llr, rel=0.01)


def test_without_draws_the_ratio_is_that_of_coin_tosses() -> None:
    # With wins and losses alone the likeliest distribution of mean s is s itself, so the
    # ratio is Wald's: 60 ln(s1/s0) + 40 ln((1−s1)/(1−s0)), but for the thousandth of a draw.
    s0, s1 = score_from_elo(0), score_from_elo(50)
    by_hand = 60 * math.log(s1 / s0) + 40 * math.log((1 - s1) / (1 - s0))
    assert Sprt(elo0=0, elo1=50).ratio(Score(wins=60, losses=40)) == pytest.approx(by_hand, abs=1e-3)


def test_for_a_small_lead_the_ratio_is_the_normal_approximation() -> None:
    score = Score(wins=30_300, draws=40_000, losses=29_700)
    s0, s1 = score_from_elo(0), score_from_elo(2)
    variance = (30_300 + 40_000 / 4) / 100_000 - score.share**2
    approximate = 100_000 * (s1 - s0) * (2 * score.share - s0 - s1) / (2 * variance)
    assert Sprt(elo0=0, elo1=2).ratio(score) == pytest.approx(approximate, rel=1e-3)


def test_walds_bounds_by_hand() -> None:
    low, high = Sprt(elo0=0, elo1=5, alpha=0.05, beta=0.10).bounds()
    assert low == pytest.approx(math.log(0.10 / 0.95))
    assert high == pytest.approx(math.log(0.90 / 0.05))
    assert Sprt(elo0=0, elo1=5).bounds() == pytest.approx((-2.944, 2.944), abs=5e-4)


def test_the_verdict_follows_the_bounds() -> None:
    test = Sprt(elo0=0, elo1=5)
    assert [test.verdict(ratio) for ratio in (-3.0, -2.9, 0.0, 2.9, 3.0)] == [
        "H0",
        "continue",
        "continue",
        "continue",
        "H1",
    ]


def test_no_games_leave_the_test_open() -> None:
    test = Sprt(elo0=0, elo1=5)
    assert test.ratio(Score()) == 0
    assert test.summary(Score())["verdict"] == "continue"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("5,0", "elo0 below elo1"),
        ("0", "reads elo0,elo1"),
        ("a,b", "reads elo0,elo1"),
        ("0,nan", "reads elo0,elo1"),
        ("0,5,0.05", "reads elo0,elo1"),
        ("0,5,0,0.05", "between 0 and 0.5"),
        ("0,5000", "within ±1000"),
    ],
)
def test_a_test_that_makes_no_sense_is_refused(text: str, sentence: str) -> None:
    with pytest.raises(UserError, match=sentence):
        Sprt.parse(text)


def test_a_test_is_read_from_two_or_four_numbers() -> None:
    assert Sprt.parse("-3,1") == Sprt(elo0=-3, elo1=1)
    assert Sprt.parse("0,5,0.1,0.2") == Sprt(elo0=0, elo1=5, alpha=0.1, beta=0.2)


@given(
    st.tuples(*[st.integers(0, 500)] * 5),
    st.sampled_from(["logistic", "normalized"]),
    st.floats(-50, 50),
    st.floats(0.5, 100),
)
def test_the_ratio_is_finite_and_mirrors(counts: Pentanomial, model: str, elo0: float, width: float) -> None:
    test = Sprt(elo0=elo0, elo1=elo0 + width, model=model)  # type: ignore[arg-type]
    mirror = Sprt(elo0=-elo0 - width, elo1=-elo0, model=model)  # type: ignore[arg-type]
    ratio = test.ratio(pairs(counts))
    assert math.isfinite(ratio)
    assert mirror.ratio(pairs(counts[::-1])) == pytest.approx(-ratio, abs=1e-5, rel=1e-5)
