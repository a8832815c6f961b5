"""Techniques of the search can be left out, and games say what each is worth."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path

import pytest

from tabiya._core import Board, SearchEngine
from tabiya.cli import lab_techniques, main
from tabiya.player import Limit, PlayerError
from tabiya.roster import open_player

MIDDLE_GAME = "r1bq1rk1/pp2bppp/2n1pn2/2pp4/3P1B2/2PBPN2/PP1N1PPP/R2Q1RK1 w - - 0 9"


def test_a_search_without_a_technique_is_another_search():
    whole = open_player("nnue").play(Board(MIDDLE_GAME), Limit(depth=7)).nodes
    for technique in ("NullMove", "LateMoveReductions", "TableCutoffs"):
        less = open_player(f"nnue?without={technique}").play(Board(MIDDLE_GAME), Limit(depth=7)).nodes
        assert less != whole
    player = open_player("nnue?without=NullMove,Futility")
    assert player.play(Board(MIDDLE_GAME), Limit(depth=7)).nodes != whole
    player.set_option("Without", "")
    player.new_game()
    assert player.play(Board(MIDDLE_GAME), Limit(depth=7)).nodes == whole


def test_an_unknown_technique_is_refused_by_name():
    with pytest.raises(PlayerError, match='no technique "Nullmoves"; it has Aspiration'):
        open_player("nnue?without=Nullmoves")


def test_a_match_for_each_technique_and_a_ledger_of_all(tmp_path: Path, capsys):
    command = ["lab", "techniques", "nullmove", "--games", "4", "--nodes", "40", "--out", str(tmp_path)]
    assert main(command) == 0
    assert "| NullMove | 4 | +" in capsys.readouterr().out
    assert main([*command[:2], "Killers", *command[3:]]) == 0
    ledger = json.loads((tmp_path / "ledger.json").read_text())["techniques"]
    assert {line["technique"] for line in ledger} == {"NullMove", "Killers"}
    for line in ledger:
        assert line["games"] == line["wins"] + line["draws"] + line["losses"] == 4
        settings = json.loads((tmp_path / line["technique"] / "settings.json").read_text())
        assert settings["players"] == ["nnue", f"nnue?without={line['technique']}"]


def test_a_technique_counts_as_done_when_its_match_is_over(tmp_path: Path, monkeypatch):
    told: list[str] = []

    class Meter:
        def advance(self, amount: float = 1) -> None:
            told.append(f"{amount} done")

        def describe(self, text: str) -> None:
            told.append(text.split()[0])

    @contextmanager
    def progress(description: str, total: float) -> Iterator[Meter]:
        assert (description, total) == ("techniques", 2)
        yield Meter()

    monkeypatch.setattr(lab_techniques, "progress", progress)
    command = ["lab", "techniques", "NullMove", "Killers", "--games", "2", "--nodes", "20"]
    for _again in range(2):  # the second time nothing is left to play, and both are done all the same
        told.clear()
        assert main([*command, "--out", str(tmp_path)]) == 0
        assert [said for said, _ in groupby(told)] == ["NullMove", "1 done", "Killers", "1 done"]
    assert told.count("1 done") == 2


def test_the_lab_knows_no_other_techniques(capsys):
    assert main(["lab", "techniques", "Castling"]) == 2
    assert "no technique 'Castling'" in capsys.readouterr().err
    assert len(SearchEngine.techniques()) > 20
