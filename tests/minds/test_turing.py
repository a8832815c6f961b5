"""Turing's machine: the choices it makes, and that saving work changes none of them."""

from __future__ import annotations

import threading

import chess
import pytest

from tabiya._core import Board
from tabiya.minds.simple import turing
from tabiya.minds.simple.turing import MATE, Turing
from tabiya.minds.simple.turing_value import material_ratio, position_play
from tabiya.player import Limit, PlayerError, PlayerName

POSITIONS = [
    "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
    "r1bqkb1r/pppp1ppp/2n2n2/4p3/2B1P3/5N2/PPPP1PPP/RNBQK2R w KQkq - 4 4",
    "r1bqkb1r/pppp1ppp/2n2n2/4p3/2B1P3/5N2/PPPP1PPP/RNBQK2R b KQkq - 4 4",
    "r4rk1/1pp1qppp/p1np1n2/2b1p1B1/2B1P1b1/P1NP1N2/1PP1QPPP/R4RK1 w - - 0 10",
    "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1",
    "r3k2r/Pppp1ppp/1b3nbN/nP6/BBP1P3/q4N2/Pp1P2PP/R2Q1RK1 w kq - 0 1",
    "6k1/5ppp/8/8/8/8/8/3RK3 b - - 0 1",
]


def chosen(fen: str, **limit: int) -> str:
    return Turing().play(Board(fen), Limit(**limit)).move


def by_plain_minimax(fen: str, depth: int) -> str:
    """The paper's rules without any short cut: every value of every position in full."""
    root = chess.Board(fen)
    machine = root.turn

    def value(board: chess.Board, ply: int, captured_on: int | None) -> float:
        moves = list(board.legal_moves)
        own = board.turn == machine
        if not moves:
            return 1.0 if not board.is_check() else ply - MATE if own else MATE - ply
        followed = moves
        values = []
        if ply >= depth:
            followed = [move for move in moves if turing._considerable(board, move, captured_on)]
            if len(followed) < len(moves):
                values.append(material_ratio(board, machine))
        for move in followed:
            taken = move.to_square if board.is_capture(move) else None
            board.push(move)
            values.append(value(board, ply + 1, taken))
            board.pop()
        return max(values) if own else min(values)

    found = []
    for move in list(root.legal_moves):
        taken = move.to_square if root.is_capture(move) else None
        castled = root.is_castling(move)
        root.push(move)
        found.append((value(root, 1, taken), position_play(root, castled), move.uci()))
        root.pop()
    found.sort(key=lambda each: (-each[0], -each[1], each[2]))
    return found[0][2]


@pytest.mark.parametrize(
    ("fen", "depth"),
    [
        (POSITIONS[0], 1),
        (POSITIONS[1], 1),
        (POSITIONS[4], 1),
        (POSITIONS[4], 2),
        ("6k1/5ppp/8/8/8/8/8/3RK3 w - - 0 1", 2),
        ("3rk3/3n4/8/3p4/8/2N5/3R4/3RK3 w - - 0 1", 2),
        ("4k3/1p1p4/2p1n3/3P1b2/2N1B3/3P4/8/4K3 b - - 0 1", 2),
    ],
)
def test_cutting_corners_changes_no_choice(fen, depth):
    assert chosen(fen, depth=depth) == by_plain_minimax(fen, depth)


def test_it_opens_with_the_kings_pawn_by_one_step():
    # e4 gains as much elsewhere, but opens one more line to the king: the paper's own arithmetic.
    assert Turing().play(Board(), Limit()).move == "e2e3"


@pytest.mark.parametrize(
    ("fen", "move"),
    [
        ("6k1/5ppp/8/8/8/8/8/3RK3 w - - 0 1", "d1d8"),
        ("3rk3/8/8/8/8/8/5PPP/6K1 b - - 0 1", "d8d1"),
    ],
)
def test_it_mates_in_one(fen, move):
    decision = Turing().play(Board(fen), Limit())
    assert (decision.move, decision.score) == (move, 29_999)


def test_it_takes_what_is_left_hanging_and_not_what_is_defended():
    assert chosen("4k3/8/8/3q4/8/8/3R4/3K4 w - - 0 1") == "d2d5"
    assert chosen("4k3/8/2p5/3p4/8/8/3R4/3K4 w - - 0 1") != "d2d5"


def test_it_sees_through_an_exchange():
    # Rook takes, rook takes, rook takes: with a second rook behind the first the pawn is won.
    assert chosen("3r3k/6pp/8/3p4/8/8/3R2PP/3R2K1 w - - 0 1") == "d2d5"
    assert chosen("3r3k/6pp/8/3p4/8/8/3R2PP/6K1 w - - 0 1") != "d2d5"


def test_an_en_passant_capture_of_a_lone_pawn_is_considerable():
    board = chess.Board("4k3/8/8/3pP3/8/8/8/4K3 w - d6 0 1")
    assert turing._considerable(board, chess.Move.from_uci("e5d6"), None)


def test_a_third_repetition_counts_as_equal_and_is_avoided_when_ahead():
    board = Board("6k1/8/8/8/8/8/q7/4K2R b - - 0 1")
    for move in ["a2a1", "e1e2", "a1a2", "e2e1"] * 2:
        board.push(move)
    winning = Turing().play(board, Limit())
    assert board.repetitions_after(winning.move) < 2


def test_it_is_deterministic():
    for fen in POSITIONS:
        first, second = (Turing().play(Board(fen), Limit()) for _ in range(2))
        assert (first.move, first.nodes) == (second.move, second.nodes)


def test_it_leaves_the_board_as_it_was():
    board = Board()
    board.push("e2e4")
    before = (board.fen(), board.moves)
    Turing().play(board, Limit())
    assert (board.fen(), board.moves) == before


@pytest.mark.parametrize("limit", [Limit(movetime=0), Limit(nodes=1), Limit(white_clock=0, black_clock=0)])
def test_without_time_it_still_moves(limit):
    board = Board(POSITIONS[3])
    assert board.is_legal(Turing().play(board, limit).move)


def test_stop_ends_a_long_thought():
    player = Turing(depth=6)
    done = threading.Event()

    def stop_until_done() -> None:
        while not done.wait(0.05):
            player.stop()

    thread = threading.Thread(target=stop_until_done)
    thread.start()
    try:
        board = Board(POSITIONS[3])
        assert board.is_legal(player.play(board, Limit(infinite=True)).move)
    finally:
        done.set()
        thread.join()


def test_its_depth_can_be_set_and_is_checked():
    player = Turing()
    player.set_option("depth", "1")
    assert player.play(Board(), Limit()).depth == 1
    with pytest.raises(ValueError, match="Depth must lie between 1 and 6, not 7"):
        player.set_option("Depth", "7")
    with pytest.raises(PlayerError, match="turing takes no path, got 'x'"):
        turing.open_player(PlayerName.parse("turing:x"))
    with pytest.raises(PlayerError, match="turing has no option 'dept', did you mean 'Depth'"):
        turing.open_player(PlayerName.parse("turing?dept=1"))


def test_mates_are_scored_in_moves_for_and_against():
    assert turing._mate_score(MATE - 1) == 29_999
    assert turing._mate_score(MATE - 3) == 29_998
    assert turing._mate_score(2 - MATE) == -29_999
    assert turing._mate_score(1.5) is None
