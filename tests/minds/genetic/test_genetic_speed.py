"""The measurement of speed, not the speed: what is measured has all genes on."""

from __future__ import annotations

from tabiya._core import Genome
from tabiya.minds.genetic.speed import all_on, measure


def test_all_genes_are_on_where_speed_is_measured(example):
    values = all_on(Genome(example), 1.1).values()
    scoring = [gene for gene in values.values() if "Priority" in gene]
    assert len(scoring) == 12
    assert all(gene["Priority"] >= 1 and gene["Exponent"] == 1.1 for gene in scoring)


def test_a_measurement_names_its_figures():
    found = measure(games=2)
    assert found["exponents_1"]["leaves"] > 10_000
    assert found["exponents_1"]["leaves_a_second"] > 0
    assert set(found["games_an_hour"]) == {"1", "2"}
