"""Gene pools: the same from the same seed, whatever happens to the run."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import time
from dataclasses import replace
from pathlib import Path

import chess.pgn
import pytest

from tabiya._core import Genome
from tabiya.errors import UserError
from tabiya.minds.genetic import pool_files
from tabiya.minds.genetic.config import PoolConfig, read_config
from tabiya.minds.genetic.evolution import Evolution, Figures
from tabiya.minds.genetic.view import round_text
from tabiya.minds.genetic.world import Member, Outcome, Pool, World


def evolve(pool: Path, config: PoolConfig, **options: object) -> Figures:
    with Evolution(pool, config) as evolution:
        return evolution.run(**options)


def written(pool: Path) -> tuple[bytes, bytes, dict]:
    """Genomes, games and the world, without the time it took."""
    state = json.loads(pool_files.state_file(pool).read_text())
    world = {key: value for key, value in state["world"].items() if key != "seconds"}
    return pool.read_bytes(), pool_files.games_file(pool).read_bytes(), world


def won(winner: str | None) -> Outcome:
    return Outcome(winner, "because", 0, "*", (0.0, 0.0), 0, 0)


@pytest.fixture
def settings(config) -> PoolConfig:
    return read_config(config())


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> Path:
    """The folder of a pool that nothing interrupted."""
    folder = tmp_path_factory.mktemp("finished")
    evolve(folder / "steady.txt", read_config(Path(__file__).with_name("small.conf")))
    return folder


@pytest.fixture
def steady(tmp_path, finished, settings) -> tuple[Path, PoolConfig]:
    """A copy of it, to go on with or to spoil."""
    for path in finished.glob("steady*"):
        shutil.copy(path, tmp_path)
    return tmp_path / "steady.txt", settings


def test_one_core_or_two_write_the_same_bytes(tmp_path, steady):
    pool, settings = steady
    alone = tmp_path / "alone.txt"
    evolve(alone, replace(settings, maximum_simultaneous_games=1))
    assert written(alone) == written(pool)


def test_another_seed_is_another_pool(tmp_path, steady):
    pool, settings = steady
    evolve(tmp_path / "other.txt", replace(settings, seed=8))
    assert written(tmp_path / "other.txt")[0] != written(pool)[0]


def test_a_run_in_parts_is_the_same_run(tmp_path, steady):
    pool, settings = steady
    parts = tmp_path / "parts.txt"
    for games in (8, 9, 24, 40):
        evolve(parts, replace(settings, maximum_games=games))
    assert written(parts) == written(pool)


def test_every_birth_and_every_game_is_on_record(steady):
    pool, _ = steady
    with pool_files.opened(pool, pool) as content:
        starts = pool_files.positions(content)
        genomes = [pool_files.genome_at(content, start, pool) for start in starts.values()]
        living = pool_files.living(content)
    assert [genome.id for genome in genomes] == list(range(1, 8 + 40 + 1))
    assert all(genome.parents is None for genome in genomes[:8])
    with pool_files.games_file(pool).open() as file:
        games = list(iter(lambda: chess.pgn.read_game(file), None))
    assert len(games) == 40
    assert not any(game.errors for game in games)
    for game, born in zip(games, genomes[8:], strict=True):
        assert game.headers["Born"] == str(born.id)
        assert game.headers["Died"] in (game.headers["White"], game.headers["Black"])
        mates = {game.headers["White"], game.headers["Black"]}
        parents = set((born.parents or "").split())
        assert parents == mates or parents == {game.headers["Died"], "random"}
        loser = {"1-0": "Black", "0-1": "White"}.get(game.headers["Result"])
        assert loser is None or game.headers["Died"] == game.headers[loser]
    assert [len(pool) for pool in living.values()] == [4, 4]


def begun(pool: Path, config: PoolConfig) -> int:
    """A run in a process of its own; its number."""
    child = os.fork()
    if child == 0:
        try:
            evolve(pool, config)
        finally:
            os._exit(0)
    return child


def test_twenty_kills_change_nothing(tmp_path, settings):
    settings = replace(settings, game_nodes=3000, maximum_games=160)
    steady, killed = tmp_path / "steady.txt", tmp_path / "killed.txt"
    evolve(steady, settings)
    chance = random.Random(20)
    for _ in range(20):
        child = begun(killed, settings)
        time.sleep(chance.uniform(0.0, 0.08))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    evolve(killed, settings)
    assert written(killed) == written(steady)


def test_what_a_killed_run_left_half_written_does_not_count(tmp_path, steady):
    pool, settings = steady
    before = written(pool)
    for path in (pool, pool_files.games_file(pool), pool_files.turn_file(pool)):
        with path.open("ab") as file:
            file.write(b"ID: 999\n\nName: Total Fo")
    assert evolve(pool, settings).games == 40
    assert written(pool) == before


def test_games_of_a_turn_under_way_are_taken_up_again(tmp_path, settings):
    class EndAfterThree:
        looks = 0

        def look(self) -> None:
            self.looks += 1

        def holds(self) -> bool:
            return self.looks > 3

        def hold(self) -> bool:
            return False

    pool = tmp_path / "pool.txt"
    settings = replace(settings, maximum_simultaneous_games=1, maximum_games=4)
    first = evolve(pool, settings, control=EndAfterThree())
    assert first.games == 0
    assert 0 < first.games_this_run < 4
    rest = evolve(pool, settings)
    assert first.games_this_run + rest.games_this_run == 4


def test_a_kill_before_the_first_turn_is_mended(tmp_path, steady):
    pool, settings = steady
    new = tmp_path / "new.txt"
    state = json.loads(pool_files.state_file(pool).read_text())
    state["bytes"] = {"genomes": 0, "games": 0}
    pool_files.state_file(new).write_text(json.dumps(state))
    new.write_bytes(b"ID: 1\n\nName: Pie")
    evolve(new, settings)
    assert written(new) == written(pool)


def test_a_truncated_pool_file_is_refused_and_left_alone(steady):
    pool, settings = steady
    whole = pool.read_bytes()
    pool.write_bytes(whole[:-10])
    with pytest.raises(UserError, match="is cut short"):
        evolve(pool, settings)
    assert pool.read_bytes() == whole[:-10]


def test_a_living_genome_that_is_gone_is_named(steady):
    pool, settings = steady
    oldest = pool_files.chosen_genome(pool).id
    text = pool.read_text()
    pool.write_text(text.replace(f"ID: {oldest}\n", f"ID: {'9' * len(str(oldest))}\n"))
    with pytest.raises(UserError, match=f"has lost the genome {oldest}, which is alive"):
        evolve(pool, settings)
    with pytest.raises(UserError, match=f"has lost the genome {oldest}, which is alive"):
        pool_files.chosen_genome(pool)


def test_a_file_that_is_no_pool_of_ours_is_never_overwritten(tmp_path, settings):
    pool = tmp_path / "pool.txt"
    pool.write_text("my diary\n")
    with pytest.raises(UserError, match="is there already, but no state"):
        evolve(pool, settings)
    assert pool.read_text() == "my diary\n"


@pytest.mark.parametrize("changes", [{"gene_pool_population": 6}, {"gene_pool_count": 3}, {"seed": 8}])
def test_a_pool_goes_on_only_as_it_was_begun(steady, changes):
    pool, settings = steady
    with pytest.raises(UserError, match="was begun with"):
        evolve(pool, replace(settings, **changes))


def test_two_runs_never_share_a_pool(tmp_path, settings):
    pool = tmp_path / "pool.txt"
    with Evolution(pool, settings), pytest.raises(UserError, match="is being evolved by another run"):
        Evolution(pool, settings)


def test_a_damaged_state_is_refused(steady):
    pool, settings = steady
    for text in ("{", "[]", '{"format": 99}'):
        pool_files.state_file(pool).write_text(text)
        with pytest.raises(UserError, match=r"is damaged|is not the state"):
            evolve(pool, settings)


def world_of(*pools: list[Member]) -> tuple[World, dict[int, Genome]]:
    ids = {member.id for pool in pools for member in pool}
    return World(1, 0, 100, [Pool(pool) for pool in pools]), {id: Genome.random(id, id) for id in ids}


def test_the_offspring_replaces_the_loser(settings):
    world, genomes = world_of([Member(1), Member(2), Member(3), Member(4)])
    pairings = world.pairings()
    assert sorted(id for pair in pairings for id in (pair.white, pair.black)) == [1, 2, 3, 4]
    fates, newborn = world.conclude(settings, pairings, [won("White"), won("Black")], genomes)
    assert [fate.dead for fate in fates] == [pairings[0].black, pairings[1].white]
    assert [genome.id for genome in newborn] == [100, 101]
    assert world.living() == {pairings[0].white, pairings[1].black, 100, 101}
    assert (world.pools[0].white_wins, world.pools[0].black_wins, world.pools[0].draws) == (1, 1, 0)


def test_after_a_draw_either_may_die_and_new_blood_may_come(settings):
    white_dies = new_blood = 0
    for seed in range(400):
        world, genomes = world_of([Member(1), Member(2)])
        world.seed = seed
        config = replace(settings, gene_pool_population=2, new_blood_probability=0.25)
        fates, newborn = world.conclude(config, world.pairings(), [won(None)], genomes)
        white_dies += fates[0].dead == fates[0].pairing.white
        new_blood += fates[0].new_blood
        if fates[0].new_blood:
            assert newborn[0].parents == f"{fates[0].dead} random"
            assert [member.mark for member in world.pools[0].members] == ["", "*"]
    assert 160 < white_dies < 240
    assert 70 < new_blood < 130


def test_streaks_count_and_break():
    world, genomes = world_of([Member(1, wins=2, win_streak=2, games=2), Member(2)])
    config = read_nothing(population=2)
    pairings = world.pairings()
    winner = "White" if pairings[0].white == 1 else "Black"
    world.conclude(config, pairings, [won(winner)], genomes)
    survivor = world.pools[0].members[0]
    assert (survivor.id, survivor.wins, survivor.win_streak, survivor.games) == (1, 3, 3, 3)
    assert world.pools[0].most_wins == (3, 1)
    assert world.pools[0].longest_lived == (3, 1)


def read_nothing(population: int) -> PoolConfig:
    return PoolConfig(
        maximum_simultaneous_games=1,
        gene_pool_population=population,
        gene_pool_count=1,
        pool_swap_interval=1000,
        minimum_game_time=1,
        maximum_game_time=1,
        game_time_increment=0,
        oscillating_time=False,
        gene_pool_file="pool.txt",
    )


def test_the_best_is_copied_to_the_next_pool_and_its_life_there_is_counted(settings):
    pools = [[Member(10 * at + id) for id in range(1, 5)] for at in range(2)]
    pools[0][1] = Member(2, wins=5, games=9)
    world, genomes = world_of(*pools)
    config = replace(settings, pool_swap_interval=2)
    outcomes = [won("White" if pair.white == 2 else "Black") for pair in world.pairings()]
    _, newborn = world.conclude(config, world.pairings(), outcomes, genomes)
    genomes |= {genome.id: genome for genome in newborn}
    transfer = world.transfers[0]
    assert (transfer.id, transfer.origin, transfer.target, transfer.games_before) == (2, 0, 1, 10)
    copies = [member for member in world.pools[1].members if member.id == 2]
    assert [(copy.mark, copy.wins) for copy in copies] == [("T", 6)]
    assert [len(pool.members) for pool in world.pools] == [4, 4]
    assert 2 in {member.id for member in world.pools[0].members}, "it is copied, not moved"
    assert world.strength(0) is None
    quiet = replace(settings, pool_swap_interval=1000)
    for survive in (True, False):
        pairings = world.pairings()
        outcomes = [
            won("White" if (pair.white == 2) == (survive or pair.pool == 0) else "Black") for pair in pairings
        ]
        _, newborn = world.conclude(quiet, pairings, outcomes, genomes)
        genomes |= {genome.id: genome for genome in newborn}
    assert world.strength(0) == 1


def test_a_world_survives_its_state(steady):
    pool, _ = steady
    found = json.loads(pool_files.state_file(pool).read_text())["world"]
    assert json.loads(json.dumps(World.from_json(found).to_json())) == found


def test_a_round_is_shown_as_matchups_members_and_records(settings):
    world, genomes = world_of([Member(1), Member(2), Member(3), Member(4)])
    config = replace(settings, new_blood_probability=1.0, gene_pool_count=1)
    fates, _ = world.conclude(config, world.pairings(), [won("White"), won(None)], genomes)
    text = round_text(world, 0, fates, 300, config, "pool.txt")
    pair = fates[0].pairing
    lines = text.splitlines()
    assert lines[0] == "Gene pool ID: 0  Gene pool size: 4  New blood introduced: 1 (*)"
    assert lines[1] == "Games: 2  White wins: 1  Black wins: 0  Draws: 1"
    assert lines[2] == "Nodes: 300 a game  Gene pool file name: pool.txt"
    assert f"{pair.white} vs {pair.black}: White (because)" in lines
    assert f"None (because) {fates[1].dead} mates with random / {fates[1].dead} dies" in text
    assert "   101     0       0      0       0 *" in lines
    assert f"Most wins: 1 by ID {pair.white}" in lines


def test_an_older_file_read_with_a_state_shows_only_what_counts(steady):
    pool, _ = steady
    with pool.open("ab") as file:
        file.write(b"ID: 5000\n\nName: Piece")
    assert pool_files.chosen_genome(pool).id < 5000


def test_the_lock_goes_with_the_process(tmp_path, settings):
    pool = tmp_path / "pool.txt"
    child = begun(pool, replace(settings, maximum_games=100_000))
    while not pool_files.state_file(pool).exists():
        time.sleep(0.01)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    assert evolve(pool, replace(settings, maximum_games=4)).games >= 4
