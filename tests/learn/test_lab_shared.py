"""What the experiments of all minds share: turns of training, kept settings, answers that are made once."""

from __future__ import annotations

from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from tabiya.errors import UserError  # noqa: E402
from tabiya.learn.lab.anchors import Anchor, refuse_twins  # noqa: E402
from tabiya.learn.lab.exams import answer, answers, unanswered  # noqa: E402
from tabiya.learn.lab.folder import LabFolder  # noqa: E402
from tabiya.learn.lab.naming import refuse_no_comparison, refuse_unknown  # noqa: E402
from tabiya.learn.lab.training import checksums, train_in_turn  # noqa: E402
from tabiya.learn.sidecar import write_sidecar  # noqa: E402


def test_networks_are_trained_in_turn_until_one_does_not_come_to_its_end():
    asked = []

    def train_one(name: str, minutes: float | None) -> bool:
        asked.append((name, minutes))
        return name != "b"

    assert train_in_turn(["a", "b", "c"], train_one) == ["b", "c"]
    assert asked == [("a", None), ("b", None)]
    assert train_in_turn(["a"], train_one, minutes=0) == ["a"]
    assert len(asked) == 2


def test_a_file_that_is_not_there_is_named_with_the_setting_that_asks_for_it(tmp_path: Path):
    (tmp_path / "a").write_text("a")
    (tmp_path / "b").mkdir()
    with pytest.raises(UserError, match=r"manifest.json, which data.games asks for"):
        checksums([("data.labels", str(tmp_path / "a"), False), ("data.games", str(tmp_path / "b"), True)])


@pytest.fixture
def folder(tmp_path: Path) -> LabFolder:
    """With one network of two bytes."""
    made = LabFolder(tmp_path, ".nnue")
    made.network("a").parent.mkdir()
    made.network("a").write_bytes(b"xy")
    write_sidecar(made.network("a"), kind="nnue", planes=0, parameters=1)
    return made


def test_questions_are_put_once_to_each_network_and_again_when_they_change(folder: LabFolder):
    assert unanswered(folder, "quiz", ["a"], {"count": 3}) == ["a"]
    answer(folder, "a", "quiz", {"count": 3}, lambda: {"right": 2})
    assert answers(folder, "a", ["quiz", "other"]) == {"quiz": {"right": 2}}
    assert unanswered(folder, "quiz", ["a"], {"count": 3}) == []
    assert unanswered(folder, "quiz", ["a"], {"count": 4}) == ["a"]
    folder.network("a").write_bytes(b"another")
    write_sidecar(folder.network("a"), kind="nnue", planes=0, parameters=1)
    assert unanswered(folder, "quiz", ["a"], {"count": 3}) == ["a"]


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
