"""Checkpoints: what goes in comes out to the bit, and what is damaged is refused."""

from __future__ import annotations

import json
import os
import pickle
from pathlib import Path
from typing import Any

import pytest

from tabiya.errors import UserError

torch = pytest.importorskip("torch")
safetensors_torch = pytest.importorskip("safetensors.torch")

from tabiya.learn.checkpoint import (  # noqa: E402
    checkpoint_path,
    checkpoint_step,
    checkpoints,
    keep_last,
    load_checkpoint,
    load_fitting,
    load_weights,
    newest_checkpoint,
    optimizer_groups,
    restore,
    save_checkpoint,
    state_tensors,
)
from tabiya.learn.schedule import Ema, learning_rate, named_state  # noqa: E402


class Run:
    """A tiny training run with all that a real one has: dropout, counters, groups, an average."""

    def __init__(self, seed: int, optimizer: str = "AdamW", device: str = "cpu", **settings: Any) -> None:
        self.device = device
        torch.manual_seed(seed)
        self.model = torch.nn.Sequential(
            torch.nn.Linear(6, 16),
            torch.nn.BatchNorm1d(16),
            torch.nn.ReLU(),
            torch.nn.Dropout(0.2),
            torch.nn.Linear(16, 3),
        ).to(device)
        weights = [p for p in self.model.parameters() if p.dim() > 1]
        others = [p for p in self.model.parameters() if p.dim() <= 1]
        groups = [{"params": weights, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}]
        if optimizer == "SGD":
            settings["momentum"] = 0.9
        self.optimizer = getattr(torch.optim, optimizer)(groups, lr=1e-2, **settings)
        self.ema = Ema(self.model, 0.9)

    def train(self, first: int, end: int) -> list[float]:
        losses = []
        for step in range(first, end):
            generator = torch.Generator().manual_seed(step)
            inputs = torch.randn(32, 6, generator=generator).to(self.device)
            for group in self.optimizer.param_groups:
                group["lr"] = learning_rate(step, steps=10, peak=1e-2, warmup_steps=3)
            loss = torch.nn.functional.mse_loss(self.model(inputs), inputs[:, :3])
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            self.ema.update(self.model)
            losses.append(loss.item())
        return losses

    def save(self, path: Path) -> None:
        tensors = state_tensors(model=self.model, ema=self.ema, optimizer=self.optimizer)
        save_checkpoint(path, tensors, {"groups": optimizer_groups(self.model, self.optimizer)})

    def resume(self, path: Path) -> None:
        tensors, metadata = load_checkpoint(path)
        restore(self.model, self.ema, self.optimizer, tensors, metadata["groups"])


def same(first: dict[str, Any], second: dict[str, Any]) -> bool:
    return first.keys() == second.keys() and all(
        tensor.dtype == second[name].dtype and torch.equal(tensor, second[name])
        for name, tensor in first.items()
    )


@pytest.mark.parametrize("optimizer", ["AdamW", "SGD", "RMSprop"])
def test_a_run_stopped_and_resumed_equals_one_that_was_not(tmp_path: Path, optimizer: str) -> None:
    whole = Run(1, optimizer)
    losses = whole.train(0, 5)
    whole.save(tmp_path / "half.safetensors")
    losses += whole.train(5, 10)

    resumed = Run(2, optimizer)  # another start, other moments, other random numbers
    resumed.train(0, 2)
    resumed.resume(tmp_path / "half.safetensors")
    assert resumed.train(5, 10) == losses[5:]
    assert same(
        state_tensors(model=whole.model, ema=whole.ema, optimizer=whole.optimizer),
        state_tensors(model=resumed.model, ema=resumed.ema, optimizer=resumed.optimizer),
    )
    assert optimizer_groups(whole.model, whole.optimizer) == optimizer_groups(
        resumed.model, resumed.optimizer
    )


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")
@pytest.mark.parametrize("fused", [False, True])
def test_a_run_on_a_gpu_resumes_with_its_counters_and_generators(tmp_path: Path, fused: bool) -> None:
    whole, resumed = Run(1, device="cuda", fused=fused), Run(2, device="cuda", fused=fused)
    losses = whole.train(0, 5)
    whole.save(tmp_path / "half.safetensors")
    losses += whole.train(5, 10)
    resumed.resume(tmp_path / "half.safetensors")
    assert resumed.train(5, 10) == losses[5:]
    assert same(named_state(whole.model), named_state(resumed.model))


