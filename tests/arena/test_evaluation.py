"""Asking a player: every position stands alone, failures cost one position, samples follow the seed."""

from __future__ import annotations

import bz2
import gzip
import json
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from tabiya._core import Board
from tabiya.arena.evaluation import (
    BATCH,
    PATIENCE,
    Examiner,
    limit_figures,
    read_lines,
    sample,
    wilson,
    write_record,
)
from tabiya.errors import UserError
from tabiya.player import Decision, Limit, Player, PlayerError, PlayerFailure

LIMIT = Limit(nodes=1)


class First(Player):
    """Plays the first legal move, one node a move."""

    def play(self, board: Board, limit: Limit) -> Decision:
        return Decision(move=board.legal_moves()[0], nodes=1)


class Breaks(First):
    """Breaks wherever Black is to move."""

    def play(self, board: Board, limit: Limit) -> Decision:
        if not board.white_to_move:
            raise PlayerFailure("breaks crashed")
        return super().play(board, limit)


class Cheats(First):
    """Moves as if every board were empty."""

    def play(self, board: Board, limit: Limit) -> Decision:
        return Decision(move="a1h8")


class Together(First):
    """Answers in batches and notes their sizes."""

    sizes: list[int] = []  # noqa: RUF012 - one list for all instances is the point

    def play(self, board: Board, limit: Limit) -> Decision:
        raise AssertionError("a batch player is asked in batches")

    def play_batch(self, boards: Sequence[Board], limit: Limit) -> list[Decision]:
        self.sizes.append(len(boards))
        return [Decision(move=board.legal_moves()[-1]) for board in boards]


def boards_after(*moves: str) -> list[Board]:
    boards = [Board()]
    for move in moves:
        boards.append(boards[-1].copy())
        boards[-1].push(move)
    return boards


def test_answers_come_in_the_order_of_the_questions_whatever_the_threads() -> None:
    boards = boards_after("e2e4", "e7e5", "g1f3", "b8c6", "f1b5", "a7a6") * 20
    expected = [board.legal_moves()[0] for board in boards]
    for threads in (1, 4):
        with Examiner("first", lambda _: First(), LIMIT, threads) as examiner:
            answers = list(examiner.answers(boards))
        assert [answer.move for answer in answers if answer] == expected


def test_each_thread_has_a_player_of_its_own() -> None:
    opened: list[Player] = []
    meeting = threading.Barrier(3, timeout=30)

    class Waits(First):
        def play(self, board: Board, limit: Limit) -> Decision:
            meeting.wait()  # passes only if three are asked at once
            return super().play(board, limit)

    def open_player(_: str) -> Player:
        opened.append(Waits())
        return opened[-1]

    with Examiner("waits", open_player, LIMIT, 3) as examiner:
        assert len(list(examiner.answers([Board()] * 6))) == 6
    assert len(opened) == 3


def test_a_player_with_a_batch_method_is_asked_in_batches() -> None:
    Together.sizes.clear()
    boards = [Board()] * (BATCH + 3)
    with Examiner("together", lambda _: Together(), LIMIT, 4) as examiner:
        answers = list(examiner.answers(boards))
    assert Together.sizes == [BATCH, 3]
    assert len(answers) == BATCH + 3
    assert all(answer is not None and answer.move == Board().legal_moves()[-1] for answer in answers)


def test_one_bad_answer_in_a_batch_costs_that_position_alone() -> None:
    class SometimesBad(Together):
        def play(self, board: Board, limit: Limit) -> Decision:
            return Decision(move=board.legal_moves()[0] if board.white_to_move else "a1h8")

        def play_batch(self, boards: Sequence[Board], limit: Limit) -> list[Decision]:
            return [self.play(board, limit) for board in boards]

    with Examiner("bad", lambda _: SometimesBad(), LIMIT) as examiner:
        answers = list(examiner.answers(boards_after("e2e4", "e7e5")))
    assert [answer is None for answer in answers] == [False, True, False]


def test_a_player_that_breaks_is_opened_anew_and_has_no_answer_there() -> None:
    opened = 0

    def open_player(_: str) -> Player:
        nonlocal opened
        opened += 1
        return Breaks()

    with Examiner("breaks", open_player, LIMIT) as examiner:
        answers = list(examiner.answers(boards_after("e2e4", "e7e5", "g1f3")))
    assert [answer is None for answer in answers] == [False, True, False, True]
    assert opened == 3
    figures = examiner.figures()
    assert figures["failures"] == 2
    assert figures["failed_on"][0]["why"] == "breaks crashed"
    assert figures["nodes_per_move"] == 0.5


