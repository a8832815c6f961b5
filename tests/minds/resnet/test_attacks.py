"""The planes of attackers say what python-chess says of the same boards."""

from __future__ import annotations

from pathlib import Path

import chess
import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

from tabiya._core import Board, random_positions  # noqa: E402
from tabiya.learn.export import export_onnx  # noqa: E402
from tabiya.learn.planes import planes_of  # noqa: E402
from tabiya.minds.resnet.attacks import PLANES, Attacks  # noqa: E402
from tabiya.minds.resnet.lines import LinesOfSight  # noqa: E402
from tabiya.minds.resnet.network import ResNet, ResNetShape  # noqa: E402
from tabiya.minds.resnet.onnx_network import OnnxNetwork  # noqa: E402
from tabiya.minds.resnet.restored import restored  # noqa: E402

DIAGONAL, STRAIGHT = (chess.BISHOP, chess.QUEEN), (chess.ROOK, chess.QUEEN)


def attacks_of(packed: np.ndarray) -> np.ndarray:
    """[N, 26, 64] in the mover's view."""
    pieces = planes_of(torch.tensor(packed), 21)[:, :12].flatten(2)
    return Attacks()(pieces, LinesOfSight()(pieces.sum(1))).flatten(2).numpy()


def boards(count: int, seed: int) -> tuple[np.ndarray, list[chess.Board]]:
    packed = random_positions(count, seed=seed)
    return packed, [chess.Board(Board.from_packed(one.tobytes()).fen()) for one in packed]


def seen(board: chess.Board, square: int) -> int:
    return square if board.turn else square ^ 56


def test_every_attacker_of_every_square_is_counted_by_its_kind():
    packed, every = boards(150, 3)
    found = attacks_of(packed)
    assert found.shape == (150, PLANES, 64)
    for row, board in enumerate(every):
        for side, color in enumerate((board.turn, not board.turn)):
            for square in chess.SQUARES:
                attackers = board.attackers(color, square)
                counts = [len(attackers & board.pieces(kind, color)) for kind in chess.PIECE_TYPES]
                assert found[row, 6 * side : 6 * side + 6, seen(board, square)].tolist() == counts


def test_squares_from_which_a_king_is_checked_are_told_by_the_way_to_it():
    packed, every = boards(60, 4)
    found = attacks_of(packed)
    for row, board in enumerate(every):
        for side, color in enumerate((board.turn, not board.turn)):
            king = board.king(color)
            for plane, kind in ((12, chess.KNIGHT), (14, chess.BISHOP), (16, chess.ROOK)):
                alone = board.copy()
                alone.set_piece_at(king, chess.Piece(kind, color))
                for square in chess.SQUARES:
                    told = found[row, plane + side, seen(board, square)]
                    assert told == (square in alone.attacks(king))


def test_behind_one_piece_stands_what_would_be_attacked_without_it():
    packed, every = boards(40, 5)
    found = attacks_of(packed)
    for row, board in enumerate(every):
        for side, color in enumerate((board.turn, not board.turn)):
            for plane, kinds in ((18, DIAGONAL), (20, STRAIGHT)):
                told = np.zeros(64)
                for square in (s for kind in kinds for s in board.pieces(kind, color)):
                    told[[seen(board, s) for s in _behind(board, square, kinds[0])]] += 1
                assert np.array_equal(found[row, plane + side], told)
            for plane, kind in ((22, chess.BISHOP), (24, chess.ROOK)):
                told = np.zeros(64)
                told[[seen(board, s) for s in _behind(board, board.king(color), kind)]] = 1
                assert np.array_equal(found[row, plane + side], told)


def test_a_network_with_them_is_exported_and_restored_with_its_answers(tmp_path: Path):
    shape = ResNetShape(blocks=1, channels=8, squeeze=0, value_channels=2, value_hidden=4, attacks=True)
    torch.manual_seed(1)
    network, file = ResNet(shape).eval(), tmp_path / "attacks.onnx"
    export_onnx(network, shape.planes, file)
    packed = random_positions(9, seed=6)
    with torch.no_grad():
        wanted = network(planes_of(torch.tensor(packed), 21))[0].numpy()
        again = restored(file, shape, packed)(planes_of(torch.tensor(packed), 21))[0].numpy()
    # One position and many: the batch is free.
    for rows in (packed[:1], packed):
        answered = OnnxNetwork(file, 1).evaluate(rows, ("policy",))["policy"]
        assert np.allclose(answered, wanted[: len(rows)], atol=1e-4)
    assert np.allclose(again, wanted, atol=1e-4)


def _behind(board: chess.Board, square: int, way: int) -> list[int]:
    """Squares that a bishop or rook here would reach if one piece in its way were not there."""
    alone = board.copy()
    alone.set_piece_at(square, chess.Piece(way, True))
    near = alone.attacks(square)
    far = chess.SquareSet()
    for blocker in near & chess.SquareSet(alone.occupied):
        without = alone.copy()
        without.remove_piece_at(blocker)
        far |= without.attacks(square) - near
    return list(far)
