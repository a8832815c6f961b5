"""Rating lists that are played until they are sharp: who meets whom, when it ends, what is taken in."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tabiya._core import Board
from tabiya.arena.campaign import Plan
from tabiya.arena.game import GameRules, Pace
from tabiya.arena.ladder import Contender, LadderStatus, Standing, next_pairing, run_ladder
from tabiya.arena.match import run_match
from tabiya.arena.pairing import Knowledge
from tabiya.arena.tally import PlayedResult
from tabiya.errors import UserError
from tabiya.player import Decision, Limit, Player, PlayerName, PlayerOption

STRENGTHS = {"best": 1900, "good": 1700, "fair": 1500, "poor": 1300}
RULES = GameRules(pace=Pace(depth=1))


class Gambler(Player):
    """Resigns at once with the chance that its strength leaves it against a player of 1600."""

    def __init__(self, text: str) -> None:
        self.name = PlayerName.parse(text).kind
        self._chance = 1 / (1 + 10 ** ((STRENGTHS[self.name] - 1600) / 400))
        self._random = random.Random(0)

    def options(self) -> tuple[PlayerOption, ...]:
        return (PlayerOption("seed", "spin", "0", low=0),)

    def set_option(self, name: str, value: str) -> None:
        self._random = random.Random(int(value))

    def play(self, board: Board, limit: Limit) -> Decision:
        moves = sorted(board.legal_moves())
        wants = "resign" if self._random.random() < self._chance / 4 else None
        return Decision(move=self._random.choice(moves), wants=wants)


def plan(**more: Any) -> Plan:
    return Plan(**({"players": tuple(STRENGTHS), "games": 60, "rules": RULES} | more))


def contenders(within: float = 150) -> list[Contender]:
    anchors = {"good": 1700.0, "poor": 1300.0}
    return [Contender(name=name, within=within, anchor=anchors.get(name)) for name in STRENGTHS]


def lines(result: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {line["name"]: line for line in result["ratings"]["players"]}


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    folder = tmp_path_factory.mktemp("list")
    return folder, run_ladder(plan(concurrency=2), contenders(), folder, Gambler)


def test_a_list_ends_when_everybody_is_known_to_the_interval(played: tuple[Path, dict[str, Any]]) -> None:
    _, result = played
    assert result["form"] == "ladder"
    assert "all are known" in result["verdict"]
    assert all(line["sharp"] and line["within"] == 150 for line in lines(result).values())
    for line in lines(result).values():
        low, high = line["as_if_free_95"] if line["anchor"] else line["rating_95"]
        assert high - low <= 300
    assert lines(result)["good"]["rating"] == 1700
    # No more was played than that takes: six pairings of 60 games would be 360.
    assert result["games"] < 300


def test_every_pair_has_both_colours_on_one_opening(played: tuple[Path, dict[str, Any]]) -> None:
    from tabiya.arena.store import Store

    folder, _ = played
    with Store(folder, plan().settings("tournament", form="ladder")) as store:
        games = store.games
    assert len(games) % 2 == 0
    for number in range(0, len(games), 2):
        one, other = games[number], games[number + 1]
        assert (one.white, one.black) == (other.black, other.white)
        assert one.tags["Opening"] == other.tags["Opening"]


def test_the_same_command_plays_nothing_more_and_a_narrower_interval_goes_on(tmp_path: Path) -> None:
    first = run_ladder(plan(), contenders(200), tmp_path, Gambler)
    assert run_ladder(plan(), contenders(200), tmp_path, Gambler)["ratings"] == first["ratings"]
    more = run_ladder(plan(), contenders(160), tmp_path, Gambler)
    assert more["games"] > first["games"]


def test_an_interrupted_list_goes_on_and_finishes_its_pairs(tmp_path: Path) -> None:
    def interrupt(status: LadderStatus) -> None:
        if status.games == 7:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_ladder(plan(), contenders(), tmp_path, Gambler, watch=interrupt)
    text = (tmp_path / "games.pgn").read_text()
    assert text.count("[Event ") == 7
    result = run_ladder(plan(), contenders(), tmp_path, Gambler)
    assert result["games"] % 2 == 0
    assert all(line["sharp"] for line in lines(result).values())


def test_where_it_cannot_become_sharp_each_pairing_ends_and_the_verdict_says_so(tmp_path: Path) -> None:
    result = run_ladder(plan(games=4), contenders(10), tmp_path, Gambler)
    assert result["games"] == 6 * 4
    assert "not known well enough: " in result["verdict"]
    assert not any(line["sharp"] for line in lines(result).values())


def test_neighbours_in_strength_meet_more_often() -> None:
    rung = [Contender(name=f"p{at}", within=20, anchor=1000.0 + 200 * at) for at in range(8)]
    rng = random.Random(1)
    results: list[PlayedResult] = []
    met: Counter[frozenset[int]] = Counter()
    for _ in range(150):
        pairing = next_pairing(Standing(rung, results), met, 1000)
        assert pairing is not None
        met[frozenset(pairing)] += 1
        one, other = pairing
        for white, black in ((one, other), (other, one)):
            share = 1 / (1 + 10 ** ((black - white) / 2))
            won = rng.random() < share
            results.append(PlayedResult(f"p{white}", f"p{black}", "1-0" if won else "0-1"))
    by_distance: Counter[int] = Counter()
    for who, pairs in met.items():
        low, high = sorted(who)
        by_distance[high - low] += pairs
    assert by_distance[1] > by_distance[2] > by_distance[4]
    assert by_distance[1] > 75
    # Nobody is tied to one opponent alone.
    assert all(len({who for who in met if at in who}) >= 2 for at in range(8))


def test_a_player_without_games_is_sought_where_it_is_guessed() -> None:
    rung = [Contender(name=f"p{at}", within=20, anchor=1000.0 + 300 * at) for at in range(5)]
    rung.append(Contender(name="new", within=30, guess=2150))
    results = [PlayedResult(f"p{at}", f"p{at + 1}", end) for at in range(4) for end in ("1-0", "0-1")] * 50
    assert next_pairing(Standing(rung, results), {}, 10) == (5, 4)


def match_games(folder: Path, players: tuple[str, str], rules: GameRules = RULES) -> Path:
    run_match(Plan(players=players, games=6, rules=rules), folder, Gambler)
    return folder / "games.pgn"


def test_games_already_played_are_taken_in_once_with_their_partners(tmp_path: Path) -> None:
    pgn = match_games(tmp_path / "match", ("best?name=the best", "fair"))
    arguments: dict[str, Any] = {"take": [pgn], "aliases": {"the best": "best"}}
    first = run_ladder(plan(games=4), contenders(10), tmp_path / "list", Gambler, **arguments)
    assert first["taken"][0]["games"] == 6
    # Three pairs were more than the two that the list allows, so best and fair met no more.
    assert first["games"] == 5 * 4 + 6
    again = run_ladder(plan(games=4), contenders(10), tmp_path / "list", Gambler, **arguments)
    assert again["games"] == first["games"]
    assert again["ratings"] == first["ratings"]
    text = (tmp_path / "list" / "games.pgn").read_text()
    assert '"the best"' not in text
    assert text.count("[Taken ") == 6
    # Another list takes all of them in, and says of each where it lay last.
    whole = {"take": [tmp_path / "list" / "games.pgn"]}
    run_ladder(plan(games=4), contenders(10), tmp_path / "other", Gambler, **whole)
    assert (tmp_path / "other" / "games.pgn").read_text().count("[Taken ") == first["games"]


def test_games_of_others_are_left_out_and_another_pace_is_refused(tmp_path: Path) -> None:
    pgn = match_games(tmp_path / "others", ("best?name=stranger", "fair"))
    result = run_ladder(plan(games=2), contenders(10), tmp_path / "list", Gambler, take=[pgn])
    assert (result["taken"][0]["games"], result["taken"][0]["others"]) == (0, 6)
    slow = match_games(tmp_path / "slow", ("best", "fair"), GameRules(pace=Pace(depth=2)))
    with pytest.raises(UserError, match="was played at depth 2 and this list is at depth 1"):
        run_ladder(plan(games=2), contenders(10), tmp_path / "list", Gambler, take=[slow])
    foreign = tmp_path / "foreign.pgn"
    foreign.write_text('[White "best"]\n[Black "fair"]\n[Result "1-0"]\n\n1. e4 1-0\n\n')
    with pytest.raises(UserError, match="not written by the arena"):
        run_ladder(plan(games=2), contenders(10), tmp_path / "list", Gambler, take=[foreign])


def test_an_interval_of_nothing_is_refused() -> None:
    with pytest.raises(UserError, match="must be wider than 0"):
        Contender(name="best", within=0)


def test_an_effort_of_nothing_is_refused() -> None:
    with pytest.raises(UserError, match="the effort of best must be more than 0"):
        Contender(name="best", within=30, effort=0)


def test_of_two_that_teach_alike_the_cheaper_opponent_is_chosen() -> None:
    for dear in (0, 1):
        efforts = [5.0 if at == dear else 0.5 for at in range(3)]
        knowledge = Knowledge([1500.0, 1500.0, 1500.0], [0, 1], {}, efforts)
        assert knowledge.best([(0, 2), (1, 2)], {2: 1.0}) == (1 - dear, 2)


def test_a_weak_link_to_the_anchors_is_strengthened_before_its_end() -> None:
    """Two who met a hundred times hang on the anchor by two pairs of games: those are worth more."""
    ratings = [1500.0, 1700.0, 1710.0]
    meetings = {frozenset((1, 2)): 100, frozenset((0, 1)): 2}
    knowledge = Knowledge(ratings, [0], meetings)
    assert knowledge.best([(0, 1), (0, 2), (1, 2)], {1: 1.0, 2: 1.0}) in ((0, 1), (0, 2))
    # The two themselves are far better known against each other than against the anchor.
    tight = Knowledge(ratings, [0], meetings | {frozenset((0, 1)): 400, frozenset((1, 2)): 1})
    assert tight.best([(0, 1), (1, 2)], {2: 1.0}) == (1, 2)
