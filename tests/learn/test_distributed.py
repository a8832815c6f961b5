"""Several processes train as one would: the same curve, the same weights, whoever was killed on the way."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from tabiya import _core  # noqa: E402
from tabiya.cli import main  # noqa: E402
from tabiya.data.labels import write_move_labels  # noqa: E402
from tabiya.errors import UserError  # noqa: E402
from tabiya.learn.checkpoint import load_checkpoint, newest_checkpoint  # noqa: E402
from tabiya.learn.distributed import Team  # noqa: E402
from tabiya.learn.log import read_log  # noqa: E402

# Batches whose parts two processes cannot share alike: 19 and 14 rows, 12 and 9 of them looked at again.
COMMON = """
steps = 12
batch = 33
peak_rate = 1e-3
warmup_steps = 2
device = "cpu"
bf16 = false
compile = false
report_steps = 1
validate_steps = 6
checkpoint_steps = 3
"""
SOURCES = """
[[sources]]
kind = "labels"
path = "{labels}"
share = 0.55
[[sources]]
kind = "successors"
path = "{labels}"
share = 0.45
"""
MINDS = {
    "resnet": """
optimizer = "muon"
[shape]
blocks = 1
channels = 8
squeeze = 4
value_channels = 4
value_hidden = 16
""",
    "transformer": """
padded_rows = 0
refine_share = 0.65
[shape]
layers = 1
width = 16
heads = 2
mlp_ratio = 1.0
value_hidden = 8
""",
    "nnue": """
[shape]
l1 = 16
l2 = 8
""",
}

# A process of torchrun that may kill itself before a step, and at the end writes down all that it has.
PROCESS = """
import hashlib, importlib, os, signal, sys
from pathlib import Path
from tabiya.cli import main
from tabiya.learn.checkpoint import state_tensors
mind, config, out, dies_at = sys.argv[1:]
training = importlib.import_module(f"tabiya.minds.{mind}.training")
step, train = training.Run.one_step, training.Run.train

def one_step(run, *given):
    if run.team.rank == 1 and run.step == int(dies_at):
        os.kill(os.getpid(), signal.SIGKILL)
    return step(run, *given)

def and_tell(run, minutes=None):
    figures = train(run, minutes)
    digest = hashlib.sha256()
    state = state_tensors(model=run.network, ema=run.ema, optimizer=run.optimizer, rng=False)
    for name in sorted(state):
        digest.update(state[name].contiguous().numpy().tobytes())
    Path(out).with_name(f"rank-{run.team.rank}").write_text(digest.hexdigest())
    return figures

training.Run.one_step, training.Run.train = one_step, and_tell
sys.exit(main(["train", config, "--out", out, "--json"]))
"""


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """As many as torchrun gives each process."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def written(folder: Path, mind: str) -> Path:
    positions = _core.random_positions(300, 11)
    offsets, _, _ = _core.successors(positions)
    chance = np.random.default_rng(0)
    labels = folder / "l.moves"
    write_move_labels(labels, (positions, offsets, chance.integers(-300, 300, offsets[-1]).astype(np.int16)))
    path = folder / "tiny.toml"
    path.write_text(f'mind = "{mind}"\n{COMMON}{MINDS[mind]}{SOURCES.format(labels=labels)}')
    return path


def torchrun(mind: str, config: Path, out: Path, dies_at: int = -1) -> subprocess.CompletedProcess[str]:
    """Train by two processes; the second kills itself before a step, if it is told to."""
    script = config.with_name("process.py")
    script.write_text(PROCESS)
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    command += map(str, (script, mind, config, out, dies_at))
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600)


def curve(run: Path, name: str = "loss") -> list[float]:
    return [line[name] for line in read_log(run) if name in line]


