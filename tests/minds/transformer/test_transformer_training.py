"""Training: losses by hand, refinement, a curriculum, a run that learns, a kill that changes nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from tabiya import _core  # noqa: E402
from tabiya.errors import UserError  # noqa: E402
from tabiya.learn.checkpoint import load_checkpoint, newest_checkpoint  # noqa: E402
from tabiya.learn.config import config_from_dict, load_config  # noqa: E402
from tabiya.learn.feed import Source  # noqa: E402
from tabiya.learn.log import read_log  # noqa: E402
from tabiya.learn.stepper import PLAIN_STEPS  # noqa: E402
from tabiya.learn.token_tables import TokenTable, load_tokens  # noqa: E402
from tabiya.minds.transformer.loss import LossWeights, first_pass, second_pass  # noqa: E402
from tabiya.minds.transformer.network import Outputs  # noqa: E402
from tabiya.minds.transformer.plan import TransformerTraining  # noqa: E402
from tabiya.minds.transformer.refinement import likeliest, with_slots  # noqa: E402
from tabiya.minds.transformer.rights import move_squares  # noqa: E402
from tabiya.minds.transformer.tokens import renumbered, tokens_of  # noqa: E402
from tabiya.minds.transformer.training import Run, train  # noqa: E402

CONFIG = """
mind = "transformer"
steps = {steps}
batch = 32
warmup_steps = 2
device = "cpu"
bf16 = false
compile = false
padded_rows = 0
refine_share = 0.5
report_steps = 1
validate_steps = 1000
checkpoint_steps = 3
[shape]
layers = 1
width = 16
heads = 2
mlp_ratio = 1.0
value_hidden = 8
{more}
"""
SOURCES = """
[[sources]]
kind = "games"
path = "{games}"
share = 0.4
[[sources]]
kind = "labels"
path = "{labels}"
share = 0.3
[[sources]]
kind = "successors"
path = "{labels}"
share = 0.3
"""
CPU = torch.device("cpu")
START = torch.from_numpy(np.frombuffer(_core.Board().packed(), np.uint8).copy()).reshape(1, 32)


@pytest.fixture
def config(tmp_path: Path, games: Path, labels: Path) -> Path:
    path = tmp_path / "tiny.toml"
    path.write_text(CONFIG.format(steps=9, more=SOURCES.format(games=games, labels=labels)))
    return path


def outputs(policy: torch.Tensor) -> Outputs:
    count = len(policy)
    return Outputs(policy, torch.zeros(count, 3), torch.zeros(count, 64), torch.zeros(count, 13), None)


def played(legal: list[int], slot: int) -> TokenTable:
    row = torch.tensor([[*legal, -1]], dtype=torch.int16)
    return TokenTable("games", START, legal=row, target=torch.tensor([slot]).short())


def policy_loss(policy: torch.Tensor, part: TokenTable, mask: bool) -> dict[str, torch.Tensor]:
    weights = LossWeights(mask_illegal=mask)
    return first_pass(outputs(policy), tokens_of(START, True), part, weights, move_squares())


def test_illegal_moves_enter_the_policy_loss_only_where_they_are_not_masked():
    policy = torch.zeros(1, 1968)
    policy[0, 3], policy[0, 7], policy[0, 100] = 1.0, 2.0, 5.0
    part = played([3, 7], 1)
    masked = policy_loss(policy, part, True)
    legal, every = np.exp(1) + np.exp(2), np.exp(1) + np.exp(2) + np.exp(5) + 1965
    assert float(masked["policy"]) == pytest.approx(-np.log(np.exp(2) / legal), rel=1e-5)
    bare = policy_loss(policy, part, False)
    assert float(bare["policy"]) == pytest.approx(-np.log(np.exp(2) / every), rel=1e-5)
    for figures in (masked, bare):
        assert float(figures["policy_illegal"]) == pytest.approx(1 - legal / every, rel=1e-4)
        assert float(figures["policy_top1"]) == 1.0


def test_the_three_likeliest_legal_moves_fill_the_slots():
    policy = torch.zeros(2, 1968)
    policy[:, [10, 20, 30, 40]] = torch.tensor([1.0, 4.0, 3.0, 2.0])
    policy[:, 50] = 9.0  # illegal, however splendid
    legal = torch.tensor([[10, 20, 30, 40], [10, 20, -1, -1]], dtype=torch.int16)
    again = torch.tensor([[4 * 2 + 1, -1], [4 * 0 + 2, 4 * 1 + 1]], dtype=torch.int16)
    slots = likeliest(policy, legal, again)
    assert slots.moves.tolist() == [[21, 31, 41], [21, 11, 0]]
    assert slots.again.tolist()[0] == [0, 1, 0]
    assert slots.again.tolist()[1][:2] == [1, 2]
    raised = np.exp([4.0, 3.0, 2.0])
    assert slots.probability[0].tolist() == pytest.approx((raised / (raised.sum() + np.exp(1))).tolist())
    assert slots.probability[1, 2] == 0
    assert with_slots(tokens_of(START.expand(2, 32), True), slots)[:, 81:].tolist() == slots.moves.tolist()


def test_the_second_pass_learns_only_where_the_right_move_is_among_its_three():
    policy = torch.zeros(1, 1968)
    policy[0, [10, 20, 30]] = torch.tensor([3.0, 2.0, 1.0])
    legal = [10, 20, 30, 40]
    refined = torch.tensor([[0.0, 1.0, 0.0]])
    part = played(legal, 1)
    figures = second_pass(refined, likeliest(policy, part.legal, None), part, LossWeights(refinement=1.0))
    assert float(figures["refined"]) == pytest.approx(-np.log(np.e / (np.e + 2)), rel=1e-5)
    assert (float(figures["refined_top1"]), float(figures["unrefined_top1"])) == (1.0, 0.0)
    outside = played(legal, 3)
    figures = second_pass(refined, likeliest(policy, outside.legal, None), outside, LossWeights())
    assert float(figures["refined"]) == 0.0


@pytest.mark.parametrize(("flipped", "view"), [(True, "mover"), (False, "white")])
def test_a_table_names_the_played_move_in_the_uci_space(games: Path, flipped: bool, view: str):
    source = Source(kind="games", path=str(games), share=1.0)
    table = load_tokens(source, "train", CPU, lambda legal, packed: renumbered(legal, packed, flipped))
    records = np.fromfile(games / "one.train.pos", _dtype())
    assert table.legal is not None
    assert table.target is not None
    chosen = table.legal.gather(1, table.target[:, None].long())[:, 0].numpy()
    packed = np.ascontiguousarray(records["packed"])
    assert np.array_equal(
        chosen, _core.move_indices(packed, np.ascontiguousarray(records["move"]), "uci", view)
    )
    assert table.again is not None
    assert table.again.shape == (len(records), 2)


def _dtype() -> np.dtype:
    from tabiya.data.shards import RECORD

    return RECORD


def test_a_run_learns_and_its_second_pass_too(config: Path, tmp_path: Path):
    text = config.read_text().replace("steps = 9", "peak_rate = 0.01\nsteps = 150")
    config.write_text(text.replace("checkpoint_steps = 3", "checkpoint_steps = 1000"))
    figures = train(config, tmp_path / "run")
    log = [line for line in read_log(tmp_path / "run") if "loss" in line]
    assert np.mean([line["loss"] for line in log[-10:]]) < 0.85 * np.mean([line["loss"] for line in log[:10]])
    assert "labels_refined" in log[-1]
    assert "games_rights" in log[-1]
    assert "successors_bins" in log[-1]
    held_out = [line for line in read_log(tmp_path / "run") if "validation_games_policy" in line]
    assert held_out[-1]["step"] == 150
    assert Path(figures["network"]).exists()


CHILD = """
import sys, time
from pathlib import Path
from tabiya.learn.config import load_config
from tabiya.minds.transformer.plan import TransformerTraining
from tabiya.minds.transformer.training import Run
plain = Run.one_step
def slow(self, *given):
    time.sleep(0.15)
    return plain(self, *given)
