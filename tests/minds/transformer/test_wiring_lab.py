"""`tabiya lab wiring`: wirings within their limits, an evolution that a kill does not change, its verdict."""

from __future__ import annotations

import json
import math
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from tabiya.cli import main  # noqa: E402
from tabiya.errors import UserError  # noqa: E402
from tabiya.learn.config import load_config  # noqa: E402
from tabiya.learn.lab.folder import LabFolder  # noqa: E402
from tabiya.minds.transformer.lab.evolve import blocks_run, evolve, held_out_loss, next_order  # noqa: E402
from tabiya.minds.transformer.lab.journal import JOURNAL, Journal, Order, Trial  # noqa: E402
from tabiya.minds.transformer.lab.run import training_of  # noqa: E402
from tabiya.minds.transformer.lab.wiring_plan import Evolution, WiringLab  # noqa: E402
from tabiya.minds.transformer.lab.wiring_report import make_wiring_record, wiring_markdown  # noqa: E402
from tabiya.minds.transformer.lab.wirings import at_random, crossed, mutated, wiring_of  # noqa: E402
from tabiya.minds.transformer.plan import TransformerTraining  # noqa: E402
from tabiya.minds.transformer.shape import Wire  # noqa: E402

CONFIG = """
experiment = "wiring"
[data]
games = "{games}"
[budget]
steps = 2
batch = 8
mlp_ratio = 1.0
warmup_steps = 1
device = "cpu"
bf16 = false
compile = false
wide_attention = "plain"
report_steps = 1
[shape]
layers = 3
width = 16
heads = 2
mlp_ratio = 1.0
value_hidden = 8
refinement = false
[evolution]
tries = 5
founders = 2
parents = 2
cycles = 2
base_seeds = [0, 1, 2]
confirmed = 1
"""
LIMITS = Evolution(wires=3, cycles=2)


@pytest.fixture
def file(tmp_path: Path, games: Path) -> Path:
    path = tmp_path / "wiring.toml"
    path.write_text(CONFIG.format(games=games))
    return path


def lines(folder: Path) -> list[dict[str, Any]]:
    """The journal without what depends on the clock."""
    kept = [json.loads(text) for text in (folder / JOURNAL).read_text().splitlines()]
    return [{key: value for key, value in line.items() if "second" not in key} for line in kept]


