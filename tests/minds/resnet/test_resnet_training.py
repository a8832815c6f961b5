"""Training: the losses by hand, a run that learns, and a kill that changes nothing."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from tabiya import _core  # noqa: E402
from tabiya.data.labels import write_move_labels  # noqa: E402
from tabiya.data.shards import FORMAT, NO_RESULT, RECORD, VERSION  # noqa: E402
from tabiya.errors import UserError  # noqa: E402
from tabiya.learn.checkpoint import load_checkpoint, newest_checkpoint  # noqa: E402
from tabiya.learn.config import load_config  # noqa: E402
from tabiya.learn.feed import Table  # noqa: E402
from tabiya.learn.log import read_log  # noqa: E402
from tabiya.minds.resnet.loss import LossWeights, bin_targets, expected_value, losses  # noqa: E402
from tabiya.minds.resnet.network import ResNet, ResNetShape, parameter_count  # noqa: E402
from tabiya.minds.resnet.training import ResNetTraining, Run  # noqa: E402

CONFIG = """
mind = "resnet"
steps = {steps}
batch = 32
warmup_steps = 2
device = "cpu"
bf16 = false
compile = false
report_steps = 1
validate_steps = 1000
checkpoint_steps = 3
[shape]
blocks = 1
channels = 8
squeeze = 4
value_channels = 4
value_hidden = 16
[[sources]]
kind = "labels"
path = "{labels}"
share = 0.5
[[sources]]
kind = "successors"
path = "{labels}"
share = 0.5
"""


@pytest.fixture
def config(tmp_path: Path) -> Path:
    positions = _core.random_positions(300, 11)
    offsets, _, _ = _core.successors(positions)
    rng = np.random.default_rng(0)
    labels = tmp_path / "l.moves"
    write_move_labels(labels, (positions, offsets, rng.integers(-300, 300, offsets[-1]).astype(np.int16)))
    path = tmp_path / "tiny.toml"
    path.write_text(CONFIG.format(steps=12, labels=labels))
    return path


def choices(folder: Path, shards: int) -> None:
    """A folder with so many shards of 20 positions, as a teacher leaves it while it goes on."""
    folder.mkdir(exist_ok=True)
    named = []
    for number in range(shards):
        records = np.zeros(20, RECORD)
        records["packed"], records["result"] = _core.random_positions(20, number), NO_RESULT
        records.tofile(folder / f"{number}.train.pos")
        records[:0].tofile(folder / f"{number}.validation.pos")
        named.append({"name": str(number), "train": 20, "validation": 0})
    manifest = {"format": FORMAT, "version": VERSION, "complete": True, "options": {}, "shards": named}
    (folder / "manifest.json").write_text(json.dumps(manifest))


def test_a_run_takes_in_what_a_teacher_adds_meanwhile(config: Path, tmp_path: Path):
    folder = tmp_path / "choices"
    choices(folder, 1)
    config.write_text(
        config.read_text().replace("mind =", "look_again_steps = 5\nmind =")
        + f'[[sources]]\nkind = "games"\npath = "{folder}"\nshare = 0.5\n'
    )

    class Taught(Run):
        def save(self) -> Path:
            if self.step == 5:
                choices(folder, 3)
            return super().save()

    run = Taught(load_config(config, ResNetTraining), tmp_path / "run")
    run.train()
    lines = map(json.loads, (tmp_path / "run" / "log.jsonl").read_text().splitlines())
    notes = [line["note"] for line in lines if "note" in line]
    assert run.step == 12
    assert notes[1:] == ["40 positions more", "0 positions more"]
    # Its records have no legal move: they teach no policy, least of all one of no move at all.
    assert read_log(tmp_path / "run")[0]["games_policy"] == 0


def test_the_main_network_has_about_four_million_parameters():
    assert 3_900_000 < parameter_count(ResNet(ResNetShape())) < 4_400_000


def test_without_a_head_of_its_own_q_is_the_policy_s_logits():
    network = ResNet(ResNetShape(blocks=1, channels=8, own_q_head=False)).eval()
    policy, q, _, _ = network(torch.zeros(2, 21, 8, 8))
    assert torch.equal(policy, q)


def test_a_value_spread_over_bins_is_read_back():
    values = torch.tensor([0.0, 0.013, 0.5, 0.777, 1.0])
    targets = bin_targets(values, 64, 0.75)
    assert torch.allclose(targets.sum(1), torch.ones(5))
    assert torch.allclose(expected_value(targets.clamp(min=1e-9).log()), values, atol=0.012)


def test_only_legal_moves_enter_the_policy_loss():
    legal = torch.tensor([[3, 7, -1]], dtype=torch.int16)
    part = Table(
        "games", torch.zeros(1, 32, dtype=torch.uint8), legal=legal, target=torch.tensor([1]).short()
    )
    policy = torch.full((1, 4672), 50.0)  # every illegal move looks splendid
    policy[0, 3], policy[0, 7] = 1.0, 2.0
    other = torch.zeros(1, 4672)
    figures = losses((policy, other, torch.zeros(1, 3), torch.zeros(1, 64)), [part], LossWeights())
    assert float(figures["games_policy"]) == pytest.approx(
        -np.log(np.exp(2) / (np.exp(1) + np.exp(2))), rel=1e-5
    )
    assert float(figures["games_policy_top1"]) == 1.0


def test_a_perfect_network_has_no_loss_on_labels():
    legal = torch.tensor([[3, 7, -1]], dtype=torch.int16)
    q = torch.tensor([[0.6, 0.5, float("nan")]], dtype=torch.float16)
    part = Table("labels", torch.zeros(1, 32, dtype=torch.uint8), legal=legal, q=q)
    policy, worth = torch.zeros(1, 4672), torch.zeros(1, 4672)
    policy[0, 3], policy[0, 7] = 0.6 / 0.04, 0.5 / 0.04
    worth[0, 3], worth[0, 7] = torch.logit(torch.tensor(0.6)), torch.logit(torch.tensor(0.5))
    figures = losses((policy, worth, torch.zeros(1, 3), torch.zeros(1, 64)), [part], LossWeights())
    assert float(figures["loss"]) == pytest.approx(0.0, abs=1e-4)


def test_regret_is_what_the_policy_s_moves_lose_against_the_best():
    legal = torch.tensor([[3, 7, -1]], dtype=torch.int16)
    q = torch.tensor([[0.6, 0.5, float("nan")]], dtype=torch.float16)
    part = Table("labels", torch.zeros(1, 32, dtype=torch.uint8), legal=legal, q=q)
    policy = torch.zeros(1, 4672)
    policy[0, 7] = np.log(3)  # the worse move in three games of four
    outputs = (policy, torch.zeros(1, 4672), torch.zeros(1, 3), torch.zeros(1, 64))
    plain, minded = (losses(outputs, [part], LossWeights(regret=weight)) for weight in (0.0, 2.0))
    assert float(plain["labels_policy_lost"]) == pytest.approx(0.1, abs=1e-3)
    assert float(minded["labels_regret"]) == pytest.approx(2 * 0.75 * 0.1, abs=1e-3)
    assert float(minded["loss"] - plain["loss"]) == pytest.approx(float(minded["labels_regret"]), abs=1e-6)
    assert "labels_regret" not in plain


def test_moves_played_in_games_may_count_less():
    legal = torch.tensor([[3, 7, -1]], dtype=torch.int16)
    part = Table(
        "games", torch.zeros(1, 32, dtype=torch.uint8), legal=legal, target=torch.tensor([1]).short()
    )
    outputs = (torch.zeros(1, 4672), torch.zeros(1, 4672), torch.zeros(1, 3), torch.zeros(1, 64))
    figures = losses(outputs, [part], LossWeights(played=0.25))
    assert float(figures["loss"]) == pytest.approx(np.log(2) / 4, rel=1e-5)


def test_a_run_learns(config: Path, tmp_path: Path):
    text = config.read_text().replace("steps = 12", "steps = 150")
    config.write_text(text)
    Run(load_config(config, ResNetTraining), tmp_path / "run").train()
    log = [line for line in read_log(tmp_path / "run") if "loss" in line]
    assert np.mean([line["loss"] for line in log[-10:]]) < 0.9 * np.mean([line["loss"] for line in log[:10]])


CHILD = """
import sys
from pathlib import Path
import torch
torch.set_num_threads(1)
from tabiya.learn.config import load_config
from tabiya.minds.resnet.training import ResNetTraining, Run
import tabiya.minds.resnet.training as training, time
torch_step = Run.one_step
def slow(self, *given):
    time.sleep(0.15)
    return torch_step(self, *given)
