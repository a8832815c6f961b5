"""PyChess's and Cute Chess's lists: our entries kept up to date, other entries kept to the byte."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tabiya.errors import UserError
from tabiya.programs import engines_json as lists
from tabiya.programs.engine import Engine
from tabiya.programs.engines_json import CUTECHESS, PYCHESS, Shape

TURING = Engine("/opt/tabiya", "uci", "turing", "/my/tabiya-turing")
RANDOM = Engine("/opt/tabiya", "uci", "random", "/my/tabiya-random")
POOL = Engine("/my programs/tabiya", "uci", "genetic:/my pools/pool.txt#7", "/my/tabiya-genetic")
OTHERS = (
    '[ {"name":"Söckfish", "command" : "/usr/games/x",  "options":[{"a":[1,{}]}]},\n\n\t{"name": "]}"}]\n'
)
BOTH = pytest.mark.parametrize("shape", [PYCHESS, CUTECHESS])


def test_pychess_gets_the_file_of_the_mind_and_is_asked_to_look_at_it() -> None:
    (entry,) = json.loads(lists.install("", [TURING], PYCHESS).text)
    assert entry["name"] == "Tabiya turing"
    assert entry["protocol"] == "uci"
    assert entry["command"] == "/my/tabiya-turing"
    assert entry["recheck"] is True


def test_cute_chess_which_takes_a_command_for_a_file_gets_the_file_of_the_mind() -> None:
    (entry,) = json.loads(lists.install("", [TURING], CUTECHESS).text)
    assert entry["command"] == "/my/tabiya-turing"
    assert {"name", "protocol", "workingDirectory", "stderrFile"} < set(entry)


@BOTH
def test_other_entries_keep_every_byte(shape: Shape) -> None:
    edit = lists.install(OTHERS, [TURING], shape)
    end = OTHERS.rindex("]")
    assert edit.text.startswith(OTHERS[:end])
    assert edit.text.endswith(OTHERS[end:])
    assert [entry["name"] for entry in json.loads(edit.text)] == ["Söckfish", "]}", "Tabiya turing"]


@BOTH
@pytest.mark.parametrize("text", ["", "[]", " [\n ] ", OTHERS])
def test_twice_is_once(text: str, shape: Shape) -> None:
    once = lists.install(text, [TURING, POOL], shape)
    twice = lists.install(once.text, [TURING, POOL], shape)
    assert once.added == twice.unchanged == ["Tabiya turing", POOL.name]
    assert twice.text == once.text


@BOTH
def test_removal_gives_back_the_list_as_it_was(shape: Shape) -> None:
    installed = lists.install(OTHERS, [TURING, RANDOM], shape).text
    assert lists.remove(installed, []).text == OTHERS
    one = lists.remove(installed, ["Tabiya turing"])
    assert one.removed == ["Tabiya turing"]
    assert lists.installed(one.text) == ["Tabiya random"]


@given(places=st.lists(st.booleans(), max_size=6))
def test_wherever_ours_stand_exactly_they_are_removed(places: list[bool]) -> None:
    ours = lists.start_keys(TURING)
    text = json.dumps([ours if own else {"name": f"other {n}"} for n, own in enumerate(places)], indent=2)
    edit = lists.remove(text, [])
    assert json.loads(edit.text) == [{"name": f"other {n}"} for n, own in enumerate(places) if not own]
    assert len(edit.removed) == sum(places)


@BOTH
def test_a_moved_program_is_updated_and_the_users_own_settings_stay(shape: Shape) -> None:
    text = lists.install(OTHERS, [TURING, RANDOM], shape).text
    entries = json.loads(text)
    entries[2] |= {"options": [{"name": "Depth", "value": 3}], "level": 7, "md5": "x", "recheck": False}
    moved = Engine("/elsewhere/tabiya", "uci", "turing", "/elsewhere/tabiya-turing")
    edit = lists.install(json.dumps(entries), [moved, RANDOM], shape)
    assert (edit.updated, edit.unchanged) == (["Tabiya turing"], ["Tabiya random"])
    after = json.loads(edit.text)
    assert after[2]["options"] == [{"name": "Depth", "value": 3}]
    assert after[2]["level"] == 7
    assert after[2] | lists.start_keys(moved) == after[2]
    assert after[:2] + after[3:] == entries[:2] + entries[3:]


def test_an_entry_that_pychess_has_filled_in_needs_no_update() -> None:
    entries = json.loads(lists.install("", [TURING], PYCHESS).text)
    entries[0] |= {"recheck": False, "md5": "0123", "author": "someone"}
    text = json.dumps(entries, indent=1, sort_keys=True)
    assert lists.install(text, [TURING], PYCHESS).text == text


@BOTH
@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('[{"name": "cut o', "is no JSON"),
        ("<engines/>", "is no JSON"),
        ('{"engines": []}', "not a list of engines"),
        ("[1, 2]", "not a list of engines"),
        ('[{"name": "Tabiya turing", "command": "/usr/bin/other"}]', "not ours"),
    ],
)
def test_what_is_not_understood_is_refused(text: str, why: str, shape: Shape) -> None:
    with pytest.raises(UserError, match=why):
        lists.install(text, [TURING], shape)
