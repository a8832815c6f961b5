"""Many games side by side: the rules of the arena, one call a side, openings that never come twice."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path

import pytest

from tabiya._core import Board
from tabiya.arena.adjudication import Adjudication
from tabiya.arena.books import Book, Opening
from tabiya.arena.campaign import Plan
from tabiya.arena.game import GameRules, Pace, play_game
from tabiya.arena.mass import distinct_openings, play_together, run_mass_match
from tabiya.arena.match import match_fixtures
from tabiya.arena.pgn_results import read_results
from tabiya.arena.record import GameRecord
from tabiya.arena.runner import Event, entrants
from tabiya.arena.sprt import Sprt
from tabiya.arena.tally import score_of
from tabiya.errors import UserError
from tabiya.player import Decision, Limit, Player, PlayerError, PlayerFailure

RULES = GameRules(pace=Pace(), adjudication=Adjudication(max_moves=30))


class Steady(Player):
    """The same move in the same position, always; resigns as often as its weakness says."""

    def __init__(self, name: str, weakness: float = 0.0) -> None:
        self.name, self.weakness = name, weakness
        self.asked = 0

    def play(self, board: Board, limit: Limit) -> Decision:
        self.asked += 1
        chance = random.Random(f"{self.name} {board.fen()}")
        wants = "resign" if chance.random() < self.weakness else None
        return Decision(move=chance.choice(board.legal_moves()), wants=wants, score=12.0, nodes=1)


class Batching(Steady):
    """Steady, for many positions in one call, and keeps the sizes of its batches."""

    def __init__(self, name: str, weakness: float = 0.0) -> None:
        super().__init__(name, weakness)
        self.batches: list[int] = []
        self.closed = False

    def play_batch(self, boards: Sequence[Board], limit: Limit) -> list[Decision]:
        self.batches.append(len(boards))
        return [self.play(board, limit) for board in boards]

    def close(self) -> None:
        self.closed = True


def lines(count: int) -> list[Opening]:
    """Different openings of two random half-moves."""
    chance, found = random.Random(5), {}
    while len(found) < count:
        board = Board()
        for _ in range(2):
            board.push(chance.choice(board.legal_moves()))
        found[board.key()] = Opening(Board().fen(), tuple(board.moves))
    return list(found.values())


def book(folder: Path, count: int) -> Book:
    path = folder / "book.epd"
    path.write_text("".join(f"{opening.board().fen()}\n" for opening in lines(count)))
    return Book.read(path)


def play(players: dict[str, Player], games: int, rules: GameRules = RULES, **more: int) -> list[GameRecord]:
    """The games of a match between two players, in the order of their numbers."""
    event = Event(
        entrants=entrants(list(players)),
        openings=lines((games + 1) // 2),
        rules=rules,
        open_player=players.__getitem__,
    )
    records: list[GameRecord] = []

    def finished(record: GameRecord) -> bool:
        records.append(record)
        return True

    play_together(event, match_fixtures(games), finished, **more)
    return sorted(records, key=lambda record: record.number)


def untimed(record: GameRecord) -> tuple[object, ...]:
    moves = [(each.move, each.san, each.score, each.nodes) for each in record.moves]
    return record.number, record.white, record.black, record.result, record.ending, record.reason, moves


@pytest.mark.parametrize("at_once", [1, 3, 100])
def test_games_played_together_are_the_games_played_one_by_one(at_once):
    together = play({"a": Batching("a", 0.01), "b": Batching("b", 0.02)}, 9, at_once=at_once)
    alone = [
        play_game(
            *[{"a": Steady("a", 0.01), "b": Steady("b", 0.02)}[name] for name in names],
            lines(5)[number // 2],
            RULES,
            number=number,
        )
        for number, names in enumerate((["a", "b"], ["b", "a"]) * 4 + (["a", "b"],))
    ]
    assert [untimed(game) for game in together] == [untimed(game) for game in alone]
    assert len({game.reason for game in together}) > 1


def test_a_side_answers_all_its_games_with_one_call():
    first, second = Batching("a"), Batching("b")
    records = play({"a": first, "b": second}, 40)
    longest = max(len(record.moves) for record in records)
    assert len(first.batches) <= longest / 2 + 1
    assert max(second.batches) >= 20
    assert first.asked + second.asked == sum(len(record.moves) for record in records)
    assert first.closed
    assert second.closed


def test_a_player_without_batches_is_asked_one_by_one():
    plain = play({"a": Steady("a", 0.01), "b": Batching("b")}, 6)
    batched = play({"a": Batching("a", 0.01), "b": Batching("b")}, 6)
    assert [untimed(game) for game in plain] == [untimed(game) for game in batched]


class Breaking(Batching):
    """Breaks on what `odd` finds odd."""

    def play(self, board: Board, limit: Limit) -> Decision:
        if len(board.moves) > 8 and board.moves[0] in ("a2a3", "a2a4", "b2b3", "b2b4", "c2c3", "c2c4"):
            raise PlayerFailure("broken is broken")
        return super().play(board, limit)


def test_a_position_that_breaks_a_player_costs_that_game_and_no_other():
    records = play({"broken": Breaking("broken"), "b": Batching("b")}, 40)
    lost = [record for record in records if record.ending == "abandoned"]
    assert 0 < len(lost) < 40
    assert {record.reason for record in lost} == {"broken is broken"}
    for record in lost:
        assert record.result == ("0-1" if record.white == "broken" else "1-0")
        assert record.opening.moves[0][0] in "abc"


def test_nonsense_and_illegal_moves_lose():
    class Illegal(Batching):
        def play(self, board, limit):
            return Decision(move="e1e9")

    class Nonsense(Batching):
        def play_batch(self, boards, limit):
            return [None for _ in boards]

    class TooFew(Batching):
        def play_batch(self, boards, limit):
            return []

    for record in play({"x": Illegal("x"), "b": Batching("b")}, 2):
        assert record.ending == "rules infraction"
        assert record.reason == "x played the illegal move e1e9"
    assert {record.ending for record in play({"x": Nonsense("x"), "b": Batching("b")}, 2)} == {"abandoned"}
    # Too few answers are none: the player is asked again, one by one, and plays on.
    assert [untimed(game) for game in play({"a": TooFew("a"), "b": Batching("b")}, 4)] == [
        untimed(game) for game in play({"a": Batching("a"), "b": Batching("b")}, 4)
    ]


def test_a_player_that_cannot_be_opened_ends_the_match_before_its_first_game():
    def refuse(_name: str) -> Player:
        raise PlayerError("no such network")

    event = Event(entrants=entrants(["a", "b"]), openings=lines(1), rules=RULES, open_player=refuse)
    with pytest.raises(PlayerError, match="no such network"):
        play_together(event, match_fixtures(2), lambda _record: True)


def test_a_clock_is_refused():
    with pytest.raises(UserError, match="games that are played together have no clock"):
        play({"a": Steady("a"), "b": Steady("b")}, 2, GameRules(pace=Pace(clock=1.0)))


def test_draws_are_claimed_and_long_games_end():
    class Shuffling(Batching):
        """Moves its king's knight out and back."""

        def play(self, board, limit):
            home = "g1" if board.white_to_move else "g8"
            away = "f3" if board.white_to_move else "f6"
            knight = board.piece_at(home) in ("N", "n")
            return Decision(move=home + away if knight else away + home)

    event = Event(
        entrants=entrants(["a", "b"]),
        openings=[Opening(Board().fen())],
        rules=GameRules(pace=Pace()),
        open_player=lambda name: Shuffling(name),
    )
    records: list[GameRecord] = []
    play_together(event, match_fixtures(1), lambda record: not records.append(record))
    assert (records[0].result, records[0].reason) == ("1/2-1/2", "threefold repetition")
    short = GameRules(pace=Pace(), adjudication=Adjudication(max_moves=3))
    assert {record.reason for record in play({"a": Batching("a"), "b": Batching("b")}, 4, short)} == {
        "adjudicated: longer than 3 moves"
    }


