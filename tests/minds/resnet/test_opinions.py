"""A network that learns from another one's opinions: what counts of them, and for how long."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from tabiya import _core  # noqa: E402
from tabiya.data.labels import write_move_labels  # noqa: E402
from tabiya.errors import UserError  # noqa: E402
from tabiya.learn.checkpoint import newest_checkpoint, save_checkpoint  # noqa: E402
from tabiya.learn.config import load_config  # noqa: E402
from tabiya.learn.feed import Table  # noqa: E402
from tabiya.learn.log import read_log  # noqa: E402
from tabiya.minds.resnet.loss import Outputs  # noqa: E402
from tabiya.minds.resnet.opinions import opinion_losses  # noqa: E402
from tabiya.minds.resnet.training import ResNetTraining, Run  # noqa: E402

CONFIG = """
mind = "resnet"
{settings}
batch = 32
warmup_steps = 2
device = "cpu"
bf16 = false
compile = false
report_steps = 1
[shape]
blocks = 1
channels = 8
squeeze = 4
value_channels = 4
value_hidden = 16
value_bins = {bins}
[[sources]]
kind = "labels"
path = "{labels}"
share = 0.5
[[sources]]
kind = "successors"
path = "{labels}"
share = 0.5
"""


def outputs(policy: list[float]) -> Outputs:
    logits = torch.full((1, 4672), 30.0)  # every illegal move looks splendid
    logits[0, :2] = torch.tensor(policy)
    return logits, torch.zeros(1, 4672), torch.zeros(1, 3), torch.zeros(1, 8)


def part(legal: list[int] | None) -> Table:
    listed = None if legal is None else torch.tensor([legal], dtype=torch.int16)
    return Table("games", torch.zeros(1, 32, dtype=torch.uint8), legal=listed)


def test_the_same_opinion_costs_nothing():
    given = outputs([1.0, 2.0])
    figures = opinion_losses(given, given, [part([0, 1, -1])], None)
    assert all(float(value) == pytest.approx(0, abs=1e-6) for value in figures.values())


def test_only_legal_moves_count():
    mine, theirs = outputs([0.0, 0.0]), outputs([0.0, 3.0])
    theirs[0][0, 2:] = -30.0
    figures = opinion_losses(mine, theirs, [part([0, 1, -1])], None)
    share = np.array([1, np.exp(3)]) / (1 + np.exp(3))
    assert float(figures["opinion_policy"]) == pytest.approx(
        float((share * np.log(2 * share)).sum()), rel=1e-5
    )


def test_where_moves_stand_elsewhere_they_are_found():
    places = torch.arange(4672).flip(0)
    there = opinion_losses(outputs([0.0, 0.0]), outputs([0.0, 3.0]), [part([4671, 4670])], places)
    here = opinion_losses(outputs([0.0, 0.0]), outputs([0.0, 3.0]), [part([0, 1])], None)
    assert float(there["opinion_policy"]) == pytest.approx(float(here["opinion_policy"])) != 0


def test_a_part_without_moves_teaches_its_value_alone():
    mine, theirs = outputs([0.0, 0.0]), outputs([0.0, 3.0])
    theirs[3][0, 0] = 5.0
    figures = opinion_losses(mine, theirs, [part(None)], None)
    assert float(figures["opinion_policy"]) == 0
    assert float(figures["opinion_bins"]) > 0.5


@pytest.fixture
def settings(tmp_path: Path):
    """Writes a config with these settings and reads it."""
    positions = _core.random_positions(200, 11)
    offsets, _, _ = _core.successors(positions)
    scores = np.random.default_rng(0).integers(-300, 300, offsets[-1]).astype(np.int16)
    write_move_labels(tmp_path / "l.moves", (positions, offsets, scores))

    def read(text: str, bins: int = 16) -> ResNetTraining:
        path = tmp_path / "tiny.toml"
        path.write_text(CONFIG.format(settings=text, labels=tmp_path / "l.moves", bins=bins))
        return load_config(path, ResNetTraining)

    return read


@pytest.fixture
def teacher(settings, tmp_path: Path) -> Path:
    """The checkpoint of a short run."""
    Run(settings("steps = 20"), tmp_path / "teacher").train()
    found = newest_checkpoint(tmp_path / "teacher")
    assert found is not None
    return Path(found)


def test_a_pupil_comes_nearer_to_its_teacher_who_then_leaves(settings, teacher: Path, tmp_path: Path):
    run = Run(settings(f'steps = 14\nseed = 5\ntaught_by = "{teacher}"\ntaught_steps = 10'), tmp_path / "run")
    run.train()
    far = [line["opinion"] for line in read_log(tmp_path / "run") if "opinion" in line]
    assert run.step == 14
    assert len(far) == 10
    assert far[-1] < far[0]


def test_a_run_stopped_among_lessons_goes_on_with_them(settings, teacher: Path, tmp_path: Path):
    taught = f'steps = 8\nseed = 5\ncheckpoint_steps = 3\ntaught_by = "{teacher}"\ntaught_steps = 6'
    whole = Run(settings(taught), tmp_path / "whole")
    whole.train()
    stopped = Run(settings(taught), tmp_path / "stopped")
    stopped.train(minutes=0)
    assert stopped.step < 6
    resumed = Run(settings(taught), tmp_path / "stopped")
    resumed.train()
    for mine, other in zip(whole.network.parameters(), resumed.network.parameters(), strict=True):
        assert torch.equal(mine, other)


def test_a_teacher_of_another_layout_is_refused(settings, teacher: Path, tmp_path: Path):
    config = settings(f'steps = 4\ntaught_by = "{teacher}"\ntaught_steps = 2', bins=32)
    with pytest.raises(UserError, match="differ in value_bins"):
        Run(config, tmp_path / "run")


def test_a_checkpoint_of_another_kind_is_refused(settings, tmp_path: Path):
    save_checkpoint(tmp_path / "odd.safetensors", {"model.x": torch.zeros(1)}, {"step": 0})
    config = settings(f'steps = 4\ntaught_by = "{tmp_path / "odd.safetensors"}"\ntaught_steps = 2')
    with pytest.raises(UserError, match="of no resnet run"):
        Run(config, tmp_path / "run")


def test_a_teacher_without_lessons_is_refused(settings):
    with pytest.raises(UserError, match="go together"):
        settings('steps = 4\ntaught_by = "a.safetensors"')
