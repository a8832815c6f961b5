"""The configuration file of a gene pool."""

from __future__ import annotations

import pytest

from tabiya.errors import UserError
from tabiya.minds.genetic.config import OPTIONAL, REQUIRED, read_config

# As its author explains it.
EXPLAINED = """\
# Gene Pool Configuration (# indicate comments)
# The number of processors used will be the minimum
# of this number and half the gene pool population.
maximum simultaneous games = 8
# How many players in each pool
gene pool population = 16
# How many gene pools
gene pool count = 3
# Games in between swapping players between pools
pool swap interval = 1000
minimum game time = 30 # seconds
maximum game time = 120 # seconds
game time increment = 0.01 # seconds
oscillating time = yes
# Games will be recorded in a file with "_games.txt" appended
# to the name.
gene pool file = pool.txt
"""


def refused(path) -> str:
    with pytest.raises(UserError) as caught:
        read_config(path)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_the_explained_file_is_read_as_it_stands(tmp_path):
    path = tmp_path / "pool.conf"
    path.write_text(EXPLAINED)
    config = read_config(path)
    assert config.maximum_simultaneous_games == 8
    assert (config.gene_pool_population, config.gene_pool_count) == (16, 3)
    assert (config.minimum_game_time, config.maximum_game_time, config.game_time_increment) == (30, 120, 0.01)
    assert config.oscillating_time is True
    assert config.gene_pool_file == "pool.txt"
    assert (config.unit, config.seed, config.maximum_games) == ("seconds", None, None)


@pytest.mark.parametrize("key", REQUIRED)
def test_a_missing_key_is_named(config, key):
    assert f"lacks the setting '{key}': it must be" in refused(config(**{key.replace(" ", "_"): None}))


@pytest.mark.parametrize("key", OPTIONAL)
def test_the_other_keys_may_be_left_out(config, key):
    read_config(config(**{key.replace(" ", "_"): None}))


@pytest.mark.parametrize(
    ("key", "value", "wanted"),
    [
        ("gene_pool_population", -16, "an even number of at least 2, got '-16'"),
        ("gene_pool_population", 15, "an even number of at least 2, got '15'"),
        ("gene_pool_population", "many", "an even number"),
        ("gene_pool_count", 0, "a whole number of at least 1"),
        ("minimum_game_time", "nan", "a number of seconds above 0"),
        ("maximum_game_time", 0, "a number of seconds above 0"),
        ("game_time_increment", -1, "not negative"),
        ("oscillating_time", "maybe", "yes or no, got 'maybe'"),
        ("gene_pool_file", "", "the name of a file"),
        ("game_nodes", 0, "a whole number of at least 1"),
        ("new_blood_probability", 1.5, "a number from 0 to 1"),
        ("seed", "x", "a whole number"),
    ],
)
def test_an_impossible_value_is_refused_with_its_line(config, key, value, wanted):
    sentence = refused(config(**{key: value}))
    assert wanted in sentence
    assert f"{key.replace('_', ' ')} in " in sentence
    assert ", line " in sentence


def test_an_unknown_key_is_answered_with_the_nearest(config):
    sentence = refused(config(gene_pool_populaton=4))
    assert "unknown setting 'gene pool populaton'" in sentence
    assert "did you mean 'gene pool population'?" in sentence


def test_a_repeated_key_a_stray_word_and_a_missing_file_are_refused(config, tmp_path):
    path = config()
    text = path.read_text()
    path.write_text(text + "seed = 3\n")
    assert "'seed' stands twice in" in refused(path)
    path.write_text(text + "hello\n")
    assert "expected `key = value`, got 'hello'" in refused(path)
    assert "no file" in refused(tmp_path / "none.conf")
    assert "the minimum game time" in refused(config(minimum_game_time=5))


def test_time_goes_up_and_down_again(config):
    rising = read_config(
        config(game_nodes=None, minimum_game_time=1, maximum_game_time=2, game_time_increment=0.5)
    )
    assert [rising.game_clock(turn) for turn in range(7)] == [1, 1.5, 2, 1.5, 1, 1.5, 2]


def test_time_stays_at_the_maximum_if_it_does_not_oscillate(config):
    steady = read_config(config(game_nodes=None, oscillating_time="no", game_time_increment=0.4))
    assert [steady.game_clock(turn) for turn in range(5)] == pytest.approx([1, 1.4, 1.8, 2, 2])


def test_nodes_take_the_place_of_time(config):
    by_nodes = read_config(config())
    assert (by_nodes.unit, by_nodes.game_clock(0), by_nodes.game_clock(99)) == ("nodes", 300, 300)


def test_nodes_grow_like_time(config):
    grow = {"game_nodes": 100, "maximum_game_nodes": 130, "game_nodes_increment": 10}
    up = read_config(config(**grow, oscillating_time="no"))
    assert [up.game_clock(turn) for turn in range(6)] == [100, 110, 120, 130, 130, 130]
    both = read_config(config(**grow, oscillating_time="yes"))
    assert [both.game_clock(turn) for turn in range(7)] == [100, 110, 120, 130, 120, 110, 100]


def test_a_maximum_of_nodes_needs_a_beginning_below_it(config):
    assert "more than the maximum" in refused(config(game_nodes=10, maximum_game_nodes=5))
    assert "no game nodes to begin with" in refused(config(game_nodes=None, maximum_game_nodes=5))


def test_nodes_may_grow_by_per_cent(config):
    grow = {"game_nodes": 100, "maximum_game_nodes": 140, "game_nodes_growth": 10}
    up = read_config(config(**grow, oscillating_time="no"))
    assert [up.game_clock(turn) for turn in range(6)] == [100, 110, 121, 133, 140, 140]
    both = read_config(config(**grow, oscillating_time="yes"))
    assert [both.game_clock(turn) for turn in range(9)] == [100, 110, 121, 133, 140, 133, 121, 110, 100]


def test_nodes_grow_in_one_way_and_to_an_end(config):
    assert "no maximum game nodes" in refused(config(game_nodes_growth=1))
    both = {"maximum_game_nodes": 500, "game_nodes_growth": 1, "game_nodes_increment": 1}
    assert "keep one of them" in refused(config(**both))