def test_no_two_openings_lead_to_one_position(tmp_path):
    path = tmp_path / "book.pgn"
    path.write_text("1. e4 e5 2. Nf3 *\n\n1. Nf3 e5 2. e4 *\n\n1. e4 e5 2. Nf3 *\n\n1. d4 d5 *\n")
    found = distinct_openings(Book.read(path), 4, seed=0)
    assert len(found) == 2
    assert len({opening.board().key() for opening in found}) == 2
    whole = Book.built_in()
    assert len(distinct_openings(whole, 30, 1)) == 30
    assert distinct_openings(whole, 30, 1) == distinct_openings(whole, 40, 1)[:30]
    assert distinct_openings(whole, 30, 1) != distinct_openings(whole, 30, 2)


def plan(tmp_path: Path, games: int, openings: int = 60) -> Plan:
    return Plan(players=("a", "b"), games=games, rules=RULES, book=book(tmp_path, openings))


def test_an_exhausted_book_is_refused_before_the_first_game(tmp_path):
    with pytest.raises(UserError, match=r"22 games need 11 different openings.* has 10: .* at most 20 games"):
        run_mass_match(plan(tmp_path, 22, openings=10), tmp_path / "out", Batching)
    assert not (tmp_path / "out").exists()


def test_a_match_is_counted_as_its_file_says(tmp_path):
    def open_player(name: str) -> Player:
        return Batching(name, 0.001 if name == "a" else 0.01)

    result = run_mass_match(plan(tmp_path, 60), tmp_path / "out", open_player)
    assert result["games"] == 60
    assert sum(result["pentanomial"]) == 30
    score = score_of("a", read_results([tmp_path / "out" / "games.pgn"]).games)
    assert (score.wins, score.draws, score.losses) == (result["wins"], result["draws"], result["losses"])
    assert result["elo"] > 0
    assert result["faults"] == {}
    assert json.loads((tmp_path / "out" / "result.json").read_text()) == result


