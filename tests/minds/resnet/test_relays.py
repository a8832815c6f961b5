"""Squares hear from those that they have to do with, and from nobody else."""

from __future__ import annotations

from pathlib import Path

import chess
import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

from tabiya._core import Board, pack_fens, random_positions  # noqa: E402
from tabiya.errors import UserError  # noqa: E402
from tabiya.learn.export import export_onnx  # noqa: E402
from tabiya.learn.planes import planes_of  # noqa: E402
from tabiya.minds.resnet.attacks import RELATIONS, Attacks  # noqa: E402
from tabiya.minds.resnet.lines import LinesOfSight  # noqa: E402
from tabiya.minds.resnet.network import ResNet, ResNetShape  # noqa: E402
from tabiya.minds.resnet.onnx_network import OnnxNetwork  # noqa: E402
from tabiya.minds.resnet.relays import Relay  # noqa: E402
from tabiya.minds.resnet.restored import restored  # noqa: E402

ATTACKS, ATTACKED, BEHIND, BEHIND_ATTACKED, DIAGONAL, STRAIGHT = range(RELATIONS)


def relations_of(packed: np.ndarray) -> np.ndarray:
    """[N, 6, 64, 64] in the mover's view."""
    pieces = planes_of(torch.tensor(packed), 21)[:, :12].flatten(2)
    found: np.ndarray = Attacks().relations(pieces, LinesOfSight()(pieces.sum(1))).numpy()
    return found


def one_shape(**more: int | bool) -> ResNetShape:
    return ResNetShape(
        blocks=2,
        channels=8,
        squeeze=0,
        value_channels=2,
        value_hidden=4,
        attacks=True,
        relays_every=1,
        **more,
    )


def test_relations_are_those_that_python_chess_knows():
    packed = random_positions(60, seed=8)
    found = relations_of(packed)
    for row, one in enumerate(packed):
        board = chess.Board(Board.from_packed(one.tobytes()).fen())
        turned = 0 if board.turn else 56
        told = np.zeros((RELATIONS, 64, 64))
        for square in chess.SQUARES:
            alone = board.copy()
            for relation, kind in ((DIAGONAL, chess.BISHOP), (STRAIGHT, chess.ROOK)):
                alone.set_piece_at(square, chess.Piece(kind, True))
                told[relation, square ^ turned, [s ^ turned for s in alone.attacks(square)]] = 1
            told[ATTACKS, square ^ turned, [s ^ turned for s in board.attacks(square)]] = 1
        told[ATTACKED] = told[ATTACKS].T
        for relation in (ATTACKS, ATTACKED, DIAGONAL, STRAIGHT):
            assert np.array_equal(found[row, relation], told[relation])


def test_behind_one_piece_a_runner_is_heard_of_by_what_it_would_attack():
    (found,) = relations_of(pack_fens(["4k3/8/8/8/4n3/8/4P3/K3R3 w - - 0 1"]))
    rook = chess.E1
    assert np.flatnonzero(found[ATTACKS, rook]).tolist() == [
        chess.A1, chess.B1, chess.C1, chess.D1, chess.F1, chess.G1, chess.H1, chess.E2,
    ]  # fmt: skip
    assert np.flatnonzero(found[BEHIND, rook]).tolist() == [chess.E3, chess.E4]
    assert np.array_equal(found[BEHIND_ATTACKED], found[BEHIND].T)
    assert found[BEHIND].sum() == 2  # neither a knight, a pawn nor a king runs


def test_a_relay_hands_a_squares_numbers_to_those_in_relation_alone():
    relay = Relay(channels=2, told=1).eval()
    with torch.no_grad():
        relay.norm.weight.fill_(1.0)
        relay.tell.weight.fill_(1.0)
        relay.join.weight.fill_(1.0)
    features = torch.zeros(1, 2, 8, 8)
    features[0, 0].view(64)[chess.E1] = 1.0
    relations = torch.zeros(1, RELATIONS, 64, 64)
    relations[0, ATTACKS, chess.E1, chess.E8] = 1.0
    heard = (relay(features, relations) - features)[0, 1].flatten()
    assert torch.nonzero(heard).flatten().tolist() == [chess.E8]


def test_a_relay_begins_as_the_identity():
    torch.manual_seed(2)
    features = torch.rand(3, 8, 8, 8)
    relations = torch.ones(3, RELATIONS, 64, 64)
    assert torch.equal(Relay(8, 4).eval()(features, relations), features)


def test_a_network_with_relays_is_exported_and_restored_with_its_answers(tmp_path: Path):
    torch.manual_seed(1)
    shape = one_shape(relay_channels=3, mixing_every=1, mixing_heads=2)
    network, file = ResNet(shape), tmp_path / "relays.onnx"
    packed = random_positions(9, seed=6)
    planes = planes_of(torch.tensor(packed), 21)
    with torch.no_grad():
        for block in (*network.relays, *network.mixes):
            block.norm.weight.fill_(1.0)
        network(planes)  # in training: the norms learn what passes by
        network.eval()
        export_onnx(network, 21, file)
        wanted = network(planes)[0].numpy()
        again = restored(file, network.shape, packed)(planes)[0].numpy()
    for rows in (packed[:1], packed):
        answered = OnnxNetwork(file, 1).evaluate(rows, ("policy",))["policy"]
        assert np.allclose(answered, wanted[: len(rows)], atol=1e-4)
    assert np.allclose(again, wanted, atol=1e-4)


def test_negative_spacing_of_relays_is_refused():
    with pytest.raises(UserError, match="relays_every must not be negative, got -1"):
        ResNetShape(relays_every=-1)
