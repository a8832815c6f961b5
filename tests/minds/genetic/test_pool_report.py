"""What a gene pool's run shows: figures from its files, verdicts, pictures, a family tree."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from pathlib import Path

import chess.pgn
import numpy as np
import pytest

from tabiya._core import Genome
from tabiya.errors import UserError
from tabiya.minds.genetic import lab, pool_files
from tabiya.minds.genetic.chronicle import Games, genes_of, read_games, read_genes
from tabiya.minds.genetic.config import read_config
from tabiya.minds.genetic.evolution import Evolution
from tabiya.minds.genetic.excerpt import write_excerpt
from tabiya.minds.genetic.family import family_tree
from tabiya.minds.genetic.findings import findings, in_order
from tabiya.minds.genetic.lengths import fits


@pytest.fixture(scope="module")
def pool(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("report") / "pool.txt"
    with Evolution(path, read_config(Path(__file__).with_name("small.conf"))) as evolution:
        evolution.run()
    return path


def reported(*words: object) -> dict:
    parser = argparse.ArgumentParser()
    lab.add_arguments(parser)
    args = parser.parse_args([str(word) for word in words])
    assert lab.run(args) == 0
    return json.loads((Path(args.out) / "report.json").read_text())


def test_the_games_are_those_of_the_pgn(pool):
    games = read_games(pool)
    with pool_files.games_file(pool).open() as file:
        played = list(iter(lambda: chess.pgn.read_game(file), None))
    assert games.plies.tolist() == [game.end().ply() for game in played]
    results = {"1-0": 1, "0-1": -1, "1/2-1/2": 0}
    assert games.results.tolist() == [results[game.headers["Result"]] for game in played]
    assert [games.names[at] for at in games.endings] == [game.headers["GameEnd"] for game in played]
    promoted = Counter(
        chess.piece_symbol(move.promotion).upper()
        for game in played
        for move in game.mainline_moves()
        if move.promotion
    )
    assert games.promotions == {piece: promoted[piece] for piece in "QRBN"}


def test_genes_are_sampled_over_all_births_and_the_living_are_told_apart(pool):
    genes, living, born = read_genes(pool, most=10)
    assert born == 48
    assert len(genes.ids) == 10
    assert (genes.ids[0], genes.ids[-1]) == (1, 48)
    assert 4 <= len(living.ids) <= 8
    army = {"P": 8, "N": 2, "B": 2, "R": 2, "Q": 1, "K": 1}
    strengths = genes.values["Piece Strength Gene"]
    assert sum(abs(strengths[piece]) * men for piece, men in army.items()) == pytest.approx(np.ones(10))


def test_a_report_has_its_numbers_and_its_pictures(pool, tmp_path, capsys):
    found = reported(pool, "--out", tmp_path / "report")
    assert found["games"] == 40
    assert [finding["section"] for finding in found["findings"]] == [
        *("6.1", "6.1.1", "6.2", "6.2", "6.3", "6.3.1", "6.4", "6.5", "6.6", "6.7", "6.8")
    ]
    assert sum(found["endings"].values()) == 40
    assert sum(each["games"] for each in found["pools"]) == 40
    for name in found["pictures"]:
        assert (tmp_path / "report" / name).read_bytes().startswith(b"\x89PNG")
    assert "cannot tell" in capsys.readouterr().out


def test_numbers_alone_need_no_pictures(pool, tmp_path):
    assert "pictures" not in reported(pool, "--out", tmp_path, "--no-plots", "--json")
    assert not list(tmp_path.glob("*.png"))


def test_a_family_tree_leads_from_child_to_parents(pool):
    tree = family_tree(pool, 48, generations=3)
    by_id = {each.id: each for each in tree.ancestors}
    assert tree.ancestors[0].id == 48
    with pool_files.opened(pool, pool) as content:
        starts = pool_files.positions(content)
        for each in tree.ancestors:
            words = (pool_files.genome_at(content, starts[each.id], pool).parents or "").split()
            assert [str(parent) for parent in each.parents] == [word for word in words if word != "random"]
            assert each.new_blood == ("random" in words)
    assert max(each.generation for each in tree.ancestors) <= 3
    nearer = [parent for each in tree.ancestors if each.generation < 3 for parent in each.parents]
    assert set(nearer) == set(by_id) - {48}


def test_what_is_not_there_is_named(pool, tmp_path, example):
    with pytest.raises(UserError, match="there is no genome 999 in"):
        family_tree(pool, 999)
    alone = tmp_path / "alone.txt"
    alone.write_text(example)
    with pytest.raises(UserError, match="no games beside"):
        lab.report(alone, tmp_path / "out")
    with pytest.raises(UserError, match="no file"):
        read_genes(tmp_path / "none.txt")


@pytest.mark.parametrize("kind", ["log-normal", "normal", "poisson"])
def test_lengths_drawn_from_a_distribution_are_recognised(kind):
    draw = np.random.default_rng(3)
    drawn = {
        "log-normal": lambda: np.exp(draw.normal(4.0, 0.4, 20_000)),
        "normal": lambda: draw.normal(100, 20, 20_000),
        "poisson": lambda: draw.poisson(60, 20_000),
    }[kind]()
    found = fits(np.rint(drawn).astype(np.int64))
    assert found[kind]["distance"] < 0.02
    assert found["best"] == kind or (kind == "poisson" and found["normal"]["distance"] < 0.03)


def test_too_few_games_fit_nothing():
    assert fits(np.asarray([20, 30])) == {"games": 2, "best": None}


@pytest.mark.parametrize(
    ("strengths", "right"),
    [
        ({"Q": 9, "R": 5, "B": 3, "N": 3, "P": 1}, True),
        ({"Q": 9, "R": 5, "B": 2.5, "N": 3.5, "P": 1}, True),
        ({"Q": 9, "R": 3, "B": 3.2, "N": 3, "P": 1}, False),
        ({"Q": 9, "R": 5, "B": 3, "N": 0.5, "P": 1}, False),
        ({"Q": 4, "R": 5, "B": 3, "N": 3, "P": 1}, False),
    ],
)
def test_the_standard_order(strengths, right):
    assert in_order(strengths) is right


def games_of(endings: list[tuple[str, int]]) -> Games:
    names = tuple(dict.fromkeys(name for name, _ in endings))
    return Games(
        np.full(len(endings), 80),
        np.asarray([result for _, result in endings], np.int8),
        np.asarray([names.index(name) for name, _ in endings], np.int16),
        names,
        {"Q": 80, "R": 10, "B": 5, "N": 5},
    )


def verdicts(games: Games, seeds: range = range(1, 60)) -> dict[str, bool | None]:
    genes = genes_of([Genome.random(id, id) for id in seeds])
    return {f"{each.section} {each.claim.split()[0]}": each.shown for each in findings(games, genes, genes)}


def test_verdicts_follow_the_games():
    early = [("Threefold repetition", 0)] * 200 + [("White mates", 1)] * 100 + [("Black mates", -1)] * 60
    late = [("White mates", 1)] * 100 + [("Black mates", -1)] * 60 + [("Time forfeiture", 1)] * 40
    found = verdicts(games_of(early + late))
    assert found["6.2 of"] is True
    assert found["6.2 draws"] is True
    assert found["6.4 the"] is True
    assert found["6.5 threefold"] is True
    assert found["6.6 the"] is True
    other = verdicts(games_of(late[::-1] + early[::-1]))
    assert other["6.2 draws"] is False
    assert other["6.6 the"] is False


def test_little_evidence_is_no_verdict():
    found = verdicts(games_of([("White mates", 1)] * 5))
    assert (found["6.2 of"], found["6.5 threefold"], found["6.6 the"]) == (None, None, None)


def test_an_excerpt_shows_what_the_pool_shows_and_no_run_goes_on_from_it(pool, tmp_path, capsys):
    small = tmp_path / "small" / "pool.txt"
    parser = argparse.ArgumentParser()
    lab.add_arguments(parser)
    assert lab.run(parser.parse_args([str(pool), "--excerpt", str(small), "--json"])) == 0
    assert json.loads(capsys.readouterr().out)["births"] == 48
    assert read_genes(small)[2] == 48
    assert read_genes(small)[1].ids.tolist() == read_genes(pool)[1].ids.tolist()
    assert family_tree(small) == family_tree(pool)
    assert any(ancestor.wins for ancestor in family_tree(small).ancestors)
    with pytest.raises(UserError, match="is an excerpt of a run"):
        Evolution(small, read_config(Path(__file__).with_name("small.conf")))
    with pytest.raises(UserError, match="is not the pool of a run"):
        lab.run(parser.parse_args([str(small), "--excerpt", str(tmp_path / "smaller.txt")]))
    with pytest.raises(UserError, match="is there already"):
        lab.run(parser.parse_args([str(pool), "--excerpt", str(small)]))


def test_of_many_genomes_an_excerpt_has_some_and_the_families_whole(pool, tmp_path, monkeypatch):
    monkeypatch.setattr("tabiya.minds.genetic.excerpt.SAMPLE", 5)
    made = write_excerpt(pool, tmp_path / "pool.txt", generations=2)
    assert made["kept"] < made["births"] == 48
    genes, living, born = read_genes(tmp_path / "pool.txt")
    assert born == 48
    assert set(living.ids) <= set(genes.ids)
    assert family_tree(tmp_path / "pool.txt", generations=2) == family_tree(pool, generations=2)
