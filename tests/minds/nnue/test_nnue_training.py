"""Training: losses by hand, runs that learn by each method, and one that was stopped."""

from __future__ import annotations

import doctest
import json
import math
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from tabiya import _core  # noqa: E402
from tabiya.cli import main  # noqa: E402
from tabiya.errors import UserError  # noqa: E402
from tabiya.learn.checkpoint import load_checkpoint, newest_checkpoint  # noqa: E402
from tabiya.learn.config import load_config  # noqa: E402
from tabiya.learn.log import read_log  # noqa: E402
from tabiya.minds.nnue.loss import NnueLoss, losses, target  # noqa: E402
from tabiya.minds.nnue.network import OUTPUT  # noqa: E402
from tabiya.minds.nnue.quantised import evaluations  # noqa: E402
from tabiya.minds.nnue.training import NnueTraining, Run, network_of  # noqa: E402

CONFIG = """
mind = "nnue"
steps = {steps}
batch = 256
peak_rate = 5e-3
warmup_steps = 2
ema_decay = 0.9
device = "cpu"
bf16 = false
compile = false
report_steps = {every}
validate_steps = 1000
checkpoint_steps = {checkpoint}
{more}
[shape]
l1 = 16
l2 = 8
[loss]
{loss}
[[sources]]
kind = "{kind}"
path = "{path}"
"""


def written(path: Path, source: Path, kind: str = "successors", **settings) -> Path:
    values = {"steps": 12, "more": "", "loss": "", "every": 1, "checkpoint": 4, **settings}
    path.write_text(CONFIG.format(path=source, kind=kind, **values))
    return path


def trained(path: Path, out: Path, minutes: float | None = None) -> Run:
    run = Run(load_config(path, NnueTraining), out)
    run.train(minutes)
    return run


def losses_of(out: Path) -> list[float]:
    return [line["loss"] for line in read_log(out) if "loss" in line]


def test_the_loss_is_the_distance_of_probabilities_to_an_exponent():
    settings = NnueLoss(scale=400.0, exponent=3.0)
    outputs = torch.tensor([400 / OUTPUT, 0.0])
    found = losses(outputs, torch.tensor([0.5, 0.9]), torch.tensor([-1, -1]), settings)
    expected = [(1 / (1 + math.exp(-1)) - 0.5) ** 3, 0.4**3]
    assert found.tolist() == pytest.approx(expected, rel=1e-4)


def test_results_are_mixed_in_where_they_are_known():
    value = torch.tensor([0.6, 0.6, float("nan"), 0.6])
    result = torch.tensor([2, -1, 0, 1], dtype=torch.int8)
    assert target(value, result, NnueLoss(result=0.25)).tolist() == pytest.approx([0.7, 0.6, 0.0, 0.575])


def test_pqr_wants_the_random_move_to_be_worse_and_the_played_one_to_change_nothing():
    settings = NnueLoss(method="pqr", scale=float(OUTPUT))
    nothing = torch.zeros(1)
    p, q, r = 0.3, -0.3, 0.5
    found = losses(torch.tensor([[p, q, r]]), nothing, nothing, settings)
    assert float(found) == pytest.approx(math.log(1 + math.exp(q - r)) + 2 * math.log(2), rel=1e-5)
    worse = losses(torch.tensor([[p, q, -0.9]]), nothing, nothing, settings)
    unequal = losses(torch.tensor([[0.9, q, r]]), nothing, nothing, settings)
    assert float(worse) > float(found)
    assert float(unequal) > float(found)


def test_the_triplet_loss_ends_where_the_played_move_is_nearer_by_the_margin():
    settings = NnueLoss(method="triplet", scale=float(OUTPUT), margin=0.2)
    nothing = torch.zeros(1)
    assert float(losses(torch.tensor([[0.3, -0.3, 0.0]]), nothing, nothing, settings)) == 0
    near = losses(torch.tensor([[0.3, -0.2, -0.4]]), nothing, nothing, settings)
    assert float(near) == pytest.approx(0.2, rel=1e-5)


def test_distances_know_no_sign_and_the_signed_triplet_does():
    nothing, right = torch.zeros(1), torch.tensor([[0.5, -0.5, 0.9]])
    for method, blind in (("triplet", True), ("signed-triplet", False)):
        settings = NnueLoss(method=method, scale=float(OUTPUT), margin=0.2)
        kept, turned = (float(losses(sign * right, nothing, nothing, settings)) for sign in (1, -1))
        assert kept == 0
        assert (turned == kept) == blind


def test_a_network_learns_what_wood_is_worth(labels_file: Path, tmp_path: Path):
    config = written(tmp_path / "c.toml", labels_file, steps=150, every=10, checkpoint=150)
    run = trained(config, tmp_path / "run")
    found = losses_of(tmp_path / "run")
    assert found[-1] < 0.3 * found[0]
    up, down = _core.pack_fens(["4k3/8/8/8/8/8/8/Q3K3 w - - 0 1", "q3k3/8/8/8/8/8/8/4K3 w - - 0 1"])[:, None]
    assert evaluations(run.averaged(), up)[0] > 100 > -100 > evaluations(run.averaged(), down)[0]


@pytest.mark.parametrize("method", ["pqr", "triplet", "signed-triplet"])
def test_moves_teach_without_a_teacher(method: str, labels_file: Path, tmp_path: Path):
    loss = f'method = "{method}"'
    config = written(
        tmp_path / "c.toml", labels_file, kind="labels", steps=120, every=10, checkpoint=120, loss=loss
    )
    trained(config, tmp_path / "run")
    found = losses_of(tmp_path / "run")
    assert found[-1] < 0.97 * found[0]


