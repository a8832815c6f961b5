"""The rating list: known answers, anchors, and the cases in which no rating exists."""

from __future__ import annotations

import json
import math
import random

import pytest

from tabiya.arena.elo import Score, elo_from_score, score_from_elo
from tabiya.arena.ratings import Game, RatingList, rate
from tabiya.errors import UserError


def games(one: str, other: str, wins: int, draws: int, losses: int) -> list[Game]:
    """Games with the colours shared evenly, as far as the counts allow."""
    points = [1.0] * wins + [0.5] * draws + [0.0] * losses
    return [
        Game(one, other, value) if i % 2 == 0 else Game(other, one, 1 - value)
        for i, value in enumerate(points)
    ]


def rating(ratings: RatingList, name: str) -> float:
    value = ratings[name].rating
    assert value is not None
    return value


def test_two_players_stand_as_far_apart_as_their_match_says() -> None:
    result = rate(games("a", "b", 60, 20, 20))
    assert rating(result, "a") - rating(result, "b") == pytest.approx(elo_from_score(0.7), abs=0.05)
    assert rating(result, "a") == pytest.approx(-rating(result, "b"))
    assert [player.name for player in result.players] == ["a", "b"]


def test_the_interval_of_two_players_is_that_of_their_match() -> None:
    played = games("a", "b", 60, 20, 20)
    result = rate(played, {"b": 1500})
    score = Score(wins=60, draws=20, losses=20)
    # The match carries the ends over to Elo, the list carries the error over: error / (s (1−s) ln 10 / 400).
    by_hand = 1.96 * score.error / (0.7 * 0.3 * math.log(10) / 400)
    low, high = result["a"].rating_95
    assert low is not None
    assert high is not None
    assert (high - low) / 2 == pytest.approx(by_hand, rel=0.01)
    assert result["b"].rating_95 == (1500, 1500)


def test_an_anchor_fixes_the_level() -> None:
    free = rate(games("a", "b", 60, 20, 20))
    tied = rate(games("a", "b", 60, 20, 20), {"b": 2000})
    assert rating(tied, "b") == 2000
    assert rating(tied, "a") - 2000 == pytest.approx(rating(free, "a") - rating(free, "b"), abs=1e-4)
    assert tied["b"].anchored


def test_a_chain_of_opponents_adds_up() -> None:
    result = rate(games("a", "b", 76, 0, 24) + games("b", "c", 76, 0, 24))
    step = elo_from_score(0.76)
    assert rating(result, "a") == pytest.approx(step, abs=0.1)
    assert rating(result, "b") == pytest.approx(0, abs=0.1)
    assert rating(result, "c") == pytest.approx(-step, abs=0.1)


def test_anchors_that_disagree_show_in_the_spread() -> None:
    # Even against both anchors, which are said to be 200 apart: in the middle, and the spread says it.
    result = rate(games("a", "low", 40, 20, 40) + games("a", "high", 40, 20, 40), {"low": 1500, "high": 1700})
    assert rating(result, "a") == pytest.approx(1600, abs=0.1)
    assert result.spread("a") == (1500, 1700)
    against = {one.name: one for one in result["a"].against}
    assert against["low"].expected_share == pytest.approx(score_from_elo(100), abs=1e-3)
    assert against["low"].score.share == 0.5


def test_ratings_and_whites_advantage_come_back_from_games_drawn_by_them() -> None:
    truth = {"a": 150.0, "b": 50.0, "c": -50.0, "d": -150.0}
    chance = random.Random(7)
    played = []
    for white in truth:
        for black in truth:
            if white != black:
                share = score_from_elo(truth[white] - truth[black] + 40)
                played += [Game(white, black, float(chance.random() < share)) for _ in range(600)]
    result = rate(played)
    inside = 0
    for name, value in truth.items():
        assert rating(result, name) == pytest.approx(value, abs=25)
        low, high = result[name].rating_95
        assert low is not None
        assert high is not None
        inside += low <= value <= high
        assert 5 < (high - low) / 2 < 15
    assert inside >= 3
    assert result.white_advantage == pytest.approx(40, abs=15)


def test_draws_make_the_interval_narrower() -> None:
    def width(draws: int) -> float:
        low, high = rate(games("a", "b", 50 - draws // 2, draws, 50 - draws // 2))["a"].rating_95
        assert low is not None
        assert high is not None
        return high - low

    assert width(80) < width(40) < width(0)


def test_an_unbeaten_player_gets_a_bound_and_a_sentence() -> None:
    played = games("a", "b", 5, 2, 5) + games("king", "a", 10, 0, 0) + games("king", "b", 10, 0, 0)
    result = rate(played, {"a": 1000})
    king = result["king"]
    low, high = king.rating_95
    assert king.rating is None
    assert high is None
    assert low is not None
    # Twenty wins against 1000 have a chance of 5 % at a score of 0.05^(1/20).
    assert low == pytest.approx(1000 + elo_from_score(0.05 ** (1 / 20)), abs=1)
    assert result.players[0].name == "king"
    assert any("king won every game" in note for note in result.notes)
    json.dumps(result.summary(), allow_nan=False)


def test_a_player_who_lost_everything_stands_last_with_an_upper_bound() -> None:
    result = rate(games("a", "b", 5, 2, 5) + games("a", "poor", 8, 0, 0), {"a": 1000})
    low, high = result["poor"].rating_95
    assert low is None
    assert high is not None
    assert high < 1000
    assert result.players[-1].name == "poor"


def test_one_who_lost_everything_stands_below_the_rated_whatever_its_bound() -> None:
    played = games("a", "b", 5, 2, 5) + games("b", "poor", 1, 0, 0) + games("poor", "poorer", 1, 0, 0)
    result = rate(played + games("a", "poorer", 1, 0, 0), {"a": 1000, "b": 1000})
    assert [player.name for player in result.players] == ["a", "b", "poor", "poorer"]


def test_a_list_of_a_thousand_players_is_no_trouble() -> None:
    names = [f"p{i:04}" for i in range(1000)]
    played = [game for i in range(1000) for game in games(names[i], names[(i + 1) % 1000], 2, 1, 2)]
    result = rate(played)
    assert len(result.players) == 1000
    assert all(abs(player.rating or 0.0) < 1 for player in result.players)


def test_groups_that_never_met_are_lists_of_their_own() -> None:
    result = rate(games("a", "b", 6, 0, 4) + games("x", "y", 4, 0, 4), {"a": 2000})
    assert result["b"].group == 0
    assert {result["x"].group, result["y"].group} == {1}
    assert rating(result, "x") == pytest.approx(0, abs=1e-6)
    assert any("x, y" in note for note in result.notes)


def test_a_group_that_beat_another_all_the_time_is_not_compared_with_it() -> None:
    played = games("a", "b", 3, 2, 3) + games("c", "d", 3, 2, 3) + games("a", "c", 6, 0, 0)
    result = rate(played)
    assert {player.group for player in result.players} == {0, 1}
    assert len(result.notes) == 1


def test_an_anchor_who_did_not_play_is_refused_by_name() -> None:
    with pytest.raises(UserError, match="the anchor 'stockfsh' is none of the players: a, b"):
        rate(games("a", "b", 1, 1, 1), {"stockfsh": 1500})


def test_white_winning_everything_does_not_break_the_fit() -> None:
    played = [Game("a", "b", 1.0), Game("b", "a", 1.0)] * 20
    result = rate(played)
    assert rating(result, "a") == pytest.approx(0, abs=1e-3)
    assert 100 < result.white_advantage < 2000


def test_no_games_are_an_empty_list() -> None:
    assert rate([]).players == ()