def test_a_sequential_test_stops_the_match_and_does_not_depend_on_the_games_at_once(tmp_path):
    def open_player(name: str) -> Player:
        return Batching(name, 0.0 if name == "a" else 0.05)

    test = Sprt(elo0=0, elo1=100)
    results = [
        run_mass_match(plan(tmp_path, 120), tmp_path / str(size), open_player, sprt=test, at_once=size)
        for size in (2, 50)
    ]
    for result in results:
        assert result["sprt"]["verdict"] == "H1"
        assert 2 <= result["games"] < 120
    assert results[0]["games"] == results[1]["games"]
    assert results[0]["pentanomial"] == results[1]["pentanomial"]


def test_a_match_that_was_stopped_goes_on_where_it_was(tmp_path):
    asked: list[Batching] = []

    def open_player(name: str) -> Player:
        asked.append(Batching(name, 0.01))
        return asked[-1]

    class StoppedError(Exception):
        pass

    def stop(status) -> None:
        if status.games == 21:
            raise StoppedError

    whole = run_mass_match(plan(tmp_path, 40), tmp_path / "whole", open_player)
    with pytest.raises(StoppedError):
        run_mass_match(plan(tmp_path, 40), tmp_path / "out", open_player, at_once=4, watch=stop)
    before = sum(player.asked for player in asked)
    again = run_mass_match(plan(tmp_path, 40), tmp_path / "out", open_player)
    assert sum(player.asked for player in asked) - before < before
    assert again["pentanomial"] == whole["pentanomial"]
    assert [again[key] for key in ("wins", "draws", "losses")] == [
        whole[key] for key in ("wins", "draws", "losses")
    ]


def test_games_of_other_networks_are_not_taken_for_these(tmp_path):
    run_mass_match(plan(tmp_path, 4), tmp_path / "out", Batching, identity={"a": "1234", "b": "5678"})
    with pytest.raises(UserError, match=r"was begun with identity a \"1234\", not \"9999\""):
        run_mass_match(plan(tmp_path, 4), tmp_path / "out", Batching, identity={"a": "9999", "b": "5678"})
