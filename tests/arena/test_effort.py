"""What a move costs: the means are those of the decisions, and everybody is asked the same."""

from __future__ import annotations

from pathlib import Path

from tabiya._core import Board
from tabiya.arena.effort import WARM_UP, effort_positions, measure_effort
from tabiya.player import Decision, Limit, Player


class Counts(Player):
    """Says that it looked at 10, 20, 30 … positions, or nothing."""

    def __init__(self, step: int = 10) -> None:
        self.step, self.games, self.seen = step, 0, list[str]()

    def new_game(self) -> None:
        self.games += 1

    def play(self, board: Board, limit: Limit) -> Decision:
        self.seen.append(board.fen())
        return Decision(move=board.legal_moves()[0], nodes=self.step * (len(self.seen) - WARM_UP))


def test_the_mean_is_that_of_the_decisions_without_the_warm_up() -> None:
    player, boards = Counts(), effort_positions(None, 4, seed=1)
    figures = measure_effort(player, boards, Limit(nodes=5))
    assert (figures["moves"], figures["positions_per_move"]) == (4, 25.0)
    assert player.seen[WARM_UP:] == [board.fen() for board in boards]
    assert player.games == len(player.seen)  # every position stands alone
    assert 0 <= figures["median_ms"] <= figures["p95_ms"]


def test_a_player_that_tells_no_number_has_none() -> None:
    assert measure_effort(Counts(0), effort_positions(None, 3, 1), Limit())["positions_per_move"] is None


def test_one_seed_gives_one_set_of_positions(tmp_path: Path) -> None:
    def fens(seed: int) -> list[str]:
        return [board.fen() for board in effort_positions(None, 10, seed)]

    assert fens(3) == fens(3) != fens(4)
    book = tmp_path / "two.fen"
    book.write_text("4k3/8/8/8/8/8/8/4K2R w - - 0 1\n4k3/8/8/8/8/8/8/4K1R1 b - - 0 1\n")
    # A small book is not asked twice over.
    assert len({board.fen() for board in effort_positions(book, 10, 0)}) == 2
