"""What the ResNet's experiments compare: each variant's one change, the shared tables, the table's words."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from tabiya.errors import UserError  # noqa: E402
from tabiya.learn.config import load_config  # noqa: E402
from tabiya.learn.feed import Source, Table  # noqa: E402
from tabiya.minds.resnet.lab.plan import Anchor, Budget, Data, Lab, Measures  # noqa: E402
from tabiya.minds.resnet.lab.tables import SharedTables  # noqa: E402
from tabiya.minds.resnet.lab.variants import Recipe, comparison, sources_of, training_of  # noqa: E402
from tabiya.minds.resnet.network import ResNetShape  # noqa: E402
from tabiya.reports.lab_table import signed, verdict  # noqa: E402

ROOT = Path(__file__).resolve().parents[3]
CPU = torch.device("cpu")
FULL = Data(games="g", labels="l.moves", own="o.moves", selfplay="s.moves", sampled="r.moves")
EXPERIMENTS = ["resnet-progress", "resnet-ablation", "resnet-data", "resnet-mistakes"]


def lab(experiment: str, data: Data = FULL, **more: Any) -> Lab:
    return Lab(experiment=experiment, data=data, budget=Budget(steps=10, device="cpu"), **more)


# What is compared -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_network_of_an_experiment_gets_the_same_budget(name: str):
    one = lab(name)
    budgets = {
        (run.steps, run.batch, run.peak_rate, run.seed, run.shape.blocks, run.shape.channels)
        for run in (training_of(variant.recipe, one) for variant in comparison(one).variants)
    }
    assert budgets == {(10, 4096, 2e-3, 0, 6, 64)}


def test_each_stage_of_the_progression_adds_to_the_one_before():
    variants = comparison(lab("resnet-progress")).variants
    names = ["untrained", "cloning", "elite", "best-move", "q", "soft", "successors", "own", "selfplay"]
    assert [variant.name for variant in variants] == names
    before = None
    for variant in variants:
        if before is not None:
            changed = [
                f.name for f in fields(Recipe) if getattr(before, f.name) != getattr(variant.recipe, f.name)
            ]
            assert changed
            assert all(getattr(variant.recipe, name) and not getattr(before, name) for name in changed)
        before = variant.recipe
    assert before == Recipe()


def test_a_stage_without_a_line_of_its_own_counts_to_the_next():
    variants = comparison(lab("resnet-progress", variants=("cloning", "q"))).variants
    assert [variant.differs for variant in variants] == [
        "adds: moves and results of games, all alike",
        "adds: games count by their tier; labelled positions, their best move as the policy's target; "
        "the teacher's values; the Q of every labelled move as a target",
    ]


ABLATIONS = {
    "no-weights": {"games.weighted"},
    "18-planes": {"shape.planes"},
    "no-excite": {"shape.squeeze"},
    "no-mirror": {"mirror"},
    "q-on-policy": {"shape.own_q_head"},
    "no-q-target": {"loss.q"},
    "no-soft": {"loss.policy_temperature"},
    "no-q": {"loss.q", "loss.policy_temperature"},
    "no-successors": {"successors"},
    "no-own": {"own"},
    "no-selfplay": {"labels.path", "successors.path"},
    "no-engine": {"labels", "successors", "own"},
    "probability": {f"{role}.targets" for role in ("games", "labels", "successors", "own")},
}


@pytest.mark.parametrize("name", ABLATIONS)
def test_an_ablation_changes_what_it_names_and_nothing_else(name: str):
    one = lab("resnet-ablation")
    by_name = {variant.name: variant.recipe for variant in comparison(one).variants}
    assert by_name.keys() == {"everything", *ABLATIONS}
    assert (
        _differences(_settings(by_name["everything"], one), _settings(by_name[name], one)) == ABLATIONS[name]
    )
    assert by_name[name].values == (name != "no-engine")


def _settings(recipe: Recipe, one: Lab) -> dict[str, Any]:
    run = training_of(recipe, one)
    settings = {f.name: getattr(run, f.name) for f in fields(run) if f.name != "sources"}
    return settings | sources_of(recipe, one)


def _differences(one: dict[str, Any], other: dict[str, Any]) -> set[str]:
    found = set()
    for key in one.keys() | other.keys():
        if one.get(key) == other.get(key):
            continue
        if key in one and key in other and hasattr(one[key], "__dataclass_fields__"):
            inner = (
                {f.name: getattr(value, f.name) for f in fields(value)} for value in (one[key], other[key])
            )
            found |= {f"{key}.{name}" for name in _differences(*inner)}
        else:
            found.add(key)
    return found


def test_the_data_table_takes_the_same_share_of_every_source_and_nothing_made_from_all_of_them():
    one = lab("resnet-data", fractions=(1.0, 0.01))
    variants = comparison(one).variants
    assert [variant.name for variant in variants] == ["data-1", "data-100"]
    assert comparison(one).baseline == "data-100"
    for variant, fraction in zip(variants, (0.01, 1.0), strict=True):
        sources = sources_of(variant.recipe, one)
        assert sources.keys() == {"games", "labels", "successors"}
        assert {source.fraction for source in sources.values()} == {fraction}


def test_mistakes_and_positions_by_chance_have_the_same_part_of_a_batch():
    one = lab("resnet-mistakes")
    sources = {each.name: sources_of(each.recipe, one) for each in comparison(one).variants}
    assert list(sources) == ["before", "mistakes", "sampled"]
    assert sources["before"].keys() == {"games", "labels", "successors"}
    for name, path in (("mistakes", "s.moves"), ("sampled", "r.moves")):
        assert sources[name]["corrected"].path == path
        assert sources[name]["successors"].path == f"l.moves:{path}"
        assert sources[name]["labels"].path == "l.moves"
    assert sources["mistakes"]["corrected"].share == sources["sampled"]["corrected"].share > 0


def test_a_stage_without_its_data_is_left_out_by_name_and_the_next_goes_on_without_it():
    compared = comparison(lab("resnet-progress", replace(FULL, own=None)))
    assert "own" not in [variant.name for variant in compared.variants]
    assert compared.left_out == ("own was left out: the config has no data.own",)
    assert compared.variants[-1].name == "selfplay"
    assert not compared.variants[-1].recipe.own
    bare = comparison(lab("resnet-progress", Data(games="g")))
    assert [variant.name for variant in bare.variants] == ["untrained", "cloning", "elite"]


@pytest.mark.parametrize(
    ("experiment", "more", "sentence"),
    [
        ("resnet-ablation", {"variants": ("everything", "no-mirorr")}, "did you mean 'no-mirror'"),
        ("resnet-ablation", {"variants": ("no-mirror", "no-q")}, "from 'everything', which"),
        ("resnet-ablation", {"variants": ("everything",)}, "at least 2 networks"),
        ("resnet-ablation", {"data": Data(games="g")}, "from 'everything', which"),
        ("resnet-progress", {"measures": Measures(anchors=(Anchor(player="q"),))}, "has the name of one of"),
    ],
)
def test_a_comparison_that_cannot_be_made_is_refused(experiment: str, more: dict[str, Any], sentence: str):
    with pytest.raises(UserError, match=sentence):
        comparison(lab(experiment, **more))


def test_the_budget_is_that_of_the_full_network():
    with pytest.raises(UserError, match="21 planes"):
        Budget(steps=10, shape=ResNetShape(planes=18))


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_the_config_that_comes_along_is_one_of_its_experiment(name: str):
    one = load_config(ROOT / "configs" / f"lab-{name}.toml", Lab)
    assert one.experiment == name
    assert comparison(one).variants
    assert len(one.measures.anchors) == 2


# Tables ---------------------------------------------------------------------------------------------------


def test_a_file_is_read_once_whatever_is_made_of_it():
    reads: list[Source] = []

    def read(source: Source, split: str, device: torch.device) -> Table:
        reads.append(source)
        rows = torch.arange(1000, dtype=torch.uint8)[:, None].expand(-1, 32)
        return Table(source.kind, rows, value=torch.zeros(1000), weight=torch.full((1000,), 3.0))

    tables = SharedTables(read)
    source = Source(kind="games", path="g", share=0.5)
    whole = tables.table(source, "train", CPU)
    assert whole.weight is not None
    assert tables.table(replace(source, weighted=False, share=0.1), "train", CPU).weight is None
    assert tables.loader(values=False)(source, "train", CPU).value is None
    assert whole.value is not None
    tenth = tables.table(replace(source, fraction=0.1), "train", CPU)
    third = tables.table(replace(source, fraction=0.3), "train", CPU)
    assert 70 < len(tenth) < 130
    assert 250 < len(third) < 350
    assert len(reads) == 1
    assert reads[0].fraction == 1.0
    tables.keep_only([source])
    tables.table(source, "train", CPU)
    assert len(reads) == 1
    tables.keep_only([])
    tables.table(source, "train", CPU)
    assert len(reads) == 2


def test_a_smaller_share_lies_inside_a_larger_one():
    numbers = torch.arange(5000)
    tables = SharedTables(lambda source, split, device: Table(source.kind, numbers[:, None]))
    small, large = (
        set(
            tables.table(Source(kind="labels", path="l", share=1, fraction=f), "train", CPU)
            .packed[:, 0]
            .tolist()
        )
        for f in (0.03, 0.3)
    )
    assert small < large
    held_out = tables.table(Source(kind="labels", path="l", share=1, fraction=0.03), "validation", CPU)
    assert len(held_out) == 5000


# The table ------------------------------------------------------------------------------------------------


def row(name: str, difference: float | None, low: float | None, high: float | None) -> dict[str, Any]:
    return {"name": name, "difference": difference, "difference_95": [low, high]}


def test_a_figure_stands_with_its_interval_or_as_a_bound():
    assert signed(row("a", -12.4, -30.0, 5.0), "difference") == "−12 (−30 to +5)"
    assert signed(row("a", None, None, -400.0), "difference") == "below −400"
    assert signed(row("a", None, 200.0, None), "difference") == "above +200"
    assert signed(row("a", 0.0, 0.0, 0.0), "difference") == "+0"
    assert signed({"rating": 1350.0, "rating_95": [1300.0, 1400.0]}, "rating") == "1350 (1300 to 1400)"
    assert signed({}, "difference") == "–"


def test_the_verdict_claims_no_more_than_the_intervals_allow():
    rows = [row("all", 0.0, 0.0, 0.0), row("x", -80.0, -100.0, -60.0), row("y", -5.0, -25.0, 15.0)]
    said = verdict({"baseline": "all", "rows": rows})
    assert said == (
        "Told from all, y is best at −5 (−25 to +15) and x worst at −80 (−100 to −60). "
        "Not told apart from it by these games: y."
    )