def test_an_evolution_from_files_to_its_report(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    out = tmp_path / "out"
    assert main(["lab", "wiring", "--config", str(file), "--out", str(out), "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    tried = lines(out)
    assert [line["born"] for line in tried[:5]] == ["base"] * 3 + ["founder"] * 2
    assert [line["born"] for line in tried[8:]] == ["confirmation"] * 2
    assert {line["born"] for line in tried[5:8]} <= {"mutation", "crossover"}
    # A child's parents were tried before it.
    assert all(parent < line["number"] for line in tried for parent in line["parents"])
    assert all(line["parents"] for line in tried[5:])
    wirings = [json.dumps(line["wiring"]) for line in tried[3:8]]
    assert len(set(wirings)) == 5
    assert "[]" not in wirings
    assert all(line["loss"] > 0 for line in tried)
    assert all(line["blocks_run"] > 3 for line in tried[3:])
    assert [row["loss"] for row in record["rows"]] == sorted(line["loss"] for line in tried[3:8])
    assert record["answer"] in ("yes", "no", "not decided")
    assert (out / "report.md").read_text() == wiring_markdown(record)
    assert (out / "report.png").read_bytes().startswith(b"\x89PNG")
    assert not (out / "trial").exists()


def test_a_killed_evolution_goes_on_as_if_nothing_had_happened(file: Path, tmp_path: Path):
    lab = load_config(file, WiringLab)
    whole, parts = LabFolder(tmp_path / "whole"), LabFolder(tmp_path / "parts")
    assert evolve(lab, whole)
    words = ["lab", "wiring", "--config", str(file), "--out", str(parts.path)]
    program = "import sys; from tabiya.cli import main; sys.exit(main(sys.argv[1:]))"
    alone = os.environ | {"OMP_NUM_THREADS": "1"}
    process = subprocess.Popen([sys.executable, "-c", program, *words], env=alone, stderr=subprocess.DEVNULL)
    journal = parts.path / JOURNAL
    while process.poll() is None and not (journal.exists() and journal.read_bytes().count(b"\n") >= 2):
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.wait()
    # What a kill in the middle of a line would leave.
    with journal.open("ab") as stream:
        stream.write(b'{"number": 9')
    before = journal.read_bytes().count(b"\n")
    assert before >= 2
    assert not evolve(lab, parts, minutes=0)
    assert journal.read_bytes().count(b"\n") == before
    assert evolve(lab, parts)
    assert lines(parts.path) == lines(whole.path)


def test_wirings_stay_within_their_limits_however_they_are_made():
    chance = random.Random(1)
    seen = set()
    for _ in range(300):
        one, other = at_random(chance, 4, LIMITS), at_random(chance, 4, LIMITS)
        child = crossed(one, other, chance, LIMITS)
        changed = mutated(child, chance, 4, LIMITS)
        for wiring in (one, child, changed):
            assert 1 <= len(wiring) <= 3
            assert wiring == wiring_of(reversed(wiring))
            assert all(1 <= wire.to_block <= wire.from_block <= 4 for wire in wiring)
            assert all(1 <= wire.cycles <= 2 for wire in wiring)
        ends = {(wire.from_block, wire.to_block) for wire in (*one, *other)}
        assert {(wire.from_block, wire.to_block) for wire in child} <= ends
        seen |= {len(changed) - len(child), *changed}
    # Wires are added and taken away, and every possible one is met.
    assert {-1, 0, 1} <= seen
    assert len({each for each in seen if isinstance(each, Wire)}) == 10 * 2


def test_no_wiring_runs_more_blocks_than_it_may(file: Path):
    def blocks(text: str) -> list[int]:
        file.write_text(text)
        lab = load_config(file, WiringLab)
        told = trials(lab, {"base": [2.0], "bred": [1.9], "confirmation": [1.9]})
        return [blocks_run(lab, trial.order.wiring) for trial in told]

    text = file.read_text().replace("tries = 5", "tries = 6")
    assert max(blocks(text)) > 5
    capped = blocks(text.replace("tries = 6", "tries = 6\nmost_blocks = 5"))
    assert max(capped) == 5
    assert len(capped) == 3 + 6 + 2


def trials(lab: WiringLab, losses: dict[str, list[float]]) -> list[Trial]:
    """An evolution whose losses are given by how a network was born, the last one again and again."""
    found: list[Trial] = []
    waiting = {born: list(each) for born, each in losses.items()}
    while (order := next_order(lab, found)) is not None:
        left = waiting[order.born if order.born in waiting else "bred"]
        loss = left.pop(0) if len(left) > 1 else left[0]
        details = {"blocks_run": 4, "seconds": 1.0}
        found.append(Trial(number=len(found), order=order, loss=loss, details=details))
    return found


@pytest.mark.parametrize(
    ("again", "answer"),
    [([1.0, 1.1, 1.2], "yes"), ([2.1, 2.2, 2.3], "no"), ([1.0, 3.2, 2.2], "not decided")],
)
def test_only_trainings_with_other_seeds_answer(again: list[float], answer: str, file: Path):
    text = file.read_text().replace("base_seeds = [0, 1, 2]", "base_seeds = [0, 1, 2, 3]")
    file.write_text(text)
    lab = load_config(file, WiringLab)
    # With the seed it was found with, every wiring looks splendid.
    told = trials(lab, {"base": [2.0, 2.0, 2.1, 2.2], "bred": [0.5], "confirmation": again})
    record = make_wiring_record(lab, told)
    assert record["ahead"] == 5
    assert record["answer"] == answer
    assert record["confirmed"][0]["seeds"] == 3
    mean = sum(again) / 3 - 2.1
    assert record["confirmed"][0]["difference"] == pytest.approx(mean)


def test_a_report_before_the_last_training_says_what_is_missing(file: Path):
    lab = load_config(file, WiringLab)
    with pytest.raises(UserError, match="run the stage evolve first"):
        make_wiring_record(lab, [])
    some = trials(lab, {"base": [2.0], "bred": [1.9], "confirmation": [1.9]})[:5]
    text = wiring_markdown(make_wiring_record(lab, some))
    assert "2 of 5 wirings tried" in text
    assert "No wiring was trained again yet." in text
    assert "**not decided**" in text


def test_the_best_have_the_children():
    lab = load_config(Path(__file__).parents[3] / "configs" / "lab-wiring.toml", WiringLab)
    losses = random.Random(3)
    found: list[Trial] = []
    while (order := next_order(lab, found)) is not None:
        found.append(Trial(number=len(found), order=order, loss=losses.random(), details={}))
    plan = lab.evolution
    assert len(found) == len(plan.base_seeds) + plan.tries + plan.confirmed * (len(plan.base_seeds) - 1)
    for trial in found:
        if trial.order.born in ("mutation", "crossover"):
            earlier = [t for t in found[: trial.number] if t.order.wiring]
            best = sorted(earlier, key=lambda each: each.loss)[: plan.parents]
            assert set(trial.order.parents) <= {each.number for each in best}
            assert len(trial.order.parents) == (2 if trial.order.born == "crossover" else 1)


def test_a_wiring_whose_training_runs_away_is_the_worst_and_stops_nothing(file: Path, tmp_path: Path):
    lab = load_config(file, WiringLab)
    assert (
        held_out_loss(training(lab), {"validation_games_policy": None, "validation_games_bins": 0.5})
        == math.inf
    )
    told = trials(lab, {"base": [2.0], "bred": [math.inf, 1.9], "confirmation": [1.9]})
    journal = Journal(tmp_path / JOURNAL)
    for trial in told:
        journal.append(trial.order, trial.loss, trial.details)
    assert "Infinity" not in journal.path.read_text()
    assert Journal(journal.path).trials == told
    record = make_wiring_record(lab, told)
    assert (record["tried"], record["without_a_loss"], len(record["rows"])) == (5, 1, 4)
    assert "1 ran away and have no loss" in wiring_markdown(record)


def training(lab: WiringLab) -> TransformerTraining:
    return training_of(lab.data, lab.budget, lab.shape, steps=1, seed=0, masked=lab.masked)


def test_a_damaged_journal_is_named_and_kept(tmp_path: Path):
    path = tmp_path / JOURNAL
    journal = Journal(path)
    journal.append(
        Order(wiring=(Wire(from_block=2, to_block=1),), seed=0, born="founder"), 1.5, {"seconds": 1}
    )
    assert Journal(path).trials == journal.trials
    content = b"not JSON\n" + path.read_bytes()
    path.write_bytes(content)
    with pytest.raises(UserError, match=r"trials.jsonl:1 is no trial"):
        Journal(path)
    assert path.read_bytes() == content


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (("base_seeds = [0, 1, 2]", "base_seeds = [0, 1]"), "base_seeds must be at least 3"),
        (("tries = 5", "tris = 5"), "did you mean 'tries'?"),
        (("refinement = false", "feedback = [{from_block=1, to_block=1}]"), "no feedback of its own"),
        (("tries = 5", "most_blocks = 3"), "most_blocks must be above the network's 3 layers"),
    ],
)
def test_a_wrong_config_is_one_sentence(
    change: tuple[str, str], sentence: str, file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    file.write_text(file.read_text().replace(*change))
    assert main(["lab", "wiring", "--config", str(file), "--out", str(tmp_path / "out")]) == 2
    said = capsys.readouterr().err
    assert sentence in said
    assert said.count("\n") == 1
