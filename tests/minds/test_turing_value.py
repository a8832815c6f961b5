"""Turing's values against the figures he wrote down himself, and against arithmetic by hand."""

from __future__ import annotations

import random
from math import sqrt

import chess
import pytest

from tabiya.minds.simple.turing_value import (
    CheckingSquares,
    gives_mate,
    material,
    material_ratio,
    position_play,
)

# The game of 1952 against Glennie: White's moves with the gain in position-play that Turing noted.
NOTED = [
    ("e4", 4.2, "e5"),
    ("Nc3", 3.1, "Nf6"),
    ("d4", 2.6, "Bb4"),
    ("Nf3", 2.0, "d6"),
    ("Bd2", 3.6, "Nc6"),
    ("d5", 0.2, "Nd4"),
    ("h4", 1.1, "Bg4"),
    ("a4", 1.0, "Nxf3+"),
]


def test_the_gains_that_turing_noted_come_out_within_a_tenth():
    board = chess.Board()
    for san, noted, reply in NOTED:
        before = board.copy(stack=False)
        before.turn = chess.BLACK
        board.push_san(san)
        gain = position_play(board) - position_play(before)
        assert gain == pytest.approx(noted, abs=0.1), f"{san}: {gain:.2f}"
        board.push_san(reply)


def test_the_start_position_by_hand():
    board = chess.Board()
    board.turn = chess.BLACK
    # Both knights have two moves; rooks, bishops, knights: b1, g1, c1, f1 are defended once, the rooks never.
    pieces = 2 * sqrt(2) + 4 * 1.0
    castling = 1.0
    pawns = 8 * 0.3
    assert position_play(board) == pytest.approx(pieces + castling + pawns)


def test_a_capture_counts_as_two_moves():
    free = chess.Board("7k/8/8/8/8/8/8/R3K3 b - - 0 1")
    capture = chess.Board("7k/8/8/8/p7/8/8/R3K3 b - - 0 1")
    # With nothing in the way the rook has 7 + 3 moves; with a pawn on a4, 3 + 3 of which one counts twice.
    assert position_play(free) - position_play(capture) == pytest.approx(sqrt(10) - sqrt(7), abs=1e-9)


def test_castling_is_worth_more_done_than_possible():
    board = chess.Board("4k3/8/8/8/8/8/8/4K2R b K - 0 1")
    without = chess.Board("4k3/8/8/8/8/8/8/4K2R b - - 0 1")
    assert position_play(board) - position_play(without) == pytest.approx(2.0)
    castled = chess.Board("4k3/8/8/8/8/8/8/5RK1 b - - 0 1")
    assert position_play(castled, castled=True) - position_play(castled) == pytest.approx(3.0)


def test_a_check_is_worth_half_a_point():
    check = chess.Board("4k3/3P4/8/8/8/8/8/K7 b - - 0 1")
    quiet = chess.Board("8/3P4/8/7k/8/8/8/K7 b - - 0 1")
    assert position_play(check) - position_play(quiet) == pytest.approx(0.5)


def test_the_threat_of_mate_is_worth_a_point():
    threat = chess.Board("6k1/5ppp/8/8/8/8/8/3R2K1 b - - 0 1")
    averted = chess.Board("6k1/5pp1/7p/8/8/8/8/3R2K1 b - - 0 1")
    assert position_play(threat) - position_play(averted) == pytest.approx(1.0)


def test_material_is_a_ratio():
    board = chess.Board("4k3/pp6/8/8/8/8/8/QRBNK3 w - - 0 1")
    assert material(board, chess.WHITE) == 10 + 5 + 3.5 + 3
    assert material(board, chess.BLACK) == 2
    assert material_ratio(board, chess.WHITE) == pytest.approx(21.5 / 2)
    assert material_ratio(board, chess.BLACK) == pytest.approx(2 / 21.5)


def test_an_even_exchange_raises_the_ratio_of_the_side_ahead():
    before = chess.Board("3rk3/8/8/8/8/8/8/2RRK3 w - - 0 1")
    after = chess.Board("4k3/8/8/8/8/8/8/3RK3 w - - 0 1")
    assert material_ratio(after, chess.WHITE) > material_ratio(before, chess.WHITE)


@pytest.mark.parametrize(
    "fen",
    [
        "6k1/5ppp/8/8/8/8/8/3RK3 w - - 0 1",
        "r1bqkb1r/pppp1ppp/2n2n2/4p2Q/2B1P3/8/PPPP1PPP/RNB1K1NR w KQkq - 4 4",
        "5rk1/1P3ppp/8/8/8/8/8/R3K2R w KQ - 0 1",
        "8/8/8/8/8/5k2/4R2R/3rK3 w - - 0 1",
        "3k4/8/3K4/4pP2/8/8/8/3R4 w - e6 0 1",
        "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",
        "8/8/8/8/3k4/8/8/R3K1NR w KQ - 0 1",
    ],
)
def test_the_short_cut_finds_every_mating_move(fen):
    board = chess.Board(fen)
    for move in list(board.legal_moves):
        board.push(move)
        mate = board.is_checkmate()
        board.pop()
        assert gives_mate(board, move) == mate, move.uci()


def test_no_move_that_gives_check_is_passed_over():
    chance = random.Random(3)
    checks = 0
    for _ in range(60):
        board = chess.Board()
        while not board.is_game_over() and board.ply() < 120:
            checking = CheckingSquares.of(board)
            for move in board.legal_moves:
                if board.gives_check(move):
                    checks += 1
                    assert checking.may_check(board, move), f"{board.fen()} {move.uci()}"
            board.push(chance.choice(list(board.legal_moves)))
    assert checks > 1000
