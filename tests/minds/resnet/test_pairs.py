"""The head of origins and targets: every legal move gets the logit of its own two squares."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from tabiya import _core  # noqa: E402
from tabiya.learn.export import export_onnx  # noqa: E402
from tabiya.minds.resnet.network import ResNet, ResNetShape  # noqa: E402
from tabiya.minds.resnet.pairs import Pairs  # noqa: E402


def test_a_move_s_number_finds_its_squares():
    head = Pairs(4, size=2)
    with torch.no_grad():
        for part in (head.origin, head.target, head.under):
            part.weight.zero_()
            part.bias.zero_()
        head.under.bias.copy_(torch.arange(9) - 100.0)
        head.bias.copy_(torch.arange(4096.0).reshape(64, 64))
        logits = head(torch.zeros(1, 4, 8, 8))[0]
    seen = 0
    for packed in _core.random_positions(300, 4):
        board = _core.Board.from_packed(packed.tobytes())
        turn = 0 if board.white_to_move else 56
        for move in board.legal_moves():
            number = _core.move_to_index(board, move, "planes")
            origin, target = ((ord(move[at]) - 97 + 8 * (int(move[at + 1]) - 1)) ^ turn for at in (0, 2))
            if len(move) == 5 and move[4] != "q":
                assert logits[number] < 0
            else:
                assert int(logits[number]) == origin * 64 + target
            seen += 1
    assert seen > 5000


@pytest.mark.parametrize("mixing", [0, 1])
def test_a_network_with_it_goes_to_onnx(tmp_path, mixing):
    torch.manual_seed(0)
    network = ResNet(ResNetShape(blocks=2, channels=8, squeeze=4, move_head="pairs", mixing_every=mixing))
    assert len(network.mixes) == 2 * mixing
    for mix in network.mixes:
        torch.nn.init.ones_(mix.norm.weight)  # it begins as the identity, which would hide a fault
    differences = export_onnx(network, 21, tmp_path / "n.onnx", half=True)
    assert np.isfinite(list(differences.values())).all()


def test_squares_that_mix_begin_as_if_they_did_not():
    torch.manual_seed(0)
    plain = ResNet(ResNetShape(blocks=2, channels=8, squeeze=4)).eval()
    mixed = ResNet(ResNetShape(blocks=2, channels=8, squeeze=4, mixing_every=1)).eval()
    mixed.load_state_dict(plain.state_dict(), strict=False)
    planes = torch.rand(3, 21, 8, 8)
    for left, right in zip(plain(planes), mixed(planes), strict=True):
        assert torch.allclose(left, right, atol=1e-6)
