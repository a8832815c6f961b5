"""A run that lasts for its minutes: the rate falls with the time, and a kill gives none of it back."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from tabiya import _core  # noqa: E402
from tabiya.data.labels import write_move_labels  # noqa: E402
from tabiya.errors import UserError  # noqa: E402
from tabiya.learn.checkpoint import load_checkpoint, newest_checkpoint  # noqa: E402
from tabiya.learn.feed import Source  # noqa: E402
from tabiya.learn.log import read_log  # noqa: E402
from tabiya.learn.schedule import learning_rate  # noqa: E402
from tabiya.minds.resnet.network import ResNetShape  # noqa: E402
from tabiya.minds.resnet.training import ResNetTraining, Run  # noqa: E402

SECONDS_A_STEP = 6.0
STEPS, WARM, PEAK = 1000, 2, 0.01


class TimedRun(Run):
    """Every step takes six seconds of a clock of its own, which stands still between runs."""

    def seconds(self) -> float:
        return self._seconds_before + SECONDS_A_STEP * (self.step - self.first)

    first = 0


@pytest.fixture
def config(tmp_path: Path) -> ResNetTraining:
    positions = _core.random_positions(200, 11)
    offsets, _, _ = _core.successors(positions)
    scores = np.random.default_rng(0).integers(-300, 300, offsets[-1]).astype(np.int16)
    write_move_labels(tmp_path / "l.moves", (positions, offsets, scores))
    return ResNetTraining(
        steps=STEPS,
        minutes=1,
        batch=8,
        peak_rate=PEAK,
        warmup_steps=WARM,
        device="cpu",
        bf16=False,
        compile=False,
        report_steps=1,
        checkpoint_steps=4,
        shape=ResNetShape(blocks=1, channels=8, squeeze=0, value_channels=2, value_hidden=4),
        sources=(Source(kind="labels", path=str(tmp_path / "l.moves"), share=1),),
    )


def rates(folder: Path) -> list[float]:
    return [line["rate"] for line in read_log(folder) if "rate" in line]


def expected(step: int) -> float:
    """The rate of a step: warming up like any run, then where the time stands among all the steps."""
    share = SECONDS_A_STEP * step / 60
    place = step if step < WARM else max(WARM, int(share * STEPS))
    return learning_rate(place, steps=STEPS, peak=PEAK, warmup_steps=WARM, final_fraction=0.02)


def test_it_ends_with_its_time_and_the_rate_has_fallen_by_then(config: ResNetTraining, tmp_path: Path):
    run = TimedRun(config, tmp_path / "run")
    figures = run.train()
    assert run.step == 10
    assert "validation_labels_policy" in figures
    assert rates(run.folder) == pytest.approx([expected(step) for step in range(10)])
    assert rates(run.folder)[-1] < 0.1 * PEAK
    assert newest_checkpoint(run.folder).name == "step-00000010.safetensors"
    again = TimedRun(config, run.folder)
    again.first = again.step
    again.train()
    assert again.step == 10


def test_a_killed_run_has_only_the_time_that_is_left(config: ResNetTraining, tmp_path: Path):
    killed = TimedRun(config, tmp_path / "run")
    killed.one_step = dying_at(killed, 6)
    with pytest.raises(KeyboardInterrupt):
        killed.train()
    assert load_checkpoint(newest_checkpoint(killed.folder))[1]["seconds"] == 24.0
    resumed = TimedRun(config, killed.folder)
    resumed.first = resumed.step
    resumed.train()
    assert resumed.step == 10
    assert rates(resumed.folder) == pytest.approx([expected(step) for step in range(10)])


def dying_at(run: Run, step: int):
    """A step that is as good as any up to this one."""
    usual = run.one_step

    def one_step(parts):
        if run.step == step:
            raise KeyboardInterrupt
        return usual(parts)

    return one_step


def test_negative_minutes_are_refused():
    with pytest.raises(UserError, match="minutes must not be negative, got -1"):
        ResNetTraining(steps=1, minutes=-1, sources=(Source(kind="games", path="x", share=1),))
