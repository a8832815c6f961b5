"""Matches: pairs, seeds, resuming, the sequential test, players that break, folders that are not ours."""

from __future__ import annotations

import errno
import json
import os
import random
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tabiya._core import Board
from tabiya.arena.adjudication import Adjudication
from tabiya.arena.campaign import Plan
from tabiya.arena.game import GameRules, Pace
from tabiya.arena.match import MatchStatus, run_match
from tabiya.arena.pgn_results import read_results
from tabiya.arena.runner import entrants, sow
from tabiya.arena.sprt import Sprt
from tabiya.arena.tally import score_of
from tabiya.errors import UserError
from tabiya.player import Decision, Limit, Player, PlayerError, PlayerFailure, PlayerName, PlayerOption

ENGINES = Path(__file__).parents[1] / "protocols" / "engines"
SHORT = GameRules(pace=Pace(depth=1), adjudication=Adjudication(max_moves=10))


class Seeded(Player):
    """Random moves from the seed and the position; "weak" ones resign now and then."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.seed = 0

    def options(self) -> tuple[PlayerOption, ...]:
        return (PlayerOption("seed", "spin", "0", low=0, high=2**31 - 1),)

    def set_option(self, name: str, value: str) -> None:
        self.seed = int(value)

    def play(self, board: Board, limit: Limit) -> Decision:
        chance = random.Random(f"{self.seed} {board.fen()}")
        wants = "resign" if chance.random() < {"weak": 0.3, "strong": 0.03}.get(self.name, 0.05) else None
        return Decision(move=chance.choice(board.legal_moves()), wants=wants)


class Breaking(Seeded):
    """Crashes at every third move it is asked for; healthy again with the next game."""

    def __init__(self) -> None:
        super().__init__("breaking")
        self._asked = 0

    def play(self, board: Board, limit: Limit) -> Decision:
        self._asked += 1
        if self._asked % 3 == 0:
            raise PlayerFailure("breaking crashed")
        return super().play(board, limit)


def open_player(text: str) -> Player:
    kind = PlayerName.parse(text).kind
    if kind == "missing":
        raise PlayerError("there is no engine 'missing'")
    return Breaking() if kind == "breaking" else Seeded(kind)


def plan(*players: str, games: int = 12, **more: Any) -> Plan:
    return Plan(players=players or ("strong", "weak"), games=games, rules=SHORT, **more)


def without_times(pgn: Path) -> str:
    return re.sub(r"\[%emt [^]]*\]|\[Event [^]]*\]\n", "", pgn.read_text()).replace("\n", " ")


def test_a_match_plays_every_opening_with_both_colours(tmp_path: Path) -> None:
    result = run_match(plan(games=12), tmp_path / "m", open_player)
    found = read_results([tmp_path / "m" / "games.pgn"])
    assert result["games"] == len(found.games) == 12
    assert sum(result["pentanomial"]) == 6
    assert [game.white for game in found.games] == ["strong", "weak"] * 6
    openings = re.findall(r'\[Opening "(.*)"\]', (tmp_path / "m" / "games.pgn").read_text())
    assert openings[0::2] == openings[1::2]
    assert len(set(openings)) == 6


def test_the_result_says_all_that_a_result_must_say(tmp_path: Path) -> None:
    result = run_match(plan(question="Who?", expected="strong"), tmp_path, open_player)
    written = json.loads((tmp_path / "result.json").read_text())
    assert written == json.loads(json.dumps(result))
    for key in ("games", "wins", "draws", "losses", "score_share", "elo", "elo_95", "los", "pgn"):
        assert key in written
    assert written["question"] == "Who?"
    assert written["expected"] == "strong"
    assert written["settings"]["seed"] == 0
    assert written["machine"]["cores"]
    assert "commit" in written
    assert "stronger" in written["verdict"]
    assert written["wins"] > written["losses"]


def test_the_same_pgn_gives_the_same_elo_again(tmp_path: Path) -> None:
    result = run_match(plan(games=20), tmp_path, open_player)
    score = score_of("strong", read_results([tmp_path / "games.pgn"]).games)
    assert {key: result[key] for key in score.summary()} == score.summary()


def test_the_number_of_games_at_once_changes_nothing(tmp_path: Path) -> None:
    one = run_match(plan(), tmp_path / "one", open_player)
    four = run_match(plan(concurrency=4), tmp_path / "four", open_player)
    assert without_times(tmp_path / "one" / "games.pgn") == without_times(tmp_path / "four" / "games.pgn")
    assert one["elo"] == four["elo"]


def test_another_seed_is_another_match(tmp_path: Path) -> None:
    run_match(plan(), tmp_path / "one", open_player)
    run_match(plan(seed=1), tmp_path / "two", open_player)
    assert without_times(tmp_path / "one" / "games.pgn") != without_times(tmp_path / "two" / "games.pgn")


def test_an_interrupted_match_goes_on_to_the_same_end(tmp_path: Path) -> None:
    def interrupt(status: MatchStatus) -> None:
        if status.games == 5:
            raise KeyboardInterrupt

    whole = run_match(plan(), tmp_path / "whole", open_player)
    with pytest.raises(KeyboardInterrupt):
        run_match(plan(concurrency=2), tmp_path / "broken", open_player, watch=interrupt)
    assert not (tmp_path / "broken" / "result.json").exists()
    games = tmp_path / "broken" / "games.pgn"
    assert len(read_results([games]).games) == 5
    # As a kill in the middle of a write would leave it.
    with games.open("a") as stream:
        stream.write('[Event "Tabiya broken"]\n[Round "6.2"]\n[Result "1-0"]\n\n1. e4 {[%emt 0:0')
    seen: list[int] = []
    again = run_match(
        plan(), tmp_path / "broken", open_player, watch=lambda status: seen.append(status.games)
    )
    assert seen == list(range(5, 13))
    assert again["elo"] == whole["elo"]
    assert without_times(games) == without_times(tmp_path / "whole" / "games.pgn")


def test_a_finished_match_is_not_played_again(tmp_path: Path) -> None:
    first = run_match(plan(), tmp_path, open_player)

    def never(_text: str) -> Player:
        raise AssertionError("no player is needed")

    again = run_match(plan(), tmp_path, never)
    assert again["elo_95"] == first["elo_95"]
    assert again["engines"] == first["engines"]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"games": 14}, "games 12, not 14"),
        ({"seed": 3}, "seed 0, not 3"),
        ({"players": ("strong", "weaker")}, "players .*weak.* not .*weaker"),
        ({"rules": GameRules(pace=Pace(nodes=9))}, "pace depth 1, not null"),
    ],
)
def test_other_settings_are_refused_by_name_and_change_nothing(
    tmp_path: Path, change: dict[str, Any], sentence: str
) -> None:
    run_match(plan(), tmp_path, open_player)
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    settings: dict[str, Any] = {"players": ("strong", "weak"), "games": 12, "rules": SHORT, **change}
    with pytest.raises(UserError, match=sentence):
        run_match(Plan(**settings), tmp_path, open_player)
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before


def test_a_pgn_file_of_somebody_else_is_left_alone(tmp_path: Path) -> None:
    precious = tmp_path / "precious.pgn"
    precious.write_text('[Event "World Championship"]\n\n1. e4 *\n')
    with pytest.raises(UserError, match="holds other games already"):
        run_match(plan(), tmp_path / "m", open_player, pgn=precious)
    assert "World Championship" in precious.read_text()


def test_games_go_where_pgn_says(tmp_path: Path) -> None:
    result = run_match(plan(games=2), tmp_path / "m", open_player, pgn=tmp_path / "deep" / "games.pgn")
    assert result["pgn"] == str(tmp_path / "deep" / "games.pgn")
    assert len(read_results([tmp_path / "deep" / "games.pgn"]).games) == 2


def test_a_player_that_cannot_be_opened_ends_the_match_at_the_start(tmp_path: Path) -> None:
    with pytest.raises(PlayerError, match="no engine 'missing'"):
        run_match(plan("strong", "missing"), tmp_path / "results" / "m", open_player)
    assert list(tmp_path.iterdir()) == []


def test_a_player_that_breaks_loses_its_games_and_the_match_goes_on(tmp_path: Path) -> None:
    result = run_match(plan("strong", "breaking", games=6), tmp_path, open_player)
    text = (tmp_path / "games.pgn").read_text()
    assert result["games"] == 6
    assert result["faults"]["breaking"]["abandoned"] >= 4
    assert '[GameEnd "breaking crashed"]' in text
    assert '[Termination "abandoned"]' in text


def test_a_player_that_starts_only_at_the_second_try_plays_on(tmp_path: Path) -> None:
    tries: list[str] = []

    def open_late(text: str) -> Player:
        if text == "weak":
            tries.append(text)
            if len(tries) < 3:
                raise PlayerFailure("weak died at start-up")
        return open_player(text)

    result = run_match(plan(games=4), tmp_path, open_late)
    ends = re.findall(r'\[GameEnd "(.*)"\]', (tmp_path / "games.pgn").read_text())
    assert ends.count("weak died at start-up") == 1
    assert result["games"] == 4
    assert len(tries) == 3


def test_a_sequential_test_stops_with_the_first_pair_that_decides(tmp_path: Path) -> None:
    sprt = Sprt(elo0=0, elo1=100)
    one = run_match(plan(games=1000), tmp_path / "one", open_player, sprt=sprt)
    many = run_match(plan(games=1000, concurrency=3), tmp_path / "many", open_player, sprt=sprt)
    assert one["games"] < 1000
    assert one["games"] % 2 == 0
    assert one["sprt"]["verdict"] == "H1"
    assert "H1 accepted" in one["verdict"]
    assert one["sprt"] == many["sprt"]
    assert without_times(tmp_path / "one" / "games.pgn") == without_times(tmp_path / "many" / "games.pgn")
    again = run_match(plan(games=1000), tmp_path / "one", open_player, sprt=sprt)
    assert again["games"] == one["games"]


def test_a_full_disk_leaves_whole_games_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real, calls = os.write, []

    def full(descriptor: int, data: bytes) -> int:
        if data.startswith(b"[Event"):
            calls.append(1)
            if len(calls) > 3:
                real(descriptor, data[:100])
                raise OSError(errno.ENOSPC, "No space left on device")
        return real(descriptor, data)

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        with pytest.raises(OSError, match="No space left") as caught:
            run_match(plan(), tmp_path, open_player)
    assert caught.value.filename == str(tmp_path / "games.pgn")
    assert len(read_results([tmp_path / "games.pgn"]).games) == 3
    assert (tmp_path / "games.pgn").read_text().endswith("\n\n")
    assert run_match(plan(), tmp_path, open_player)["games"] == 12


def test_two_programs_do_not_play_in_one_folder(tmp_path: Path) -> None:
    def again(status: MatchStatus) -> None:
        if status.games == 1:
            with pytest.raises(UserError, match="another program is playing"):
                run_match(plan(), tmp_path, open_player)

    run_match(plan(), tmp_path, open_player, watch=again)


def test_equal_names_are_told_apart_and_a_name_can_be_chosen() -> None:
    specs = ["random", "random", "uci:/usr/games/stockfish?UCI_Elo=1500&name=sf1500"]
    assert [entrant.name for entrant in entrants(specs)] == ["random", "random (2)", "sf1500"]


def test_seeds_follow_from_the_game_and_differ() -> None:
    player, seeds = Seeded("x"), []
    for text in ("0 1 x", "0 1 x", "0 2 x", "1 1 x"):
        sow(player, text)
        seeds.append(player.seed)
    assert seeds[0] == seeds[1]
    assert len(set(seeds)) == 3


def tabiya(*words: str) -> list[str]:
    return [sys.executable, "-m", "tabiya", *words]


def test_kill_9_in_the_middle_then_the_same_command_ends_like_an_uninterrupted_match(tmp_path: Path) -> None:
    words = [
        "match",
        "random",
        "random?Seed=5",
        "--games",
        "40",
        "--depth",
        "1",
        "--max-moves",
        "40",
        "--json",
    ]
    whole = subprocess.run(
        tabiya(*words, "--json", "--out", str(tmp_path / "whole")),
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    games = tmp_path / "killed" / "games.pgn"
    command = tabiya(*words, "--json", "--out", str(tmp_path / "killed"), "--concurrency", "2")
    kills = 0
    for goal in (3, 20):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while process.poll() is None:
            if games.exists() and games.read_bytes().count(b"[Event ") >= goal:
                process.send_signal(signal.SIGKILL)
                kills += 1
                break
            time.sleep(0.002)
        process.wait(timeout=60)
    again = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    assert kills == 2
    one, other = json.loads(whole.stdout), json.loads(again.stdout)
    same = ("games", "wins", "draws", "losses", "elo", "elo_95", "los", "pentanomial", "as_white", "endings")
    assert {key: one[key] for key in same} == {key: other[key] for key in same}
    assert without_times(tmp_path / "whole" / "games.pgn") == without_times(games)


@pytest.mark.parametrize(
    ("mode", "reason"),
    [
        ("crash_at_move", "crashed"),
        ("garbage", "ziggy|nonsense|crashed"),
        ("illegal", "illegal move"),
        ("hang", "did not move"),
        ("crash_at_start", "died at start-up"),
    ],
)
def test_a_misbehaving_engine_loses_every_game_with_the_reason_in_the_pgn(
    tmp_path: Path, mode: str, reason: str
) -> None:
    from tabiya.roster import open_player as open_real

    script = ENGINES / "misbehaving_uci.py"
    args = shlex.join([str(script), mode])
    spec = f"uci:{sys.executable}?args={args.replace(' ', '+')}&name=odd&margin=0.3&patience=0.5"
    result = run_match(plan(spec, "random", games=2), tmp_path, open_real)
    ends = re.findall(r'\[GameEnd "(.*)"\]', (tmp_path / "games.pgn").read_text())
    assert result["losses"] == result["games"] == 2
    assert sum(result["faults"]["odd"].values()) == 2
    assert result["players"] == ["odd", "random"]
    assert len(ends) == 2
    assert all(re.search(reason, end) for end in ends)
