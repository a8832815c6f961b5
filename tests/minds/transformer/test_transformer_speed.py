"""The measurement of speed: every rate is there, and a way that cannot be says why."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch")

from tabiya.learn.config import config_from_dict
from tabiya.minds.transformer.plan import TransformerTraining
from tabiya.minds.transformer.speed import by_kernel, compare, measure
from tabiya.minds.transformer.training import Run

TINY = {
    "steps": 4,
    "batch": 8,
    "device": "cpu",
    "bf16": False,
    "compile": False,
    "padded_rows": 0,
    "shape": {"layers": 1, "width": 16, "heads": 2},
}


def test_fed_and_synthetic_rates_are_measured_in_turns(tmp_path: Path, labels: Path):
    source = {"kind": "labels", "path": str(labels), "share": 1.0}
    config = config_from_dict({**TINY, "sources": [source]}, TransformerTraining)
    figures = measure(Run(config, tmp_path / "run"), steps=2, rounds=2)
    for name in ("synthetic", "fed_once", "fed"):
        assert len(figures[f"{name}_per_second"]) == 2
        assert min(figures[f"{name}_per_second"]) > 0
    assert figures["rows"] == 85
    assert figures["share"] > 0


def test_every_way_has_a_rate_or_a_reason(labels: Path):
    source = {"kind": "labels", "path": str(labels), "share": 1.0}
    config = config_from_dict({**TINY, "sources": [source]}, TransformerTraining)
    found = {(each["attention"], each["padded_rows"]): each for each in compare(config, steps=1)}
    assert {("plain", 0), ("plain", 88), ("sdpa", 96), ("flex", 0), ("fused", 0)} <= set(found)
    assert found["plain", 88]["per_second"] > 0
    assert "needs a GPU" in found["fused", 0]["error"]


def test_a_step_is_told_by_what_it_spends_its_time_on(tmp_path: Path, labels: Path):
    source = {"kind": "labels", "path": str(labels), "share": 1.0}
    config = config_from_dict({**TINY, "sources": [source]}, TransformerTraining)
    found = by_kernel(Run(config, tmp_path / "run"), steps=2, most=200)
    assert any("mm" in each["kernel"] for each in found)
    assert [each["ms"] for each in found] == sorted((each["ms"] for each in found), reverse=True)
    assert 0.9 < sum(each["share"] for each in found) <= 1.001


def test_the_fastest_division_of_every_kernel_is_put_in_use(monkeypatch: pytest.MonkeyPatch):
    pytest.importorskip("triton")
    from tabiya.minds.transformer import divisions, kernel, product_kernel

    monkeypatch.setattr(kernel, "LAUNCHES", dict(kernel.LAUNCHES))
    monkeypatch.setattr(product_kernel, "TILE", product_kernel.TILE)

    def clock(_run: object) -> float:
        forward, queries, keys = kernel.launches_of(85)
        if forward.part == 128:
            raise RuntimeError("out of shared memory")
        wanted = (forward.part == 64, forward.programs == 24, queries.holds, keys.registers == 168)
        return 5.0 - sum(wanted)

    shape = config_from_dict(
        {**TINY, "sources": [{"kind": "labels", "path": "x", "share": 1.0}]}, TransformerTraining
    ).shape
    found = divisions.tune(shape, boards=1, clock=clock)
    forward, queries, keys = kernel.launches_of(85)
    assert (forward.part, forward.programs, queries.holds, keys.registers) == (64, 24, True, 168)
    assert found["product"][0].division == product_kernel.TILE
    assert found["forward"][-1].ms == float("inf")
    lines = divisions.as_lines(found, most=1)
    assert [line["kernel"] for line in lines] == ["forward", "queries", "keys", "product"]
    assert lines[0]["ms"] == min(timed.ms for timed in found["forward"])
