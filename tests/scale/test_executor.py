"""Work that fans out on this machine: every unit once, workers of their own, an end at any time."""

from __future__ import annotations

import importlib.util
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tabiya.cli import main
from tabiya.errors import UserError
from tabiya.scale.choice import executor_from
from tabiya.scale.executor import Worker
from tabiya.scale.local import LOCAL

CONFIG = Path(__file__).parents[1] / "minds" / "genetic" / "small.conf"


class Squarer(Worker[int, int]):
    """Squares numbers; 13 is beyond it."""

    made: list[Squarer] = []  # noqa: RUF012 - one list for all instances is the point

    def __init__(self) -> None:
        self.answered = 0
        self.thread = threading.get_ident()
        self.closed = False
        self.made.append(self)

    def introduce(self) -> str:
        return "a squarer"

    def answer(self, unit: int) -> int:
        assert threading.get_ident() == self.thread
        if unit == 13:
            raise UserError("13 is beyond me")
        self.answered += 1
        return unit * unit

    def close(self) -> None:
        self.closed = True


class Patient(Worker[int, int]):
    """Answers 0 at once, and anything else only when it is told to stop."""

    def __init__(self) -> None:
        self.told = threading.Event()

    def answer(self, unit: int) -> int:
        if unit:
            assert self.told.wait(60)
        return unit

    def interrupt(self) -> None:
        self.told.set()


@pytest.fixture(autouse=True)
def nobody_hired() -> Iterator[None]:
    Squarer.made.clear()
    yield
    Squarer.made.clear()


@pytest.mark.parametrize("workers", [None, 1, 4])
def test_every_unit_is_answered_once_and_every_worker_sent_home(workers: int | None) -> None:
    with LOCAL.crew(Squarer, workers) as crew:
        assert crew.introduce() == "a squarer"
        found = list(crew.answers(range(100, 130)))
    assert sorted(found) == [(number, number * number) for number in range(100, 130)]
    assert 1 <= len(Squarer.made) <= (workers or 1)
    assert sum(worker.answered for worker in Squarer.made) == 30
    assert all(worker.closed for worker in Squarer.made)


def test_no_more_workers_are_hired_than_there_are_units() -> None:
    with LOCAL.crew(Squarer, 50) as crew:
        assert len(list(crew.answers(range(3)))) == 3
    assert len(Squarer.made) <= 3


def test_a_crew_serves_one_list_after_the_other() -> None:
    with LOCAL.crew(Squarer, 2) as crew:
        assert dict(crew.answers(range(5))) == {0: 0, 1: 1, 2: 4, 3: 9, 4: 16}
        assert dict(crew.answers([6])) == {6: 36}
    assert len(Squarer.made) <= 2


def test_what_a_worker_raises_is_raised_where_answers_are_taken() -> None:
    with LOCAL.crew(Squarer, 2) as crew, pytest.raises(UserError, match="13 is beyond me"):
        list(crew.answers(range(20)))
    assert all(worker.closed for worker in Squarer.made)


def test_a_worker_that_cannot_be_made_is_raised_too() -> None:
    def nobody() -> Squarer:
        raise UserError("nobody wants to work here")

    with LOCAL.crew(nobody) as crew, pytest.raises(UserError, match="nobody wants"):
        crew.introduce()


def test_who_stops_listening_interrupts_what_is_running() -> None:
    patient = Patient()
    crew = LOCAL.crew(lambda: patient, 1)
    for unit, _ in crew.answers([0, 1, 2]):
        assert unit == 0
        crew.give(1)
        break
    crew.close()
    assert patient.told.is_set()


def test_an_answer_can_be_waited_for_and_given_up() -> None:
    with LOCAL.crew(Patient, 1) as crew:
        assert crew.take() is None
        crew.give(1)
        assert crew.take(0.01) is None


def test_where_work_can_be_done_is_named() -> None:
    assert executor_from("local") is LOCAL
    with pytest.raises(UserError, match="local, ray or ray:ADDRESS, got --on slurm"):
        executor_from("slurm")


@pytest.mark.parametrize(
    "words",
    [
        ["match", "random", "turing"],
        ["tournament", "random", "turing"],
        ["eval", "suite", "random"],
        ["evolve", str(CONFIG)],
    ],
)
def test_without_the_extra_ray_is_one_sentence(
    words: list[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    known = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "ray" else known(name))
    assert main([*words, "--on", "ray"]) == 2
    error = capsys.readouterr().err
    assert error == (
        "tabiya: --on ray needs the package ray, which is not installed: pip install 'tabiya[ray]'\n"
    )
    assert list(tmp_path.iterdir()) == []