def test_the_optimizer_is_stored_by_the_names_of_its_parameters() -> None:
    run = Run(1)
    run.train(0, 1)
    names = set(state_tensors(model=run.model, ema=run.ema, optimizer=run.optimizer))
    assert {
        "model.0.weight",
        "model.1.running_mean",
        "ema.0.weight",
        "ema.updates",
        "optimizer.0.weight.step",
        "optimizer.0.weight.exp_avg",
        "optimizer.4.bias.exp_avg_sq",
        "rng.cpu",
    } <= names
    groups = optimizer_groups(run.model, run.optimizer)
    assert [group["params"] for group in groups] == [
        ["0.weight", "4.weight"],
        ["0.bias", "1.weight", "1.bias", "4.bias"],
    ]


def test_the_groups_come_back_through_json_as_they_were() -> None:
    run, other = Run(1), Run(2)
    run.optimizer.param_groups[0]["lr"] = 0.1 + 0.2
    stored = json.loads(json.dumps(optimizer_groups(run.model, run.optimizer)))
    restore(other.model, None, other.optimizer, state_tensors(model=run.model), stored)
    group = other.optimizer.param_groups[0]
    assert (group["lr"], group["betas"], group["weight_decay"]) == (0.1 + 0.2, (0.9, 0.999), 0.1)


def test_a_rate_kept_as_a_tensor_is_set_in_place() -> None:
    run = Run(1)
    rate = torch.tensor(0.25)
    run.optimizer.param_groups[0]["lr"] = rate
    groups = json.loads(json.dumps(optimizer_groups(run.model, run.optimizer)))
    tensors = {name: tensor.clone() for name, tensor in state_tensors(model=run.model).items()}
    rate.fill_(0.0)
    restore(run.model, None, run.optimizer, tensors, groups)
    assert run.optimizer.param_groups[0]["lr"] is rate
    assert rate.item() == 0.25


def test_a_compiled_model_resumes_a_plain_ones_checkpoint(tmp_path: Path) -> None:
    plain, compiled = Run(1), Run(2)
    plain.train(0, 2)
    plain.save(tmp_path / "a.safetensors")
    compiled.model = torch.compile(compiled.model, backend="eager")
    compiled.resume(tmp_path / "a.safetensors")
    assert same(
        state_tensors(model=plain.model, optimizer=plain.optimizer),
        state_tensors(model=compiled.model, optimizer=compiled.optimizer),
    )


def test_loading_weights_alone_prefers_the_average_and_leaves_the_generators() -> None:
    run, player = Run(1), Run(2)
    run.train(0, 3)
    tensors = state_tensors(model=run.model, ema=run.ema, optimizer=run.optimizer)
    before = torch.get_rng_state()
    torch.rand(1)
    after = torch.get_rng_state()
    load_weights(player.model, tensors)
    average = run.ema.state()
    assert all(torch.equal(tensor, average[name]) for name, tensor in named_state(player.model).items())
    load_weights(player.model, tensors, average=False)
    assert same(named_state(player.model), named_state(run.model))
    load_weights(player.model, state_tensors(model=run.model))
    assert same(named_state(player.model), named_state(run.model))
    assert torch.equal(torch.get_rng_state(), after)
    assert not torch.equal(before, after)


@pytest.mark.parametrize(
    ("change", "answer"),
    [
        (lambda tensors: tensors.pop("model.0.weight"), "it lacks '0.weight'"),
        (lambda tensors: tensors.pop("ema.4.bias"), "average does not fit this network: it lacks '4.bias'"),
        (lambda tensors: tensors.update({"model.9.w": torch.zeros(1)}), "it has an unknown '9.w'"),
        (lambda tensors: tensors.update({"optimizer.9.w.step": torch.zeros(())}), "trained '9.w'"),
    ],
)
def test_a_checkpoint_of_another_network_is_refused_and_changes_nothing(change: Any, answer: str) -> None:
    run, other = Run(1), Run(2)
    other.train(0, 1)
    tensors = state_tensors(model=other.model, ema=other.ema, optimizer=other.optimizer)
    change(tensors)
    now = state_tensors(model=run.model, ema=run.ema, optimizer=run.optimizer)
    before = {name: tensor.clone() for name, tensor in now.items()}
    with pytest.raises(UserError, match=answer):
        restore(run.model, run.ema, run.optimizer, tensors)
    assert same(before, state_tensors(model=run.model, ema=run.ema, optimizer=run.optimizer))


