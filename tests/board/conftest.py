"""Positions for the tests of rules and encoders: random ones, and those where encoders go wrong."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator

import chess
import pytest

# Castling on every side, pins along an en passant capture, promotions both ways, clocks at their limits.
AWKWARD_FENS = (
    chess.STARTING_FEN,
    "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",
    "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R b Kq - 7 33",
    "n1n5/PPPk4/8/8/8/8/4Kppp/5N1N b - - 0 1",
    "n1n5/PPPk4/8/8/8/8/4Kppp/5N1N w - - 0 1",
    "rnbqkbnr/ppp1p1pp/8/3pPp2/8/8/PPPP1PPP/RNBQKBNR w KQkq f6 0 3",
    "rnbqkbnr/pppp1ppp/8/8/3PpP2/8/PPP1P1PP/RNBQKBNR b KQkq d3 0 3",
    "8/8/8/8/k2Pp2Q/8/8/3K4 b - d3 0 1",  # the capture would uncover the queen
    "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 99 60",
    "7k/8/8/8/8/8/8/KQ6 w - - 130 300",  # past the 100 where the clock's plane stops
    "4k3/8/8/8/8/8/8/QQQQKQQQ w - - 0 1",
    "5k2/8/8/8/8/8/8/4K2R w K - 3 9",
    "r3k3/8/8/8/8/8/8/3K4 b q - 0 1",
)


@pytest.fixture(params=AWKWARD_FENS)
def awkward_fen(request: pytest.FixtureRequest) -> str:
    """A position where an encoder is easily wrong."""
    return str(request.param)


@pytest.fixture(scope="session")
def many() -> int:
    """How many random positions to look at: 2,000, and 100,000 with TABIYA_FULL=1."""
    return 100_000 if os.environ.get("TABIYA_FULL") else 2_000


def random_game(seed: int, plies: int = 600) -> Iterator[chess.Board]:
    """One board, played on with random moves and given after each, until the rules end the game."""
    choose = random.Random(seed)
    board = chess.Board()
    yield board
    while board.ply() < plies and not board.is_game_over():
        board.push(choose.choice(list(board.legal_moves)))
        yield board


@pytest.fixture(params=range(6))
def long_game(request: pytest.FixtureRequest) -> Iterator[chess.Board]:
    """A random game of up to 600 plies, position by position."""
    return random_game(int(request.param))
