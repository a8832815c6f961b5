"""Whatever text or bytes come in: an answer or a ValueError, never a panic.

A Rust panic would arrive as `pyo3_runtime.PanicException`, which no ValueError
catches, so it fails the test that meets it.
"""

from __future__ import annotations

from contextlib import suppress

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

import tabiya._core as core
from tabiya.bench import reference

START = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"

fen_like = st.builds(
    " ".join,
    st.tuples(
        st.lists(st.text("pnbrqkPNBRQK12345678", min_size=1, max_size=9), min_size=6, max_size=9).map(
            "/".join
        ),
        st.sampled_from(["w", "b", "x", ""]),
        st.text("KQkqAHah-", max_size=4),
        st.sampled_from(["-", "e3", "d6", "a9", "e4", ""]),
        st.integers(-1, 10**12).map(str),
        st.integers(-1, 10**12).map(str),
    ),
)
move_like = st.text("abcdefgh12345678nbrqNBRQKOPxo-+#=@0 ", max_size=9)


def nudged(packed: bytes, changes: list[tuple[int, int]]) -> bytes:
    """A real packed position with a few of its bytes overwritten."""
    changed = bytearray(packed)
    for place, value in changes:
        changed[place] = value
    return bytes(changed)


some_positions = [row.tobytes() for row in core.random_positions(40, seed=5)]
nearly_packed = st.builds(
    nudged,
    st.sampled_from(some_positions),
    st.lists(st.tuples(st.integers(0, 31), st.integers(0, 255)), max_size=4),
)


def look_at_everything(board: core.Board) -> None:
    """Ask a board all it can answer; what it says of its moves must hold together."""
    fen = board.fen()
    assert core.Board(fen).fen() == fen
    for move in board.legal_moves():
        assert board.is_legal(move)
        assert board.parse(board.san(move)) == move
        for space in ("planes", "uci", "fromto"):
            assert core.index_to_move(board, core.move_to_index(board, move, space), space) == move
    for move in board.legal_moves()[:3]:
        board.push(move)
        board.outcome()
        board.pop()
    assert board.fen() == fen


@given(st.one_of(st.text(), fen_like))
@example(START)
@example("8/8/8/8/8/8/8/8 w - - 0 1")
@example("k" * 64 + " w - - 0 1")
@example(START + " \0")
@settings(max_examples=600, deadline=None)
def test_any_text_is_a_position_or_a_value_error(text: str) -> None:
    with suppress(ValueError):
        look_at_everything(core.Board(text))


@given(st.one_of(st.text(max_size=20), move_like))
@example("e1g1")
@example("0000")
@example("P@e4")
@settings(max_examples=600, deadline=None)
def test_any_text_is_a_move_or_a_value_error(text: str) -> None:
    board = core.Board("r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1")
    with suppress(ValueError):
        assert board.parse(text) in board.legal_moves()
    with suppress(ValueError):
        board.push(text)
        assert len(board.moves) == 1
    with suppress(ValueError):
        core.code_to_uci(core.uci_to_code(text))
    with suppress(ValueError):
        core.Board().piece_at(text)


@given(st.one_of(st.binary(max_size=40), st.binary(min_size=32, max_size=32), nearly_packed))
@example(bytes(32))
@example(b"\xff" * 32)
@settings(max_examples=600, deadline=None)
def test_any_bytes_are_a_packed_position_or_a_value_error(packed: bytes) -> None:
    with suppress(ValueError):
        look_at_everything(core.Board.from_packed(packed))
    if len(packed) != 32:
        return
    rows = np.frombuffer(packed, np.uint8).reshape(1, 32)
    assert core.encode_planes(rows).shape == (1, 18, 8, 8)
    assert core.encode_tokens(rows).shape == (1, 84)
    for space in ("planes", "uci", "fromto"):
        with suppress(ValueError):
            core.legal_mask(rows, space)
        with suppress(ValueError):
            core.legal_indices(rows, space)
    with suppress(ValueError):
        core.successors(rows)
    with suppress(ValueError):
        core.unpack_fens(rows)


@given(st.lists(st.integers(0, 65535), min_size=1, max_size=8), st.sampled_from(["planes", "uci", "fromto"]))
@settings(max_examples=200, deadline=None)
def test_any_code_is_a_number_of_its_space_or_minus_one(codes: list[int], space: reference.Space) -> None:
    rows = core.random_positions(len(codes), seed=9)
    numbers = core.move_indices(rows, np.array(codes, np.uint16), space)
    assert ((numbers >= -1) & (numbers < core.space_size(space))).all()
    for code in codes:
        with suppress(ValueError):
            assert core.uci_to_code(core.code_to_uci(code)) == code
