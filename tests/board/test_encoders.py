"""The batched encoders held against the slow reference, view by view."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

import tabiya._core as core
from tabiya.bench import reference

VIEWS: tuple[reference.View, ...] = ("white", "black", "mover")
SPACES: tuple[reference.Space, ...] = ("planes", "uci", "fromto")


@pytest.fixture(scope="module")
def packed(many: int) -> NDArray[np.uint8]:
    """Random positions in the middle of their games, repetitions and all."""
    return core.random_positions(many, seed=7, max_plies=300)


def test_random_positions_are_the_same_for_the_same_seed() -> None:
    assert np.array_equal(core.random_positions(50, seed=3), core.random_positions(50, seed=3))
    assert not np.array_equal(core.random_positions(50, seed=3), core.random_positions(50, seed=4))


def test_a_packed_position_reads_the_same_in_the_reference(packed: NDArray[np.uint8]) -> None:
    boards = [reference.unpack(row) for row in packed]
    assert core.unpack_fens(packed) == [board.fen() for board, _ in boards]
    assert packed.tobytes() == b"".join(reference.pack(board, earlier) for board, earlier in boards)


@pytest.mark.parametrize("view", VIEWS)
def test_planes_equal_the_reference(packed: NDArray[np.uint8], view: reference.View) -> None:
    ours = core.encode_planes(packed, view)
    assert (ours.dtype, ours.shape) == (np.uint8, (len(packed), 18, 8, 8))
    for row, planes in zip(packed, ours, strict=True):
        assert np.array_equal(planes, reference.planes(reference.unpack(row)[0], view)), row


@pytest.mark.parametrize("view", VIEWS)
def test_tokens_equal_the_reference(packed: NDArray[np.uint8], view: reference.View) -> None:
    ours = core.encode_tokens(packed, view)
    assert (ours.dtype, ours.shape) == (np.int16, (len(packed), 84))
    for row, tokens in zip(packed, ours, strict=True):
        board, earlier = reference.unpack(row)
        assert np.array_equal(tokens, reference.tokens(board, view, earlier)), row


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("view", VIEWS)
def test_the_legal_mask_equals_the_reference(
    packed: NDArray[np.uint8], space: reference.Space, view: reference.View
) -> None:
    # In slices, so that a hundred thousand masks need not stand in memory at once.
    for part in np.array_split(packed, max(1, len(packed) // 1000)):
        ours = core.legal_mask(part, space, view)
        assert (ours.dtype, ours.shape) == (np.uint8, (len(part), core.space_size(space)))
        for row, mask in zip(part, ours, strict=True):
            assert np.array_equal(mask, reference.legal_mask(reference.unpack(row)[0], space, view)), row


@pytest.mark.parametrize("view", VIEWS)
def test_awkward_positions_equal_the_reference(awkward_fen: str, view: reference.View) -> None:
    packed = core.pack_fens([awkward_fen])
    board, earlier = reference.unpack(packed[0])
    assert np.array_equal(core.encode_planes(packed, view)[0], reference.planes(board, view))
    assert np.array_equal(core.encode_tokens(packed, view)[0], reference.tokens(board, view, earlier))
    for space in SPACES:
        assert np.array_equal(
            core.legal_mask(packed, space, view)[0], reference.legal_mask(board, space, view)
        )


def test_the_mover_view_shows_one_game_to_both_sides() -> None:
    """A position and its mirror image, colours exchanged, look the same but for who is to move."""
    fen = "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1"
    mirrored = reference.chess.Board(fen).mirror().fen()
    planes = core.encode_planes(core.pack_fens([fen, mirrored]))
    assert np.array_equal(np.delete(planes[0], 12, axis=0), np.delete(planes[1], 12, axis=0))
    for space in SPACES:
        masks = core.legal_mask(core.pack_fens([fen, mirrored]), space)
        assert np.array_equal(masks[0], masks[1])


def test_several_threads_write_what_one_writes(packed: NDArray[np.uint8]) -> None:
    for threads in (2, 3, 7):
        part = packed[:500]
        assert np.array_equal(core.encode_planes(part, threads=threads), core.encode_planes(part))
        assert np.array_equal(core.encode_tokens(part, threads=threads), core.encode_tokens(part))
        assert np.array_equal(core.legal_mask(part, "uci", threads=threads), core.legal_mask(part, "uci"))


def test_an_array_given_is_filled_in_place(packed: NDArray[np.uint8]) -> None:
    part = packed[:64]
    planes = np.full((64, 18, 8, 8), 9, np.uint8)
    tokens = np.full((64, 84), 9, np.int16)
    mask = np.full((64, 1968), 9, np.uint8)
    assert np.shares_memory(core.encode_planes(part, out=planes), planes)
    assert np.shares_memory(core.encode_tokens(part, out=tokens), tokens)
    assert np.shares_memory(core.legal_mask(part, "uci", out=mask), mask)
    assert np.array_equal(planes, core.encode_planes(part))
    assert np.array_equal(tokens, core.encode_tokens(part))
    assert np.array_equal(mask, core.legal_mask(part, "uci"))


def test_an_array_that_cannot_take_the_answer_is_refused(packed: NDArray[np.uint8]) -> None:
    part = packed[:4]
    with pytest.raises(ValueError, match="shape"):
        core.encode_planes(part, out=np.zeros((3, 18, 8, 8), np.uint8))
    with pytest.raises(ValueError, match="contiguous"):
        core.encode_planes(part, out=np.zeros((4, 18, 8, 16), np.uint8)[..., ::2])
    locked = np.zeros((4, 18, 8, 8), np.uint8)
    locked.flags.writeable = False
    with pytest.raises(ValueError, match="writ"):
        core.encode_planes(part, out=locked)
    whole = np.zeros(4 * 18 * 64, np.uint8)
    with pytest.raises(ValueError, match="out"):
        core.encode_planes(whole[:128].reshape(4, 32), out=whole.reshape(4, 18, 8, 8))


def test_rows_that_are_no_packed_positions_are_refused() -> None:
    with pytest.raises(ValueError, match="32"):
        core.encode_planes(np.zeros((4, 31), np.uint8))
    with pytest.raises(ValueError, match="contiguous"):
        core.encode_planes(np.zeros((4, 64), np.uint8)[:, ::2])
    with pytest.raises(ValueError, match="packed"):
        core.legal_mask(np.zeros((1, 32), np.uint8), "uci")


def test_no_positions_give_no_rows() -> None:
    nothing = np.zeros((0, 32), np.uint8)
    assert core.encode_planes(nothing).shape == (0, 18, 8, 8)
    assert core.encode_tokens(nothing, threads=4).shape == (0, 84)
    assert core.legal_mask(nothing, "fromto").shape == (0, 4228)


def test_a_key_stands_for_a_position_without_its_clocks(packed: NDArray[np.uint8]) -> None:
    keys = core.position_keys(packed)
    names = [" ".join(fen.split()[:4]) for fen in core.unpack_fens(packed)]
    assert len(set(keys.tolist())) == len(set(names)) == len(set(zip(keys.tolist(), names, strict=True)))
    assert keys[0] == core.Board.from_packed(packed[0].tobytes()).key()
