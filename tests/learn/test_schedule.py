"""The learning rate at its corner points, and the average of the weights."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from tabiya.errors import UserError

torch = pytest.importorskip("torch")

from tabiya.learn.schedule import Ema, learning_rate, named_state  # noqa: E402

CORNERS = [
    ("cosine", 0, 0.1),
    ("cosine", 8, 0.9),
    ("cosine", 9, 1.0),
    ("cosine", 59, 0.55),
    ("cosine", 109, 0.1),
    ("cosine", 999, 0.1),
    ("linear", 0, 0.1),
    ("linear", 9, 1.0),
    ("linear", 59, 0.55),
    ("linear", 109, 0.1),
    ("linear", 999, 0.1),
    ("constant", 0, 0.1),
    ("constant", 9, 1.0),
    ("constant", 87, 1.0),
    ("constant", 98, 0.55),
    ("constant", 109, 0.1),
    ("constant", 999, 0.1),
]


@pytest.mark.parametrize(("kind", "step", "share"), CORNERS)
def test_the_rate_at_its_corner_points(kind: Any, step: int, share: float) -> None:
    rate = learning_rate(step, steps=109, peak=2.0, warmup_steps=9, final_fraction=0.1, kind=kind)
    assert rate == pytest.approx(2.0 * share)


def test_the_rate_rises_then_falls_and_never_stands_at_zero() -> None:
    rates = [learning_rate(step, steps=100, peak=1.0, warmup_steps=20) for step in range(100)]
    assert rates[:21] == sorted(rates[:21])
    assert rates[20:] == sorted(rates[20:], reverse=True)
    assert min(rates) > 0
    assert max(rates) == rates[20] == 1.0


def test_a_run_without_warm_up_begins_at_its_peak() -> None:
    assert learning_rate(0, steps=10, peak=3.0, warmup_steps=0) == 3.0


def test_a_constant_rate_without_cool_down_stays() -> None:
    rate = partial(learning_rate, steps=10, peak=3.0, warmup_steps=0, kind="constant", cooldown=0.0)
    assert {rate(step) for step in range(11)} == {3.0}


def test_a_cool_down_never_reaches_into_the_warm_up() -> None:
    rate = partial(learning_rate, steps=10, peak=1.0, warmup_steps=5, kind="constant", cooldown=1.0)
    assert [rate(step) for step in (4, 5, 10)] == pytest.approx([5 / 6, 1.0, 0.0])


@pytest.mark.parametrize("warmup", [-1, 10, 11])
def test_a_warm_up_as_long_as_the_run_is_refused(warmup: int) -> None:
    with pytest.raises(UserError, match=f"warmup_steps must be .* 10 steps of the run, not {warmup}"):
        learning_rate(0, steps=10, peak=1.0, warmup_steps=warmup)


def small_model() -> Any:
    torch.manual_seed(3)
    return torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4))


def shift(model: Any, amount: float) -> None:
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(amount)


def test_the_average_follows_its_formula_and_copies_counters() -> None:
    model = small_model()
    ema = Ema(model, decay=0.15)
    expected = {name: tensor.clone() for name, tensor in named_state(model).items()}
    for decay in (1 / 10, 0.15, 0.15):  # the second would be 2/11: past the decay already
        shift(model, 0.5)
        model(torch.randn(8, 3))
        ema.update(model)
        for name, tensor in named_state(model).items():
            expected[name] = (
                decay * expected[name] + (1 - decay) * tensor if tensor.is_floating_point() else tensor
            )
    state = ema.state()
    assert state["1.num_batches_tracked"] == 3
    for name, tensor in expected.items():
        torch.testing.assert_close(state[name], tensor)


def test_a_change_of_the_model_leaves_the_average_alone() -> None:
    model = small_model()
    ema = Ema(model)
    before = {name: tensor.clone() for name, tensor in ema.state().items()}
    shift(model, 1.0)
    assert all(torch.equal(tensor, before[name]) for name, tensor in ema.state().items())


def test_the_average_can_be_written_into_another_model() -> None:
    model, other = small_model(), small_model()
    ema = Ema(model)
    shift(other, 1.0)
    ema.copy_to(other)
    for name, tensor in named_state(other).items():
        assert torch.equal(tensor, named_state(model)[name])


def test_an_average_taken_up_again_goes_on_as_if_never_put_down() -> None:
    model = small_model()
    whole, first, second = Ema(model), Ema(model), Ema(model)
    for number in range(6):
        shift(model, 0.25)
        whole.update(model)
        if number == 3:
            second.load({name: tensor.clone() for name, tensor in first.state().items()})
        (first if number < 3 else second).update(model)
    assert second.updates == 6
    for name, tensor in whole.state().items():
        assert torch.equal(tensor, second.state()[name])


def _without(state: dict[str, Any]) -> None:
    del state["0.bias"]


def _with_another(state: dict[str, Any]) -> None:
    state["2.bias"] = state["0.bias"]


def _reshaped(state: dict[str, Any]) -> None:
    state["0.bias"] = torch.zeros(5)


def _retyped(state: dict[str, Any]) -> None:
    state["0.bias"] = state["0.bias"].half()


@pytest.mark.parametrize(
    ("spoil", "answer"),
    [
        (_without, "lacks '0.bias'"),
        (_with_another, "has an unknown '2.bias'"),
        (_reshaped, "has another shape or type of '0.bias'"),
        (_retyped, "has another shape or type of '0.bias'"),
    ],
)
def test_an_average_of_another_network_is_refused_and_changes_nothing(
    spoil: Callable[[dict[str, Any]], None], answer: str
) -> None:
    ema = Ema(small_model())
    before = {name: tensor.clone() for name, tensor in ema.state().items()}
    other = {name: tensor + 1 for name, tensor in before.items()}
    spoil(other)
    with pytest.raises(UserError, match=answer):
        ema.load(other)
    assert all(torch.equal(tensor, before[name]) for name, tensor in ema.state().items())


def test_a_compiled_model_has_the_names_of_the_plain_one() -> None:
    plain = small_model()
    names = list(named_state(plain))
    whole = torch.compile(small_model(), backend="eager")
    part = small_model()
    part[0] = torch.compile(part[0], backend="eager")
    assert "_orig_mod.0.weight" in whole.state_dict()
    assert list(named_state(whole)) == list(named_state(part)) == names
    ema = Ema(whole)
    shift(whole, 1.0)
    ema.update(whole)
    ema.copy_to(plain)
    expected = 0.1 * small_model()[0].weight + 0.9 * whole.state_dict()["_orig_mod.0.weight"]
    torch.testing.assert_close(plain[0].weight, expected)


@pytest.mark.parametrize("decay", [-0.1, 1.0, 1.5])
def test_a_decay_that_never_forgets_or_worse_is_refused(decay: float) -> None:
    with pytest.raises(UserError, match=f"not {decay}"):
        Ema(small_model(), decay)
