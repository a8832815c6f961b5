"""xboard's settings file: our lines in its list of engines, and nothing else touched."""

from __future__ import annotations

import pytest

from tabiya.errors import UserError
from tabiya.programs import xboard_settings as settings
from tabiya.programs.engine import Engine

TURING = Engine("/opt/tabiya", "xboard", "turing")
RANDOM = Engine("/opt/tabiya", "xboard", "random?seed=1")
POOL = Engine("/my programs/tabiya", "xboard", "genetic:/my pools/pool.txt#7")

AS_SAVED = """\
;
; xboard 4.9.1 Save Settings file
;
-size 49
-firstChessProgramNames {fairymax
"Fruit 2.1" -fcp fruit -fUCI
  "odd"   line\t
}
-themeNames {"native" -ubt false
"Tabiya turing" -fcp "this is a theme xboard turing"
}
"""
AS_WINBOARD = '/firstChessProgramNames={\n"GNUChess" -fd "x"\n}\n'


def test_our_engines_stand_behind_those_that_were_there() -> None:
    edit = settings.install(AS_SAVED, [TURING, RANDOM])
    assert edit.added == ["Tabiya turing", "Tabiya random?seed=1"]
    before, after = AS_SAVED.split('  "odd"   line\t\n')
    assert edit.text == (
        f'{before}  "odd"   line\t\n'
        '"Tabiya turing" -fcp "/opt/tabiya xboard turing"\n'
        f'"Tabiya random?seed=1" -fcp "/opt/tabiya xboard random?seed=1"\n{after}'
    )


@pytest.mark.parametrize("text", ["", AS_SAVED, AS_WINBOARD, "-size 49"])
def test_twice_is_once(text: str) -> None:
    engines = [TURING, RANDOM, POOL]
    once = settings.install(text, engines)
    twice = settings.install(once.text, engines)
    assert twice.text == once.text
    assert twice.unchanged == settings.installed(once.text) == [engine.name for engine in engines]
    assert twice.added == twice.updated == []


@pytest.mark.parametrize("text", [AS_SAVED, AS_WINBOARD])
def test_removal_gives_back_the_file_as_it_was(text: str) -> None:
    installed = settings.install(text, [TURING, RANDOM]).text
    assert settings.remove(installed, []).text == text
    one = settings.remove(installed, ["Tabiya turing"])
    assert one.removed == ["Tabiya turing"]
    assert settings.installed(one.text) == ["Tabiya random?seed=1"]


def test_removal_where_nothing_of_ours_is_changes_nothing() -> None:
    assert settings.remove(AS_SAVED, []).text == AS_SAVED
    assert settings.remove("", []).text == ""


def test_a_moved_program_is_updated_in_place_and_the_users_options_stay() -> None:
    text = settings.install(AS_SAVED, [TURING]).text
    text = text.replace('xboard turing"\n"', 'xboard turing" -fd "/tmp" -variant normal\n"', 1)
    text = text.replace('"/opt/tabiya xboard turing"\n}', '"/opt/tabiya xboard turing" -fd "/tmp"\n}')
    edit = settings.install(text, [Engine("/my programs/tabiya", "xboard", "turing")])
    assert edit.updated == ["Tabiya turing"]
    assert '\n"Tabiya turing" -fcp \'"/my programs/tabiya" xboard turing\' -fd "/tmp"\n}' in edit.text
    assert settings.install(edit.text, [Engine("/my programs/tabiya", "xboard", "turing")]).unchanged


def test_without_a_list_of_the_users_own_the_systems_engines_are_kept() -> None:
    edit = settings.install("-size 49", [TURING], system=AS_SAVED)
    assert edit.text.startswith("-size 49\n-firstChessProgramNames {fairymax\n")
    assert '"Fruit 2.1" -fcp fruit -fUCI\n' in edit.text
    assert settings.installed(edit.text) == ["Tabiya turing"]


def test_of_two_lists_the_last_is_the_one_that_counts() -> None:
    edit = settings.install(AS_WINBOARD + AS_SAVED, [TURING])
    assert edit.text.startswith(AS_WINBOARD)
    assert settings.installed(edit.text) == ["Tabiya turing"]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("-firstChessProgramNames {fairymax\n", "not closed"),
        ('[{"name": "an engine"}]', "not a settings file of xboard"),
        (";\0\0", "not a settings file of xboard"),
        ('-firstChessProgramNames {\n"Tabiya turing" -fcp my-own-engine\n}', "not ours"),
    ],
)
def test_what_is_not_understood_is_refused(text: str, why: str) -> None:
    with pytest.raises(UserError, match=why):
        settings.install(text, [TURING])
