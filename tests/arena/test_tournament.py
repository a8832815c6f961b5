"""Tournaments: the schedule, the list, the cross table, going on after an interruption."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tabiya._core import Board
from tabiya.arena.campaign import Plan
from tabiya.arena.game import GameRules, Pace
from tabiya.arena.tournament import TournamentStatus, find_anchors, run_tournament, tournament_fixtures
from tabiya.errors import UserError
from tabiya.player import Decision, Limit, Player


class Ranked(Player):
    """Resigns sooner the lower its rank, by a rule that needs no chance: the same game each time."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._resigns_at = {"good": 17, "fair": 13, "poor": 9}[name]

    def play(self, board: Board, limit: Limit) -> Decision:
        moves = sorted(board.legal_moves())
        # The opening decides a little, so that nobody loses everything.
        tired = self._resigns_at - sum(map(ord, board.moves[0] + board.moves[1])) % 12
        wants = "resign" if len(board.moves) - 4 > tired else None
        return Decision(move=moves[len(board.moves) % len(moves)], wants=wants)


def plan(games: int = 20, **more: Any) -> Plan:
    return Plan(players=("good", "fair", "poor"), games=games, rules=GameRules(pace=Pace(depth=1)), **more)


def test_a_round_robin_gives_everyone_both_colours_on_every_opening() -> None:
    fixtures = tournament_fixtures(4, 4, "round-robin")
    assert len(fixtures) == 6 * 4
    assert [fixture.number for fixture in fixtures] == list(range(24))
    meetings = Counter((fixture.white, fixture.black, fixture.opening) for fixture in fixtures)
    assert set(meetings.values()) == {1}
    assert all((black, white, opening) in meetings for white, black, opening in meetings)


def test_in_a_gauntlet_the_first_player_meets_all_others() -> None:
    fixtures = tournament_fixtures(4, 2, "gauntlet")
    assert len(fixtures) == 6
    assert all(0 in (fixture.white, fixture.black) for fixture in fixtures)


def test_an_odd_number_of_games_leaves_the_last_pair_half_played() -> None:
    fixtures = tournament_fixtures(2, 3, "round-robin")
    assert [(fixture.number, fixture.white) for fixture in fixtures] == [(0, 0), (1, 1), (2, 0)]


def test_a_tournament_ends_in_a_list_and_a_cross_table(tmp_path: Path) -> None:
    result = run_tournament(plan(), tmp_path, Ranked, anchors={"fair": 1500})
    ratings = {line["name"]: line for line in result["ratings"]["players"]}
    assert result["games"] == 60
    assert ratings["fair"]["rating"] == 1500
    assert ratings["fair"]["anchor"]
    good, poor = ratings["good"]["rating_95"], ratings["poor"]["rating_95"]
    assert (good[1] or good[0]) > (poor[0] or poor[1])
    rows = {row["name"]: row for row in result["cross_table"]["rows"]}
    assert sum(row["points"] for row in rows.values()) == 60
    order = result["cross_table"]["players"]
    wins, losses, draws = map(int, rows["good"]["against"][order.index("poor")].split("-"))
    assert wins + losses + draws == 20
    assert rows["good"]["against"][order.index("good")] is None
    assert json.loads((tmp_path / "result.json").read_text())["kind"] == "tournament"


def test_an_interrupted_tournament_goes_on_to_the_same_end(tmp_path: Path) -> None:
    def interrupt(status: TournamentStatus) -> None:
        if status.games == 7:
            raise KeyboardInterrupt

    whole = run_tournament(plan(games=4), tmp_path / "whole", Ranked)
    with pytest.raises(KeyboardInterrupt):
        run_tournament(plan(games=4, concurrency=2), tmp_path / "broken", Ranked, watch=interrupt)
    again = run_tournament(plan(games=4), tmp_path / "broken", Ranked)
    assert again["ratings"] == whole["ratings"]
    assert again["cross_table"] == whole["cross_table"]


def test_other_anchors_rate_the_same_games_anew(tmp_path: Path) -> None:
    run_tournament(plan(games=4), tmp_path, Ranked)
    again = run_tournament(plan(games=4), tmp_path, Ranked, anchors={"good": 2000})
    assert again["anchors"] == {"good": 2000}


def test_an_anchor_may_be_a_part_of_a_name_but_not_of_two() -> None:
    names = ["uci:/usr/games/stockfish?UCI_Elo=1500", "uci:/usr/games/stockfish?UCI_Elo=1800", "turing"]
    assert find_anchors({"UCI_Elo=1500": 1500.0, "turing": 900.0}, names) == {
        names[0]: 1500.0,
        "turing": 900.0,
    }
    with pytest.raises(UserError, match="'stockfish' could be any of"):
        find_anchors({"stockfish": 1500.0}, names)
    with pytest.raises(UserError, match="'fruit' is none of"):
        find_anchors({"fruit": 1500.0}, names)
    with pytest.raises(UserError, match="two anchor ratings"):
        find_anchors({"turing": 1500.0, "turin": 1400.0}, names)


def test_one_player_alone_is_no_tournament(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="at least 2 players"):
        run_tournament(
            Plan(players=("good",), games=2, rules=GameRules(pace=Pace(depth=1))), tmp_path / "t", Ranked
        )
    assert not (tmp_path / "t").exists()
