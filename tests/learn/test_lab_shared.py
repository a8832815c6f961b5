"""What the experiments of all minds share: turns of training, kept settings, answers that are made once."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import threading
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import pytest

torch = pytest.importorskip("torch")

from tabiya.errors import UserError  # noqa: E402
from tabiya.learn.lab.anchors import Anchor, refuse_twins  # noqa: E402
from tabiya.learn.lab.comparison import refuse_no_comparison, refuse_unknown  # noqa: E402
from tabiya.learn.lab.exams import Ask, answer, answers, sit_exam, unanswered  # noqa: E402
from tabiya.learn.lab.folder import LabFolder  # noqa: E402
from tabiya.learn.lab.games import silent  # noqa: E402
from tabiya.learn.lab.plan import LabMeasures  # noqa: E402
from tabiya.learn.lab.training import checksums, train_in_turn  # noqa: E402
from tabiya.learn.lab.turns import device_turn, train_missing  # noqa: E402
from tabiya.learn.sidecar import write_sidecar  # noqa: E402


@pytest.fixture
def folder(tmp_path: Path) -> LabFolder:
    """With one network of two bytes."""
    made = LabFolder(tmp_path, ".nnue")
    add_network(made, "a")
    return made


def add_network(folder: LabFolder, name: str) -> None:
    folder.network(name).parent.mkdir(exist_ok=True)
    folder.network(name).write_bytes(b"xy")
    write_sidecar(folder.network(name), kind="nnue", planes=0, parameters=1)


def test_networks_are_trained_in_turn_until_one_does_not_come_to_its_end():
    asked = []

    def train_one(name: str, minutes: float | None) -> bool:
        asked.append((name, minutes))
        return name != "b"

    assert train_in_turn(["a", "b", "c"], train_one) == ["b", "c"]
    assert asked == [("a", None), ("b", None)]
    assert train_in_turn(["a"], train_one, minutes=0) == ["a"]
    assert len(asked) == 2


@dataclass(frozen=True)
class Network:
    name: str
    title: str = "a network"


def test_only_networks_that_are_missing_are_trained_and_each_is_announced(folder: LabFolder):
    asked: list[tuple[str, float | None]] = []
    said: list[str] = []
    every = [Network("a"), Network("b", "the second"), Network("c"), Network("d")]

    def train_one(network: Network, minutes: float | None) -> bool:
        asked.append((network.name, minutes))
        if network.name == "c":
            return False
        add_network(folder, network.name)
        return True

    assert train_missing(folder, every, train_one, say=said.append) == ["c", "d"]
    assert asked == [("b", None), ("c", None)]
    assert said == ["b: the second (3 of 4 left)", "c: a network (2 of 4 left)"]
    assert train_missing(folder, every[2:], train_one, minutes=0) == ["c", "d"]
    assert len(asked) == 2


def test_what_another_process_is_at_is_left_to_it_until_it_is_killed(
    folder: LabFolder,
):
    asked: list[str] = []
    every = [Network("a"), Network("b"), Network("c")]

    def train_one(network: Network, _minutes: float | None) -> bool:
        asked.append(network.name)
        add_network(folder, network.name)
        return True

    code = (
        "import sys, time, pathlib; from tabiya.learn.lab.folder import LabFolder\n"
        "with LabFolder(pathlib.Path(sys.argv[1])).claim('b') as mine:\n"
        "    print(mine, flush=True); time.sleep(60)"
    )
    command = [sys.executable, "-c", code, str(folder.path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "True\n"
        assert train_missing(folder, every, train_one) == ["b"]
        other.kill()
    assert asked == ["c"]
    assert train_missing(folder, every, train_one) == []
    assert asked == ["c", "b"]


def test_the_device_is_one_run_s_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    order: list[str] = []

    def second() -> None:
        with device_turn():
            order.append("second")

    waiting = threading.Thread(target=second)
    with device_turn():
        waiting.start()
        waiting.join(0.2)
        assert waiting.is_alive()
        order.append("first")
    waiting.join(10)
    assert order == ["first", "second"]


def test_questions_that_another_process_puts_are_not_put_again(folder: LabFolder):
    def questions() -> tuple[int, Ask]:
        return 3, lambda name, _meter: {"asked": name}

    with folder.claim("a.quiz") as mine:
        assert mine
        sit_exam(folder, "quiz", ["a"], {"count": 3}, questions, silent)
        assert answers(folder, "a", ["quiz"]) == {}
    sit_exam(folder, "quiz", ["a"], {"count": 3}, questions, silent)
    assert answers(folder, "a", ["quiz"]) == {"quiz": {"asked": "a"}}


def test_a_file_that_is_not_there_is_named_with_the_setting_that_asks_for_it(tmp_path: Path):
    (tmp_path / "a").write_text("a")
    (tmp_path / "b").mkdir()
    with pytest.raises(UserError, match=r"manifest.json, which data.games asks for"):
        checksums([("data.labels", str(tmp_path / "a"), False), ("data.games", str(tmp_path / "b"), True)])


def test_questions_are_put_once_to_each_network_and_again_when_they_change(folder: LabFolder):
    assert unanswered(folder, "quiz", ["a"], {"count": 3}) == ["a"]
    answer(folder, "a", "quiz", {"count": 3}, lambda: {"right": 2})
    assert answers(folder, "a", ["quiz", "other"]) == {"quiz": {"right": 2}}
    assert unanswered(folder, "quiz", ["a"], {"count": 3}) == []
    assert unanswered(folder, "quiz", ["a"], {"count": 4}) == ["a"]
    folder.network("a").write_bytes(b"another")
    write_sidecar(folder.network("a"), kind="nnue", planes=0, parameters=1)
    assert unanswered(folder, "quiz", ["a"], {"count": 3}) == ["a"]


def test_an_exam_is_read_only_if_somebody_has_to_sit_it(folder: LabFolder):
    read: list[str] = []

    def questions() -> tuple[int, Ask]:
        read.append("quiz")
        return 3, lambda name, _meter: {"asked": name}

    for _again in range(2):
        sit_exam(folder, "quiz", ["a"], {"count": 3}, questions, silent)
    assert read == ["quiz"]
    assert answers(folder, "a", ["quiz"]) == {"quiz": {"asked": "a"}}


def test_games_are_held_to_the_networks_that_began_them(folder: LabFolder):
    sums = folder.begin_games(["a"], mode="policy")
    assert folder.begin_games(["a"], mode="policy") == sums
    with pytest.raises(UserError, match="begun with mode = 'policy', now it is 'q'"):
        folder.begin_games(["a"], mode="q")
    folder.network("b").write_bytes(b"one more")
    write_sidecar(folder.network("b"), kind="nnue", planes=0, parameters=1)
    both = folder.begin_games(["a", "b"], mode="policy")
    assert both["a"] == sums["a"]
    assert folder.begin_games(["b"], mode="policy") == {"b": both["b"]}
    folder.network("a").write_bytes(b"another")
    write_sidecar(folder.network("a"), kind="nnue", planes=0, parameters=1)
    with pytest.raises(UserError, match=r"begun with networks.a"):
        folder.begin_games(["a", "b"], mode="policy")


def test_all_games_are_counted_before_they_are_played():
    anchors = (Anchor(player="turing"), Anchor(player="random"))
    measures = LabMeasures(games=10, anchor_games=4, anchors=anchors)
    assert measures.games_between(3) == 3 * 10
    # Each of three networks with two anchors, and the anchors with each other.
    assert measures.expected_games(3) == 3 * 10 + (6 + 1) * 4
    with pytest.raises(UserError, match="anchor_games must be at least 1, got 0"):
        LabMeasures(anchor_games=0)


def test_a_report_has_no_picture_where_none_can_be_drawn(folder: LabFolder, monkeypatch):
    drawn: list[Path] = []
    record = {"rows": 1}

    def report() -> object:
        return folder.write_report(record, lambda each: f"{each['rows']} row", lambda _, to: drawn.append(to))

    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert report() is record
    assert drawn == []
    assert folder.report(".md").read_text() == "1 row"
    monkeypatch.setitem(sys.modules, "matplotlib", ModuleType("matplotlib"))
    report()
    assert drawn == [folder.report(".png")]


def test_a_network_with_the_manifest_of_another_is_refused(folder: LabFolder):
    folder.network("a").write_bytes(b"another")
    with pytest.raises(UserError, match="describes another network"):
        folder.has_network("a")
    assert not folder.has_network("b")


def test_a_folder_is_held_to_what_it_was_begun_with(folder: LabFolder):
    folder.begin("lab.json", {"budget": {"steps": 3}, "sizes": (1, 2)})
    folder.begin("lab.json", {"budget": {"steps": 3}, "sizes": (1, 2)})
    with pytest.raises(UserError, match=r"begun with budget.steps = 3, now it is 4"):
        folder.begin("lab.json", {"budget": {"steps": 4}, "sizes": (1, 2)})


def test_names_that_cannot_be_compared_are_refused():
    with pytest.raises(UserError, match="axes has no network 'hvv', did you mean 'hv'"):
        refuse_unknown("axes", ["hvv"], ["all", "hv"])
    with pytest.raises(UserError, match="from 'hv', which this config leaves out"):
        refuse_no_comparison("axes", ["all", "h"], "hv", ())
    with pytest.raises(UserError, match="compares at least 2 networks"):
        refuse_no_comparison("axes", ["hv"], "hv", ())
    with pytest.raises(UserError, match="the anchor 'all' has the name of one"):
        refuse_no_comparison("axes", ["all", "hv"], "hv", (Anchor(player="all"),))
    with pytest.raises(UserError, match="the anchor turing is named twice"):
        refuse_twins((Anchor(player="turing"), Anchor(player="turing", elo=900)))
