"""The tokens on the device: the core's numbers, both views, mirrors, and moves in the UCI space."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from tabiya import _core  # noqa: E402
from tabiya.minds.transformer.onnx_inputs import read_tokens  # noqa: E402
from tabiya.minds.transformer.rights import move_squares, rights_after  # noqa: E402
from tabiya.minds.transformer.shape import TransformerShape, Wire, route, row_names  # noqa: E402
from tabiya.minds.transformer.tokens import mirrored_moves, renumbered, tokens_of, turned_moves  # noqa: E402

POSITIONS = _core.random_positions(1500, 3)


def packed(*fens: str) -> torch.Tensor:
    return torch.from_numpy(_core.pack_fens(list(fens)))


def after(moves: str, fen: str | None = None) -> torch.Tensor:
    board = _core.Board(fen)
    for move in moves.split():
        board.push(move)
    return torch.from_numpy(np.frombuffer(board.packed(), np.uint8).copy()).reshape(1, 32)


@pytest.mark.parametrize("flipped", [True, False])
def test_the_device_and_the_core_make_the_same_tokens(flipped: bool):
    made = tokens_of(torch.from_numpy(POSITIONS), flipped).numpy()
    assert made.shape == (1500, 84)
    assert np.array_equal(made, read_tokens(POSITIONS, flipped))


def test_a_turned_board_says_nothing_of_colours_so_twins_are_equal():
    one = "r1bqkbnr/pppp1ppp/2n5/4p3/2B1P3/5N2/PPPP1PPP/RNBQK2R b KQkq - 3 3"
    twin = "rnbqk2r/pppp1ppp/5n2/2b1p3/4P3/2N5/PPPP1PPP/R1BQKBNR w KQkq - 3 3"
    tokens = tokens_of(packed(one, twin), True)
    assert torch.equal(tokens[0], tokens[1])
    apart = tokens_of(packed(one, twin), False)
    assert not torch.equal(apart[0], apart[1])


def test_the_unflipped_tokens_of_twins_are_each_other_s_with_colours_and_ranks_exchanged():
    one = "rnbqkbnr/pp1ppppp/8/8/2pPP3/8/PPP2PPP/RNBQKBNR b KQq d3 0 3"
    twin = "rnbqkbnr/ppp2ppp/8/2Ppp3/8/8/PP1PPPPP/RNBQKBNR w Qkq d6 0 3"
    a, b = tokens_of(packed(one, twin), False)
    board = a[:64].reshape(8, 8).flip(0).flatten()
    swapped = torch.where(board == 0, 0, torch.where(board > 6, board - 6, board + 6))
    assert torch.equal(swapped, b[:64])
    assert (a[64], b[64]) == (1, 0)
    assert torch.equal(a[65:69][[2, 3, 0, 1]], b[65:69])
    assert torch.equal(a[69:], b[69:])
    assert a[69] == 1
    assert a[70:78].tolist() == [0, 0, 0, 1, 0, 0, 0, 0]


def test_in_white_s_view_and_white_to_move_both_views_agree():
    white = POSITIONS[(POSITIONS[:, 24] & 1) == 0]
    assert torch.equal(tokens_of(torch.from_numpy(white), True), tokens_of(torch.from_numpy(white), False))


def test_repetition_and_counters_reach_the_tokens_through_a_real_game():
    back_and_forth = "g1f3 g8f6 f3g1 f6g8"
    for times in (0, 1, 2):
        tokens = tokens_of(after(" ".join([back_and_forth] * times)), False)[0]
        assert tokens[78:81].tolist() == [times, 4 * times, 1 + 2 * times]


def test_the_mirror_exchanges_left_and_right_and_nothing_else():
    fen = "4k3/8/8/3pP3/8/8/7P/4K3 w - d6 0 30"
    plain, turned = tokens_of(packed(fen), True), tokens_of(packed(fen), True, torch.tensor([True]))
    assert torch.equal(plain[:, :64].reshape(8, 8).flip(1).flatten(), turned[0, :64])
    assert turned[0, 70:78].tolist() == plain[0, 70:78].flip(0).tolist()
    assert torch.equal(plain[0, 78:], turned[0, 78:])


def test_moves_in_the_mirror_and_turned_are_their_own_inverse():
    moves = _core.uci_moves()
    for table in (mirrored_moves(), turned_moves()):
        assert np.array_equal(table[table], np.arange(1968))
    number = {move: at for at, move in enumerate(moves)}
    assert moves[mirrored_moves()[number["b7a8b"]]] == "g7h8b"
    assert moves[turned_moves()[number["b7a8b"]]] == "b2a1b"


@pytest.mark.parametrize(("flipped", "view"), [(True, "mover"), (False, "white")])
def test_legal_moves_are_renumbered_as_the_core_numbers_them(flipped: bool, view: str):
    planes = torch.from_numpy(_core.legal_rows(POSITIONS, "planes", "mover", 80))
    made = renumbered(planes, torch.from_numpy(POSITIONS), flipped).numpy()
    assert np.array_equal(made, _core.legal_rows(POSITIONS, "uci", view, 80))


@pytest.mark.parametrize("flipped", [True, False])
def test_rights_after_a_move_are_those_of_the_position_after_it(flipped: bool):
    # The other side's en passant may be pinned away, which the device does not ask: those are left out.
    view = "mover" if flipped else "white"
    offsets, successors, codes = _core.successors(POSITIONS[:400])
    before = np.repeat(POSITIONS[:400], np.diff(offsets), axis=0)
    moves = _core.move_indices(before, codes, "uci", view)
    tokens = tokens_of(torch.from_numpy(before), flipped)
    told = rights_after(tokens, torch.from_numpy(moves).long(), move_squares()).numpy()
    black = (before[:, 24] & 1) == 1
    sight = np.where(black, "black", "white") if flipped else np.full(len(before), "white")
    true = np.zeros_like(told)
    for side in ("white", "black"):
        rows = sight == side
        if rows.any():
            true[rows] = _core.encode_tokens(successors[rows], side)[:, 65:78]
    assert np.array_equal(told[:, :4], true[:, :4])
    differs = (told[:, 4:] != true[:, 4:]).any(1)
    assert np.array_equal(true[differs, 4:].sum(1), np.zeros(differs.sum()))
    assert differs.mean() < 1e-3
    assert true[:, 4].sum() > 20


def test_every_row_has_its_name():
    names = row_names(TransformerShape())
    assert len(names) == len(set(names)) == 85
    assert names[0] == "CLS"
    assert (names[1], names[64]) == ("a1", "h8")
    assert names[65:70] == [
        "turn",
        "own castling king's side",
        "own castling queen's side",
        "other's castling king's side",
        "other's castling queen's side",
    ]
    assert names[70:72] == ["en passant", "en passant on a"]
    assert names[79:] == ["repetition", "half-moves", "full moves", "slot 1", "slot 2", "slot 3"]
    assert len(set(row_names(TransformerShape(pieces="separate")))) == 149


def test_feedback_runs_a_stretch_of_blocks_again_for_each_cycle():
    shape = TransformerShape(layers=3, feedback=(Wire(from_block=2, to_block=1, cycles=2),))
    assert [block for block, _ in route(shape)] == [0, 1, 0, 1, 0, 1, 2]
    assert [wire for _, wire in route(shape)] == [None, None, 0, None, 0, None, None]
