"""What an executor costs, as it is measured; the figures themselves are nobody's claim here."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tabiya.bench.scaling import jobs, measure
from tabiya.errors import UserError

FAKE = Path(__file__).parents[1] / "data" / "fake_teacher.py"


def test_both_executors_do_all_units_of_every_job() -> None:
    figures = measure("local", 2, 1, jobs(2, f"{sys.executable} {FAKE}", 500_000))
    assert figures["empty"]["units"] == 40
    assert figures["perft"]["units"] == 2
    assert figures["labels"]["counted"] == "positions"
    for name in ("empty", "perft", "labels"):
        assert set(figures[name]["rate"]) == {"local", "there"}
        assert figures[name]["throughput_ratio"] > 0


def test_a_teacher_that_is_not_there_is_named() -> None:
    with pytest.raises(UserError, match="no engine 'no-such-engine'"):
        jobs(2, "no-such-engine", 100)