def test_groups_of_another_run_are_refused() -> None:
    run = Run(1)
    groups = optimizer_groups(run.model, run.optimizer)
    for other in (groups[:1], groups[::-1]):
        with pytest.raises(UserError, match="groups its parameters differently"):
            restore(run.model, None, run.optimizer, state_tensors(model=run.model), other)


TENSORS = {
    "half": torch.tensor([1.0, float("nan"), -0.0], dtype=torch.bfloat16),
    "scalar": torch.tensor(3.5),
    "empty": torch.zeros(0, 4),
    "flags": torch.tensor([True, False]),
    "bytes": torch.arange(7, dtype=torch.uint8),
    "turned": torch.arange(12).reshape(3, 4).T,
}
TENSORS["twin"] = TENSORS["scalar"]


def test_every_kind_of_tensor_and_metadata_comes_back(tmp_path: Path) -> None:
    metadata = {"step": 7, "config": {"blocks": 12, "peak": 0.1, "seed": None}, "name": "Läufer"}
    save_checkpoint(tmp_path / "deep/er/a.safetensors", TENSORS, metadata)
    tensors, read = load_checkpoint(tmp_path / "deep/er/a.safetensors")
    assert read == metadata
    assert tensors.keys() == TENSORS.keys()
    for name, tensor in TENSORS.items():
        torch.testing.assert_close(tensors[name], tensor, rtol=0, atol=0, equal_nan=True)


def test_equal_states_give_equal_files(tmp_path: Path) -> None:
    for name in ("a", "b"):
        save_checkpoint(tmp_path / name, dict(sorted(TENSORS.items(), reverse=name == "b")), {"step": 1})
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_a_checkpoint_that_fails_to_be_written_leaves_the_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.safetensors"
    save_checkpoint(path, TENSORS, {"step": 1})

    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(UserError, match=r"cannot write .*a\.safetensors: No space left on device"):
        save_checkpoint(path, TENSORS, {"step": 2})
    assert load_checkpoint(path)[1] == {"step": 1}
    assert os.listdir(tmp_path) == ["a.safetensors"]


def test_a_checkpoint_cut_off_anywhere_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.safetensors"
    save_checkpoint(path, TENSORS, {})
    content = path.read_bytes()
    for length in range(len(content)):
        path.write_bytes(content[:length])
        with pytest.raises(UserError) as caught:
            load_checkpoint(path)
        assert str(path) in str(caught.value)
        assert "\n" not in str(caught.value)


def test_a_checkpoint_with_any_byte_changed_is_refused_or_reads_the_same(tmp_path: Path) -> None:
    path = tmp_path / "a.safetensors"
    metadata = {"step": 12345, "peak": 0.001}
    save_checkpoint(path, TENSORS, metadata)
    content = path.read_bytes()
    header = 8 + int.from_bytes(content[:8], "little")
    harmless = []  # white space at most
    for place in range(len(content)):
        path.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
        try:
            tensors, read = load_checkpoint(path)
        except UserError:
            continue
        harmless.append(place)
        assert (tensors.keys(), read) == (TENSORS.keys(), metadata)
    assert all(place < header for place in harmless)
    assert len(harmless) < 20


@pytest.mark.parametrize("content", [b"", b"{}", b"\x80\x04." * 40, b"PK\x03\x04" * 40, bytes(200)])
def test_what_is_no_checkpoint_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.safetensors"
    path.write_bytes(content)
    with pytest.raises(UserError, match=r"a\.safetensors is (damaged or )?no checkpoint"):
        load_checkpoint(path)


def test_a_file_or_folder_that_is_not_one_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"^no checkpoint .*none\.safetensors$"):
        load_checkpoint(tmp_path / "none.safetensors")
    with pytest.raises(UserError, match="damaged or no checkpoint"):
        load_checkpoint(tmp_path)


