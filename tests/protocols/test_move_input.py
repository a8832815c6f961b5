"""What a person types: every slip that can be understood is, and the rest is explained."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tabiya._core import Board
from tabiya.protocols.move_input import understand

START = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"
CASTLE = "r3k2r/8/8/8/8/8/3N3N/R3K2R w KQkq - 0 1"
PROMOTE = "8/4P3/8/8/8/8/k7/7K w - - 0 1"
CHECKED = "4k3/8/8/8/8/8/4r3/4K2R w K - 0 1"
PINNED = "4k3/4r3/8/8/8/8/4B3/4K2R w K - 0 1"
CAPTURE = "rnbqkbnr/ppp1pppp/8/3p4/2B1P3/8/PPPP1PPP/RNBQK1NR w KQkq - 0 1"
EN_PASSANT = "4k3/8/8/3pP3/8/8/8/4K3 w - d6 0 1"


@pytest.mark.parametrize(
    ("fen", "text", "move"),
    [
        (START, "e4", "e2e4"),
        (START, "e2e4", "e2e4"),
        (START, "E2E4", "e2e4"),
        (START, "e2-e4", "e2e4"),
        (START, " Nf3! ", "g1f3"),
        (START, "nf3", "g1f3"),
        (START, "g1f3", "g1f3"),
        (START, "e4+", "e2e4"),
        (CASTLE, "O-O", "e1g1"),
        (CASTLE, "0-0-0", "e1c1"),
        (CASTLE, "oo", "e1g1"),
        (CASTLE, "e1c1", "e1c1"),
        (CASTLE, "Ndf3", "d2f3"),
        (PROMOTE, "e8=Q", "e7e8q"),
        (PROMOTE, "e8q", "e7e8q"),
        (PROMOTE, "e8N", "e7e8n"),
        (PROMOTE, "e7e8R", "e7e8r"),
        (PROMOTE, "e7e8=b", "e7e8b"),
        (CAPTURE, "exd5", "e4d5"),
        (CAPTURE, "ed5", "e4d5"),
        (CAPTURE, "bxd5", "c4d5"),
        (EN_PASSANT, "exd6 e.p.", "e5d6"),
    ],
)
def test_a_move_is_understood_however_it_is_written(fen, text, move):
    assert understand(Board(fen), text) == move


@pytest.mark.parametrize(
    ("fen", "text", "reason"),
    [
        (START, "e5", "no pawn of yours can reach e5"),
        (START, "Nf6", "no knight of yours can reach f6"),
        (START, "e2e5", "the pawn on e2 cannot go to e5"),
        (START, "e3e4", "there is no piece on e3"),
        (START, "e7e5", "the pawn on e7 is not yours"),
        (START, "d1e2", "your own pawn stands on e2"),
        (START, "O-O", "you cannot castle: f1 and g1 must be empty"),
        (CASTLE, "Nf1", "Nf1 is ambiguous: Ndf1 or Nhf1"),
        (CASTLE.replace("KQkq", "-"), "O-O", "you can no longer castle on the king's side"),
        (PROMOTE, "e8", "e8 promotes: say to what, e8=B or e8=N or e8=Q or e8=R"),
        (PROMOTE, "e7e8", "e7e8 promotes: say to what, e7e8q or e7e8r or e7e8b or e7e8n"),
        (PROMOTE, "Bc4", "you have no bishop"),
        (CHECKED, "O-O", "you cannot castle out of check"),
        (CHECKED, "e1g1", "you cannot castle out of check"),
        (CHECKED, "Rg1", "Rg1 does not answer the check"),
        ("4kr2/8/8/8/8/8/8/4K2R w K - 0 1", "O-O", "you cannot castle through or into check"),
        (PINNED, "Bd3", "Bd3 would leave your king in check"),
        (PINNED, "e2d3", "e2d3 would leave your king in check"),
        (CAPTURE, "d5", "a pawn only takes on d5: exd5"),
        (START, "e2e4q", "e2e4 does not promote"),
        (START, "Nf3xx", "'Nf3xx' is not a move; did you mean Nf3"),
        (START, "hello", "'hello' is neither a move"),
    ],
)
def test_what_is_no_move_is_explained(fen, text, reason):
    with pytest.raises(ValueError, match=r".") as refused:
        understand(Board(fen), text)
    assert str(refused.value).startswith(reason)


@pytest.mark.parametrize("fen", [START, CASTLE, PROMOTE, CHECKED, PINNED, CAPTURE, EN_PASSANT])
def test_every_legal_move_is_understood_in_both_notations(fen):
    board = Board(fen)
    for move in board.legal_moves():
        assert understand(board, move) == move
        assert understand(board, board.san(move)) == move


@settings(max_examples=200, deadline=None)
@given(st.one_of(st.text(max_size=12), st.text("abcdefghx12345678NBRQKO0-=+# ", max_size=8)))
def test_any_text_is_a_legal_move_or_one_sentence(text):
    board = Board(CASTLE)
    try:
        move = understand(board, text)
    except ValueError as error:
        sentence = str(error)
    else:
        assert board.is_legal(move)
        return
    assert sentence
    assert "\n" not in sentence
