"""What only one kind of mind can be asked: genes silenced, features silenced."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from tabiya._core import Board, FeatureSet, Genome, QuantisedNetwork
from tabiya.lens.interface import look_into
from tabiya.minds.genetic.lens import scoring_genes, silenced
from tabiya.minds.genetic.player import GeneticPlayer
from tabiya.minds.nnue.lens import as_white_names_it, without_feature
from tabiya.minds.nnue.player import NnuePlayer
from tabiya.minds.nnue.settings import Settings
from tabiya.player import Limit

HERE = Path(__file__).resolve().parent
ITALIAN = "r1bqkb1r/pppp1ppp/2n2n2/4p3/2B1P3/3P4/PPP2PPP/RNBQK1NR b KQkq - 4 4"


@pytest.fixture
def network(tmp_path) -> Path:
    spec = importlib.util.spec_from_file_location("nnue_files", HERE / "nnue" / "conftest.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    path = tmp_path / "small.nnue"
    path.write_bytes(module.network_bytes(32, 8, 3))
    return path


def genome() -> Genome:
    return Genome((HERE / "genetic" / "example.txt").read_text())


def test_a_silenced_gene_has_no_priority_and_the_others_keep_theirs():
    before, after = genome().values(), silenced(genome(), "Total Force Gene").values()
    assert after["Total Force Gene"]["Priority"] == 0
    del before["Total Force Gene"], after["Total Force Gene"]
    assert after == before
    assert len(scoring_genes(genome())) == 12


def test_every_scoring_gene_is_silenced_in_turn_and_the_genome_stays():
    player, board, limit = GeneticPlayer(genome()), Board(ITALIAN), Limit(nodes=2000)
    text = player.genome.text()
    subject = look_into(player, board, limit)
    chosen = subject.blank([()]).choices[0]
    reasons = subject.own_reasons(chosen)
    assert player.genome.text() == text
    assert reasons.kind == "genes"
    assert {row["gene"] + " Gene" for row in reasons.rows} == set(scoring_genes(genome()))
    for row in reasons.rows:
        alone = GeneticPlayer(silenced(genome(), row["gene"] + " Gene")).play(board, limit).move
        assert (row["choice"], row["changed"]) == (alone, alone != chosen)
    assert all(finding.holds for finding in reasons.findings)
    assert len(reasons.findings) == max(1, sum(row["changed"] for row in reasons.rows))


def test_a_silenced_feature_counts_no_more_and_the_others_as_before(network):
    content, board = network.read_bytes(), Board(ITALIAN)
    features = FeatureSet("ALL")
    packed = np.frombuffer(board.packed(), np.uint8).reshape(1, 32)
    seen = {*features.active(board.packed(), "white"), *features.active(board.packed(), "black")}
    unseen = next(feature for feature in range(features.size) if feature not in seen)
    whole = QuantisedNetwork(content).evaluate(packed)
    assert QuantisedNetwork(without_feature(content, unseen)).evaluate(packed) == whole
    everything = content
    for feature in seen:
        everything = without_feature(everything, feature)
    empty = content
    for feature in range(features.size):
        empty = without_feature(empty, feature)
    nothing = QuantisedNetwork(empty).evaluate(packed)
    assert QuantisedNetwork(everything).evaluate(packed) == nothing != whole
    with pytest.raises(ValueError, match="features 0 to 767"):
        without_feature(content, 768)


def test_features_that_tell_two_lines_apart_are_put_to_the_search(network):
    before = network.read_bytes()
    player = NnuePlayer(network, Settings(hash=1), named=True)
    subject = look_into(player, Board(ITALIAN), Limit(nodes=2000))
    reasons = subject.own_reasons(subject.blank([()]).choices[0])
    assert network.read_bytes() == before
    assert reasons.kind == "features"
    worth = [abs(row["worth"]) for row in reasons.rows]
    assert worth == sorted(worth, reverse=True)
    assert any("choice" in row for row in reasons.rows)
    assert any(finding.holds for finding in reasons.findings)


def test_without_a_network_there_are_no_features_and_it_is_said():
    subject = look_into(NnuePlayer(None, Settings(hash=1)), Board(ITALIAN), Limit(nodes=500))
    assert subject.own_reasons("h7h5").kind == ""
    assert "no network" in subject.notes[0]


def test_black_names_features_as_they_stand_on_the_board():
    assert as_white_names_it("white pawn on e4", white_to_move=True) == "white pawn on e4"
    seen = as_white_names_it("white pawn on the g-file, next above a black knight on b2", white_to_move=False)
    assert seen == "black pawn on the g-file, next below a white knight on b7"