def follows(ours: Path, theirs: Path) -> None:
    """Two runs went the same way but for rounding: every report, and all that the last checkpoint holds."""
    a, b = read_log(ours), read_log(theirs)
    assert [line["step"] for line in a] == [line["step"] for line in b]
    untimed: list[list[dict[str, Any]]] = [
        [{k: v for k, v in line.items() if k not in ("seconds", "positions_per_second")} for line in log]
        for log in (a, b)
    ]
    for one, other in zip(*untimed, strict=True):
        assert one == pytest.approx(other, rel=1e-3, abs=1e-5)
    mine, yours = (load_checkpoint(newest_checkpoint(run))[0] for run in (ours, theirs))
    assert mine.keys() == yours.keys()
    # Taken together: a bias that softmax does not see learns from rounding alone.
    names = [name for name in mine if name.startswith(("model.", "ema."))]
    one, other = (torch.cat([some[name].flatten().double() for name in names]) for some in (mine, yours))
    assert float((one - other).norm() / other.norm()) < 1e-3


@pytest.mark.parametrize("mind", MINDS)
def test_two_processes_one_of_them_killed_follow_the_curve_of_one(mind: str, tmp_path: Path):
    config, together, one = written(tmp_path, mind), tmp_path / "together" / "run", tmp_path / "one"
    assert main(["train", str(config), "--out", str(one)]) == 0
    assert len(set(curve(one))) == 12

    killed = torchrun(mind, config, together, dies_at=7)
    assert killed.returncode != 0
    newest = newest_checkpoint(together)
    assert newest is not None
    assert newest.name == "step-00000006.safetensors", killed.stderr
    shutil.copytree(together, tmp_path / "then-one")

    resumed = torchrun(mind, config, together)
    assert resumed.returncode == 0, resumed.stderr
    follows(together, one)
    ranks = [(together.parent / f"rank-{rank}").read_text() for rank in (0, 1)]
    assert ranks[0] == ranks[1], "both processes hold the same weights, averages and moments, to the bit"
    assert resumed.stdout.count('"steps": 12') == 1, "one process speaks"
    written_by_one, written_by_two = ({path.name for path in run.glob("step-*")} for run in (one, together))
    assert written_by_two == written_by_one

    assert main(["train", str(config), "--out", str(tmp_path / "then-one")]) == 0
    follows(tmp_path / "then-one", one)


def test_the_rows_of_a_draw_are_divided_without_overlap_and_without_rest():
    rows = np.arange(11)
    parts = [Team(rank, 3).mine(rows) for rank in range(3)]
    assert sorted(np.concatenate(parts).tolist()) == rows.tolist()
    assert [len(part) for part in parts] == [Team(rank, 3).count(11) for rank in range(3)]


def test_the_first_rows_of_a_part_are_the_first_of_every_process_s_own():
    rows = np.arange(11)
    first = [Team(rank, 3).mine(rows)[: Team(rank, 3).count(5)] for rank in range(3)]
    assert sorted(np.concatenate(first).tolist()) == [0, 1, 2, 3, 4]


def test_a_batch_too_small_for_all_processes_is_refused():
    with pytest.raises(UserError, match="2 rows of a batch cannot be divided among 3 processes"):
        Team(0, 3).divide([30, 2])


def test_rows_made_ahead_are_divided_as_those_that_lie_on_the_device(tmp_path: Path, monkeypatch):
    from tabiya._core import FeatureSet
    from tabiya.minds.nnue.data import Features, StreamedFeed
    from tabiya.minds.nnue.sources import Samples

    packed = _core.random_positions(50, 3)
    value = np.arange(50, dtype=np.float32)
    samples = Samples(packed[:, None], value, np.zeros(50, np.int8))
    drawn = []
    for team in (Team(), Team(0, 2), Team(1, 2)):
        monkeypatch.setattr("tabiya.learn.distributed._current", team)
        feed = StreamedFeed([samples], Features(FeatureSet("ALL"), [samples], 1), [9], 0, torch.device("cpu"))
        drawn.append(feed.take(feed.draw(3)).value.tolist())
        feed.close()
    whole, first, second = drawn
    assert (first, second) == (whole[::2], whole[1::2])
