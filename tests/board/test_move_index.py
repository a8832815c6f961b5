"""Every legal move has one number in each index space and comes back from it."""

from __future__ import annotations

import chess
import numpy as np
import pytest
from numpy.typing import NDArray

import tabiya._core as core
from tabiya.bench import reference

VIEWS: tuple[reference.View, ...] = ("white", "black", "mover")
SPACES: tuple[reference.Space, ...] = ("planes", "uci", "fromto")


@pytest.fixture(scope="module")
def packed(many: int) -> NDArray[np.uint8]:
    return core.random_positions(many, seed=11, max_plies=300)


def test_the_spaces_have_their_sizes() -> None:
    assert {space: core.space_size(space) for space in SPACES} == {
        "planes": 4672,
        "uci": 1968,
        "fromto": 4228,
    }
    assert core.uci_moves() == list(reference.uci_strings())


@pytest.mark.parametrize("space", SPACES)
def test_every_legal_move_survives_the_index_space_and_back(
    packed: NDArray[np.uint8], space: reference.Space
) -> None:
    offsets, indices = core.legal_indices(packed, space)
    for place, row in enumerate(packed):
        board = core.Board.from_packed(row.tobytes())
        legal = board.legal_moves()
        numbers = indices[offsets[place] : offsets[place + 1]].tolist()
        assert len(set(numbers)) == len(legal)
        assert [core.move_to_index(board, move, space) for move in legal] == numbers
        assert [core.index_to_move(board, number, space) for number in numbers] == legal


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("view", VIEWS)
def test_numbers_equal_the_reference_on_awkward_positions(
    awkward_fen: str, space: reference.Space, view: reference.View
) -> None:
    board, theirs = core.Board(awkward_fen), chess.Board(awkward_fen)
    black_view = view == "black" or (view == "mover" and not theirs.turn)
    for move in theirs.legal_moves:
        number = core.move_to_index(board, move.uci(), space, view)
        assert number == reference.move_index(move, space, black_view)
        assert core.index_to_move(board, number, space, view) == move.uci()


@pytest.mark.parametrize("space", SPACES)
def test_a_number_without_a_legal_move_is_nothing(awkward_fen: str, space: reference.Space) -> None:
    board = core.Board(awkward_fen)
    mask = core.legal_mask(core.pack_fens([awkward_fen]), space)[0]
    found = [core.index_to_move(board, number, space) for number in range(len(mask))]
    assert [move is not None for move in found] == mask.astype(bool).tolist()
    assert core.index_to_move(board, len(mask), space) is None


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("view", VIEWS)
def test_moves_of_a_shard_are_numbered_in_one_call(
    packed: NDArray[np.uint8], space: reference.Space, view: reference.View
) -> None:
    part = packed[:300]
    boards = [core.Board.from_packed(row.tobytes()) for row in part]
    moves = [board.legal_moves()[-1] for board in boards]
    codes = np.array([core.uci_to_code(move) for move in moves], np.uint16)
    expected = [
        core.move_to_index(board, move, space, view) for board, move in zip(boards, moves, strict=True)
    ]
    assert core.move_indices(part, codes, space, view).tolist() == expected


def test_a_code_is_the_move_in_sixteen_bits() -> None:
    for text in reference.uci_strings():
        code = core.uci_to_code(text)
        assert code == reference.move_code(chess.Move.from_uci(text))
        assert core.code_to_uci(code) == text


def test_successors_are_the_positions_after_each_legal_move(packed: NDArray[np.uint8]) -> None:
    part = packed[:100]
    offsets, after, codes = core.successors(part)
    for place, row in enumerate(part):
        board, _ = reference.unpack(row)
        of_this = slice(offsets[place], offsets[place + 1])
        moves = sorted(board.legal_moves, key=chess.Move.uci)
        assert codes[of_this].tolist() == [reference.move_code(move) for move in moves]
        for move, position in zip(moves, after[of_this], strict=True):
            next_board = board.copy()
            next_board.push(move)
            assert position.tobytes() == reference.pack(next_board, earlier=0)


def test_a_wrong_word_is_refused() -> None:
    board = core.Board()
    with pytest.raises(ValueError, match="'planes', 'uci' or 'fromto'"):
        core.move_to_index(board, "e2e4", "plains")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="'white', 'black' or 'mover'"):
        core.move_to_index(board, "e2e4", "uci", "left")  # type: ignore[arg-type]
    with pytest.raises(core.IllegalError, match="illegal move e2e5"):
        core.move_to_index(board, "e2e5", "uci")
    with pytest.raises(ValueError, match="65535 is not the code of a move"):
        core.code_to_uci(0xFFFF)