def test_a_trained_network_is_tuned_by_moves(labels_file: Path, tmp_path: Path):
    config = written(tmp_path / "c.toml", labels_file, steps=8)
    trained(config, tmp_path / "first")
    checkpoint = newest_checkpoint(tmp_path / "first")
    tune = written(
        tmp_path / "tune.toml",
        labels_file,
        kind="labels",
        loss='method = "pqr"',
        more=f'start_from = "{checkpoint}"',
    )
    run = Run(load_config(tune, NnueTraining), tmp_path / "second")
    taught = network_of(tmp_path / "first")
    assert torch.equal(run.network.weight, taught.weight)
    run.train()
    assert not torch.equal(run.network.weight, taught.weight)


@pytest.mark.parametrize("keep", ["resident", "streamed"])
def test_a_run_that_was_stopped_ends_equal_to_the_bit(keep: str, labels_file: Path, tmp_path: Path):
    config = written(tmp_path / "c.toml", labels_file, more=f'keep_data = "{keep}"')
    trained(config, tmp_path / "whole")
    stopped = trained(config, tmp_path / "stopped", minutes=0.0)
    assert stopped.step == 1
    trained(config, tmp_path / "stopped")
    ours, theirs = (load_checkpoint(newest_checkpoint(tmp_path / name))[0] for name in ("stopped", "whole"))
    assert ours.keys() == theirs.keys()
    assert all(torch.equal(ours[name], theirs[name]) for name in ours if not name.startswith("rng."))
    assert losses_of(tmp_path / "stopped") == losses_of(tmp_path / "whole")


def test_every_checkpoint_has_its_file_of_integers_and_no_other(labels_file: Path, tmp_path: Path):
    config = written(tmp_path / "c.toml", labels_file)
    trained(config, tmp_path / "run")
    names = sorted(path.name for path in (tmp_path / "run").glob("step-*"))
    assert names == [f"step-{step:08}.{kind}" for step in (8, 12) for kind in ("nnue", "safetensors")]
    network = _core.QuantisedNetwork((tmp_path / "run" / "step-00000012.nnue").read_bytes())
    assert network.shape == (16, 8, 0, 1)


def test_weights_never_leave_what_the_file_holds(labels_file: Path, tmp_path: Path):
    config = written(tmp_path / "c.toml", labels_file, steps=30, every=10, checkpoint=30)
    config.write_text(config.read_text().replace("5e-3", "5.0"))
    run = trained(config, tmp_path / "run")
    assert float(run.network.weight.detach().abs().max()) <= run.network.limits.first
    assert float(run.network.l2.weight.detach().abs().max()) <= run.network.limits.l2
    assert float(run.network.weight.detach()[768:].abs().max()) == 0


def test_a_probe_is_handed_the_file_and_its_figures_are_logged(labels_file: Path, tmp_path: Path):
    config = load_config(written(tmp_path / "c.toml", labels_file, steps=3), NnueTraining)

    def probe(file: Path) -> dict[str, float]:
        return {"l1_seen": _core.QuantisedNetwork(file.read_bytes()).shape[0]}

    Run(config, tmp_path / "run", probe).train()
    assert [line["l1_seen"] for line in read_log(tmp_path / "run") if "l1_seen" in line] == [16]


def test_puzzles_are_tried_without_search(labels_file: Path, tmp_path: Path, capsys):
    puzzles = tmp_path / "p.csv"
    mate = "6k1/5ppp/8/8/8/8/7r/R3K3 b - - 0 1"
    puzzles.write_text(f"PuzzleId,FEN,Moves,Rating,Themes\na,{mate},h2h3 a1a8,600,mate\n")
    config = written(tmp_path / "c.toml", labels_file, steps=2, more=f'puzzles = "{puzzles}"')
    assert main(["train", str(config), "--out", str(tmp_path / "run"), "--json"]) == 0
    figures = json.loads(capsys.readouterr().out)
    assert figures["step"] == 2
    assert figures["puzzle_moves_without_search"] == 1.0  # a mate needs no evaluation


def test_speed_gives_three_rates_and_leaves_no_run(labels_file: Path, tmp_path: Path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    config = written(tmp_path / "c.toml", labels_file)
    assert main(["train", str(config), "--speed", "--json"]) == 0
    figures = json.loads(capsys.readouterr().out)
    for kind in ("resident", "streamed", "synthetic"):
        assert len(figures[f"{kind}_per_second"]) == 3
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    ("wrong", "complaint"),
    [
        ("exponent = 0.5", "exponent must be at least 1"),
        ("result = 2.0", "result must lie between 0 and 1"),
        ('scale = "steep"', "unknown scale 'steep'"),
        ('method = "guess"', "method"),
    ],
)
def test_a_loss_that_cannot_be_is_refused(wrong: str, complaint: str, labels_file: Path, tmp_path: Path):
    with pytest.raises(UserError, match=complaint):
        load_config(written(tmp_path / "c.toml", labels_file, loss=wrong), NnueTraining)


def test_a_config_of_no_known_mind_is_refused(tmp_path: Path, capsys):
    (tmp_path / "c.toml").write_text('mind = "nnu"\n')
    assert main(["train", str(tmp_path / "c.toml")]) == 2
    assert 'needs mind = "resnet" or mind = "nnue"' in capsys.readouterr().err


@pytest.mark.parametrize(("name", "features"), [("nnue-main", "MIRROR-H"), ("nnue-toy", "ALL")])
def test_the_configs_at_hand_can_be_read(name: str, features: str):
    root = Path(__file__).resolve().parents[3]
    assert load_config(root / "configs" / f"{name}.toml", NnueTraining).shape.features == features


def test_the_page_on_training_says_what_is_so():
    page = Path(__file__).resolve().parents[3] / "docs" / "nnue-training.md"
    failed, tried = doctest.testfile(str(page), module_relative=False)
    assert tried > 5
    assert failed == 0
