"""Twenty-one planes: the eighteen of the core, and what the rules ask beyond them."""

from __future__ import annotations

import numpy as np
import pytest

from tabiya._core import Board, encode_planes, random_positions
from tabiya.board.planes import encode


def rows(*boards: Board) -> np.ndarray:
    return np.frombuffer(b"".join(board.packed() for board in boards), np.uint8).reshape(-1, 32)


def test_the_first_eighteen_planes_are_the_cores():
    packed = random_positions(200, 3)
    expected = encode_planes(packed, "mover")
    np.testing.assert_array_equal(encode(packed, 18), expected)
    np.testing.assert_array_equal(encode(packed, 21)[:, :18], expected)


@pytest.mark.parametrize(
    ("fen", "square"),
    [
        ("rnbqkbnr/ppp1p1pp/8/3pPp2/8/8/PPPP1PPP/RNBQKBNR w KQkq f6 0 3", (5, 5)),
        ("rnbqkbnr/pppp1ppp/8/8/3PpP2/8/PPP1P1PP/RNBQKBNR b KQkq d3 0 3", (5, 3)),  # mirrored for Black
        ("8/8/8/8/k2Pp2Q/8/8/3K4 b - d3 0 1", None),  # the capture would uncover the queen
    ],
)
def test_a_legal_en_passant_square_is_marked_in_the_movers_view(fen, square):
    plane = encode(rows(Board(fen)), 21)[0, 18]
    assert [tuple(each) for each in np.argwhere(plane).tolist()] == ([square] if square else [])


def test_a_repeated_position_says_so_everywhere():
    board, seen = Board(), []
    for move in ("g1f3", "g8f6", "f3g1", "f6g8") * 2:
        board.push(move)
        seen.append(encode(rows(board), 21)[0, 19:].mean(axis=(1, 2)).tolist())
    assert seen == [[0, 0]] * 3 + [[1, 0]] * 4 + [[1, 1]]


def test_another_number_of_planes_is_refused():
    with pytest.raises(ValueError, match="a position has 18 or 21 planes, not 19"):
        encode(rows(Board()), 19)