def test_an_illegal_move_is_no_answer() -> None:
    with Examiner("cheats", lambda _: Cheats(), LIMIT) as examiner:
        assert list(examiner.answers([Board()])) == [None]
    assert "illegal move a1h8" in examiner.failures[0].why


def test_a_player_that_only_fails_ends_the_evaluation_with_its_reason() -> None:
    with (
        Examiner("cheats", lambda _: Cheats(), LIMIT) as examiner,
        pytest.raises(PlayerError, match=f"failed on {PATIENCE} positions running.*a1h8"),
    ):
        list(examiner.answers([Board()] * 50))


def test_no_thread_is_refused() -> None:
    with pytest.raises(UserError, match="--concurrency"):
        Examiner("first", lambda _: First(), LIMIT, 0)


@settings(deadline=None)
@given(st.lists(st.integers(), max_size=60), st.integers(1, 70), st.integers())
def test_a_sample_is_a_part_in_order_and_the_same_for_one_seed(
    items: list[int], count: int, seed: int
) -> None:
    numbered = list(enumerate(items))
    chosen = sample(numbered, count, seed)
    assert chosen == sample(iter(numbered), count, seed)
    assert len(chosen) == min(count, len(items))
    assert chosen == sorted(set(chosen) & set(numbered))


def test_a_sample_is_not_the_head_of_the_file_and_seeds_differ() -> None:
    chosen = [sample(range(10_000), 20, seed) for seed in (1, 2)]
    assert max(chosen[0]) > 5_000
    assert chosen[0] != chosen[1]


def test_a_sample_of_nothing_is_refused() -> None:
    with pytest.raises(UserError, match="--max must be at least 1"):
        sample([1], 0, 0)


@settings(deadline=None)
@given(st.integers(1, 10_000).flatmap(lambda asked: st.tuples(st.integers(0, asked), st.just(asked))))
def test_wilsons_interval_lies_in_the_unit_and_holds_the_share(counts: tuple[int, int]) -> None:
    right, asked = counts
    interval = wilson(right, asked)
    assert interval is not None
    assert 0 <= interval[0] <= right / asked <= interval[1] <= 1


@pytest.mark.parametrize(
    ("name", "pack"),
    [
        ("a.txt", lambda text: text),
        ("a.txt.gz", gzip.compress),
        ("a.txt.bz2", bz2.compress),
        ("a.txt.zst", lambda text: zstandard.ZstdCompressor().compress(text)),
    ],
)
def test_lines_are_numbered_in_plain_and_compressed_files(tmp_path: Path, name: str, pack) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / name).write_bytes(pack(b"\xef\xbb\xbfone\r\n\ntwo\0\nS\xf8ren"))
    assert list(read_lines(tmp_path / name)) == [(1, "one"), (3, "two"), (4, "S�ren")]


def test_a_truncated_file_is_no_shorter_file(tmp_path: Path) -> None:
    whole = zstandard.ZstdCompressor().compress(bytes(range(256)) * 500)
    (tmp_path / "cut.zst").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(UserError, match=r"cut\.zst"):
        list(read_lines(tmp_path / "cut.zst"))


def test_a_limit_is_recorded_without_what_was_not_set() -> None:
    assert limit_figures(Limit(nodes=5, depth=3)) == {"nodes": 5, "depth": 3}


def test_a_record_replaces_that_of_the_same_question_and_no_other(tmp_path: Path) -> None:
    first = write_record(tmp_path, "suite", "uci:/a b?c=1", {"seed": 1, "figures": {"share": 0.1}})
    again = write_record(tmp_path, "suite", "uci:/a b?c=1", {"seed": 1, "figures": {"share": 0.2}})
    other = write_record(tmp_path, "suite", "uci:/a b?c=1", {"seed": 2, "figures": {"share": 0.3}})
    assert first == again != other
    assert json.loads(first.read_text())["figures"] == {"share": 0.2}
    assert sorted(tmp_path.iterdir()) == sorted([first, other])