@pytest.mark.parametrize(
    ("header", "answer"),
    [
        (None, "is no checkpoint of tabiya"),
        ("{", "is no checkpoint of tabiya"),
        ("[]", "is no checkpoint of tabiya"),
        ('{"format": "other", "version": 1}', "is no checkpoint of tabiya"),
        ('{"format": "tabiya-checkpoint", "version": 2}', "is a checkpoint of version 2, 1 is needed"),
        ('{"format": "tabiya-checkpoint", "version": 1}', "its metadata is incomplete"),
    ],
)
def test_a_safetensors_file_of_another_kind_is_refused(
    tmp_path: Path, header: str | None, answer: str
) -> None:
    path = tmp_path / "a.safetensors"
    safetensors_torch.save_file({"a": torch.zeros(1)}, path, header and {"tabiya": header})
    with pytest.raises(UserError, match=answer):
        load_checkpoint(path)


def test_the_newest_checkpoint_is_that_of_the_highest_step(tmp_path: Path) -> None:
    assert newest_checkpoint(tmp_path / "none") is None
    assert newest_checkpoint(tmp_path) is None
    for step in (1000, 20, 123456789, 3):
        checkpoint_path(tmp_path, step).touch()
    for other in ("step-7.safetensors", "step-99999999999.onnx", ".step-00009999.safetensors.1.part", "best"):
        (tmp_path / other).touch()
    assert checkpoint_path(tmp_path, 1000).name == "step-00001000.safetensors"
    assert [checkpoint_step(path) for path in checkpoints(tmp_path)] == [3, 20, 1000, 123456789]
    assert newest_checkpoint(tmp_path) == checkpoint_path(tmp_path, 123456789)


def test_only_the_last_checkpoints_are_kept_and_nothing_else_is_touched(tmp_path: Path) -> None:
    for step in (1, 2, 3, 4):
        checkpoint_path(tmp_path, step).touch()
    (tmp_path / "best.safetensors").touch()
    assert keep_last(tmp_path, 2) == [checkpoint_path(tmp_path, 1), checkpoint_path(tmp_path, 2)]
    assert keep_last(tmp_path, 5) == []
    assert sorted(os.listdir(tmp_path)) == [
        "best.safetensors",
        "step-00000003.safetensors",
        "step-00000004.safetensors",
    ]
    with pytest.raises(UserError, match="at least one"):
        keep_last(tmp_path, 0)


def test_nothing_is_pickled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_arguments: Any, **_names: Any) -> None:
        raise AssertionError("a pickle was used")

    for name in ("dump", "dumps", "load", "loads", "Pickler", "Unpickler"):
        monkeypatch.setattr(pickle, name, refuse)
    run = Run(1)
    run.train(0, 1)
    run.save(tmp_path / "a.safetensors")
    run.resume(tmp_path / "a.safetensors")
    assert run.ema.updates == 1


def test_moments_come_back_in_their_parameter_s_memory_layout(tmp_path):
    # A fused optimizer refuses a run in channels-last layout whose moments are in another.
    def new_run():
        model = torch.nn.Conv2d(4, 8, 3).to(memory_format=torch.channels_last)
        return model, torch.optim.AdamW(model.parameters())

    model, optimizer = new_run()
    model(torch.ones(1, 4, 5, 5)).sum().backward()
    optimizer.step()
    save_checkpoint(tmp_path / "c.safetensors", state_tensors(model=model, optimizer=optimizer), {})
    again, its_optimizer = new_run()
    restore(again, None, its_optimizer, load_checkpoint(tmp_path / "c.safetensors")[0])
    moments = its_optimizer.state[again.weight]
    assert moments["exp_avg"].stride() == again.weight.stride() == model.weight.stride()
    assert torch.equal(moments["exp_avg"], optimizer.state[model.weight]["exp_avg"])


def test_what_fits_another_network_is_taken_and_the_rest_is_named():
    first = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Linear(4, 2))
    second = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Linear(4, 5))
    before = second[1].weight.detach().clone()
    fresh = load_fitting(second, state_tensors(model=first, rng=False))
    assert fresh == ["1.bias", "1.weight"]
    assert torch.equal(second[0].weight, first[0].weight)
    assert torch.equal(second[1].weight, before)
    with pytest.raises(UserError, match="nothing in common"):
        load_fitting(torch.nn.Conv2d(1, 1, 1), state_tensors(model=first, rng=False))