Run.one_step = slow
Run(load_config(sys.argv[1], ResNetTraining), Path(sys.argv[2])).train()
"""


@pytest.fixture
def one_thread() -> Iterator[None]:
    """Sums in the same order in this process and in those that are killed."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.mark.usefixtures("one_thread")
def test_kill_nine_at_any_step_and_the_resumed_run_ends_equal_to_the_bit(config: Path, tmp_path: Path):
    Run(load_config(config, ResNetTraining), tmp_path / "whole").train()
    killed = tmp_path / "killed"
    for step in (3, 9):
        process = subprocess.Popen([sys.executable, "-c", CHILD, str(config), str(killed)])
        target = killed / f"step-{step:08d}.safetensors"
        deadline = time.monotonic() + 120
        while not target.exists() and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.02)
        assert process.poll() is None
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    Run(load_config(config, ResNetTraining), killed).train()
    ours, theirs = (load_checkpoint(newest_checkpoint(tmp_path / name))[0] for name in ("killed", "whole"))
    assert ours.keys() == theirs.keys()
    assert all(torch.equal(ours[name], theirs[name]) for name in ours if not name.startswith("rng."))
    curves = [
        [(line["step"], line["loss"]) for line in read_log(tmp_path / name) if "loss" in line]
        for name in ("killed", "whole")
    ]
    assert curves[0] == curves[1]


def test_another_setting_in_a_run_s_folder_is_refused_by_name(config: Path, tmp_path: Path):
    Run(load_config(config, ResNetTraining), tmp_path / "run")
    config.write_text(config.read_text().replace("batch = 32", "batch = 64"))
    with pytest.raises(UserError, match="batch = 32, now it is 64"):
        Run(load_config(config, ResNetTraining), tmp_path / "run")


def test_a_missing_gpu_is_one_sentence(config: Path, tmp_path: Path):
    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    config.write_text(config.read_text().replace('device = "cpu"', 'device = "cuda"'))
    with pytest.raises(UserError, match="no CUDA device"):
        Run(load_config(config, ResNetTraining), tmp_path / "run")