Run.one_step = slow
Run(load_config(sys.argv[1], TransformerTraining), Path(sys.argv[2])).train()
"""


def test_a_run_asks_for_the_device_once_it_is_warm_and_its_waiting_is_not_counted(
    config: Path, tmp_path: Path
):
    run = Run(load_config(config, TransformerTraining), tmp_path / "run")
    held: list[int] = []

    @contextmanager
    def turn() -> Iterator[None]:
        time.sleep(0.5)
        held.append(run.step)
        yield
        held.append(run.step)

    run.device_turn = turn
    began = time.monotonic()
    run.train()
    assert held == [PLAIN_STEPS + 1, run.config.steps]
    assert read_log(run.folder)[-1]["seconds"] < time.monotonic() - began - 0.5


def test_kill_nine_and_the_resumed_run_ends_equal_to_the_bit(config: Path, tmp_path: Path):
    settings = load_config(config, TransformerTraining)
    Run(settings, tmp_path / "whole").train()
    killed = tmp_path / "killed"
    command = [sys.executable, "-c", CHILD, str(config), str(killed)]
    process = subprocess.Popen(command, env=os.environ | {"OMP_NUM_THREADS": "1"})
    target = killed / "step-00000003.safetensors"
    deadline = time.monotonic() + 300
    while not target.exists() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.02)
    assert process.poll() is None
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert newest_checkpoint(killed) != newest_checkpoint(tmp_path / "whole")
    Run(settings, killed).train()
    ours, theirs = (load_checkpoint(newest_checkpoint(tmp_path / name))[0] for name in ("killed", "whole"))
    assert ours.keys() == theirs.keys()
    assert all(torch.equal(ours[name], theirs[name]) for name in ours if not name.startswith("rng."))
    curves = [
        [(line["step"], line["loss"]) for line in read_log(tmp_path / name) if "loss" in line]
        for name in ("killed", "whole")
    ]
    assert curves[0] == curves[1]


def test_a_curriculum_goes_through_its_buckets_in_turn(tmp_path: Path, games: Path):
    # Ten games rated 1000, 1010, … 1090: three below 1030, seven above.
    buckets = "".join(
        f'[[curriculum]]\npath = "{games}"\nlow = {low}\nhigh = {high}\nname = "{name}"\n'
        for low, high, name in ((1000, 1030, "weak"), (1030, 3000, "strong"))
    )
    path = tmp_path / "curriculum.toml"
    path.write_text(CONFIG.format(steps=12, more=buckets))
    run = Run(load_config(path, TransformerTraining), tmp_path / "run")
    weak = run.load(run.config.curriculum[0].source, "train", run.config.curriculum[0].ratings)
    assert 150 < len(weak) <= 180
    end = -(-len(weak) // 32)
    run.train()
    log = [line for line in read_log(tmp_path / "run") if "loss" in line]
    assert [line["step"] for line in log if "weak_policy" in line] == list(range(1, end + 1))
    assert [line["step"] for line in log if "strong_policy" in line] == list(range(end + 1, 13))


def test_an_empty_bucket_is_named(tmp_path: Path, games: Path):
    path = tmp_path / "empty.toml"
    path.write_text(CONFIG.format(steps=2, more=f'[[curriculum]]\npath = "{games}"\nlow = 2500\n'))
    with pytest.raises(UserError, match="no train positions rated 2500"):
        Run(load_config(path, TransformerTraining), tmp_path / "run").train()


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"shape": {"width": 100, "heads": 8}}, "cannot be shared by 8 heads"),
        ({"shape": {"layers": 2, "feedback": [{"from_block": 3, "to_block": 1}]}}, "there are 2"),
        ({"shape": {"feedback": [{"from_block": 1, "to_block": 2}]}}, "a wire goes back"),
        ({"padded_rows": 80}, "at least 85"),
        ({"attention": "fused", "device": "cpu"}, "needs a GPU"),
        ({"refine_share": 2.0}, "refine_share must lie between 0 and 1"),
        ({"sources": []}, "needs a source or a curriculum"),
        ({"shape": {"layerz": 2}}, "did you mean 'layers'"),
    ],
)
def test_a_setting_that_cannot_be_is_refused_in_one_sentence(changes: dict, sentence: str):
    source = {"kind": "labels", "path": "x", "share": 1.0}
    with pytest.raises(UserError, match=sentence):
        config_from_dict({"steps": 3, "sources": [source], **changes}, TransformerTraining)


def test_muon_trains_the_blocks_and_adam_the_rest(config: Path, tmp_path: Path):
    config.write_text('optimizer = "muon"\n' + config.read_text())
    run = Run(load_config(config, TransformerTraining), tmp_path / "run")
    groups = run.optimizer.param_groups
    assert [group["matrices"] for group in groups] == [True, False, False]
    assert sum(len(group["params"]) for group in groups) == len(list(run.network.parameters()))
    shapes = {tuple(parameter.shape) for parameter in groups[0]["params"]}
    assert shapes == {(48, 16), (16, 16)}
    before = run.network.embedding.pieces.detach().clone()
    run.train_to(2, run.feed([run.load(s, "train") for s in run.config.sources]), [], _Silent())
    assert not torch.equal(before, run.network.embedding.pieces)


class _Silent:
    def report(self, *_step, **_figures) -> None: ...


def test_a_networks_own_labels_teach_the_moves_and_not_the_value(tmp_path: Path, games: Path):
    from tabiya.cli import main
    from tabiya.data.labels import load_move_labels
    from tabiya.learn.checkpoint import save_checkpoint
    from tabiya.minds.resnet.network import ResNet, ResNetShape

    shape = {"blocks": 1, "channels": 8, "squeeze": 4}
    weights = ResNet(ResNetShape(blocks=1, channels=8, squeeze=4)).state_dict()
    network = tmp_path / "tiny.safetensors"
    save_checkpoint(network, {f"model.{k}": v for k, v in weights.items()}, {"config": {"shape": shape}})
    own = tmp_path / "own.moves"
    order = ["data", "value", str(games), "--network", str(network), "--out", str(own), "--device", "cpu"]
    assert main([*order, "--positions", "50", "--least", "0.01"]) == 0
    packed, offsets, scores = load_move_labels(own)
    assert len(np.unique(_core.position_keys(packed))) == len(packed) == 50
    assert (
        len(scores)
        == offsets[-1]
        == sum(len(_core.Board(fen).legal_moves()) for fen in _core.unpack_fens(packed))
    )
    assert main([*order[:-1], "cuda", "--positions", "0"]) == 2
    source = Source(kind="labels", path=str(own), share=1.0, values=False)
    table = load_tokens(source, "train", CPU, lambda legal, packed: renumbered(legal, packed, True))
    assert table.value is None
    assert table.q is not None
