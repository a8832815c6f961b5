"""A genome's text: read, written back equal, refused in one sentence."""

from __future__ import annotations

import pytest

from tabiya._core import Genome


def refused(text: str) -> str:
    with pytest.raises(ValueError, match=r".") as caught:
        Genome(text)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_the_example_is_written_back_equal(example):
    genome = Genome(example)
    assert genome.id == 27514
    assert genome.parents is None
    assert genome.text() == example


def test_an_exponent_that_is_not_given_is_one(example):
    genes = list(Genome(example).values().items())[2:]
    assert [values["Exponent"] for _, values in genes] == [1.0] * 12


def test_a_given_exponent_is_kept(changed):
    text = changed("Total Force", Exponent=0.7)
    assert Genome(text).values()["Total Force Gene"]["Exponent"] == 0.7
    assert Genome(Genome(text).text()).text() == text


def test_parents_are_kept(example):
    text = example.replace("ID: 27514\n", "ID: 27514\nParents: 12 random\n")
    assert Genome(text).parents == "12 random"
    assert Genome(text).text() == text


def test_windows_line_ends_and_extra_blanks_are_read(example):
    assert Genome(example.replace("\n", "\r\n").replace(": ", ":   ")).text() == example


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        (
            "Total Force Gene",
            "Total Forse Gene",
            'unknown gene "Total Forse Gene", did you mean "Total Force Gene"?',
        ),
        ("Total Force Gene", "Opening Book", 'unknown gene "Opening Book"'),
        ("Non-linearity: -0.145883", "Linearity: 1", 'the Pawn Advancement Gene has no "Linearity"'),
        (
            "Priority: 227.647",
            "Priority: NaN",
            'Priority of the Total Force Gene must be a number, got "NaN"',
        ),
        ("Priority: 227.647", "Priority: inf", "Priority of the Total Force Gene must be a number"),
        ("Priority: 227.647", "Priority: much", "Priority of the Total Force Gene must be a number"),
        ("Priority: 227.647", "Priority: -1", "Priority of the Total Force Gene must be a number from 0 to"),
        (
            "Priority: 168.652",
            "Priority: -1",
            "Priority of the Sphere of Influence Gene must be a number from 0",
        ),
        (
            "Priority: 17.7128",
            "Priority: -1",
            "Priority of the King Confinement Gene must be a number from 0",
        ),
        (
            "Priority: 22.9978",
            "Priority: -1",
            "Priority of the Castling Possible Gene must be a number from 0",
        ),
        (
            "Maximum Distance: 2",
            "Maximum Distance: 2.5",
            "Maximum Distance of the King Confinement Gene must be a whole",
        ),
        ("Priority: 227.647\n", "", "the Total Force Gene has no Priority"),
        ("Priority: 227.647", "Priority: 1\nPriority: 2", "Priority stands twice in the Total Force Gene"),
        ("Name: Passed Pawn Gene\nPriority: 17.6218\n", "", "the genome has no Passed Pawn Gene"),
        ("Passed Pawn Gene", "Total Force Gene", "the Total Force Gene stands twice in the genome"),
        ("ID: 27514", "ID: twelve", 'a genome\'s ID is a whole number, got "twelve"'),
        ("ID: 27514\n", "", "a genome begins with `ID: number`"),
        ("END\n", "", "the genome is cut off: its END is missing"),
        ("END\n", "END\nID: 2\n", "one genome was expected, more follows after END"),
        ("B: 7.7799", "B 7.7799", 'expected `key: value`, got "B 7.7799"'),
    ],
)
def test_what_is_wrong_is_refused_by_name(example, old, new, sentence):
    assert old in example
    assert sentence in refused(example.replace(old, new, 1))


def test_an_error_names_its_line(example):
    assert refused(example.replace("K: 3.89872", "K: x")).startswith("line 5: ")


def test_a_random_genome_is_the_same_for_the_same_seed():
    assert Genome.random(1, 5).text() == Genome.random(1, 5).text()
    assert Genome.random(1, 5).text() != Genome.random(1, 6).text()


def test_every_gene_of_a_child_comes_whole_from_a_parent_or_is_mutated_in_one_number():
    first, second = Genome.random(1, 1), Genome.random(2, 2)
    child = Genome.child(3, first, second, 9)
    assert (child.id, child.parents) == (3, "1 2")
    parents = (first.values(), second.values())
    for gene, values in child.values().items():
        differences = [sum(values[name] != parent[gene][name] for name in values) for parent in parents]
        assert min(differences) <= 1, gene


def test_new_blood_has_a_random_mate():
    first = Genome.random(1, 1)
    child = Genome.child(2, first, None, 4)
    assert child.parents == "1 random"
    kept = sum(values == first.values()[gene] for gene, values in child.values().items())
    assert 2 <= kept <= 12
