"""A wider network begins with the answers of the narrow one, and what is new in it can learn."""

from __future__ import annotations

from dataclasses import replace

import pytest

torch = pytest.importorskip("torch")

from tabiya._core import random_positions  # noqa: E402
from tabiya.errors import UserError  # noqa: E402
from tabiya.learn.checkpoint import load_fitting, state_tensors  # noqa: E402
from tabiya.learn.planes import planes_of  # noqa: E402
from tabiya.minds.resnet.growth import grown  # noqa: E402
from tabiya.minds.resnet.network import ResNet, ResNetShape  # noqa: E402

NARROW = ResNetShape(
    blocks=2,
    channels=8,
    planes=18,
    squeeze=4,
    move_head="pairs",
    mixing_every=1,
    mixing_heads=2,
    value_channels=4,
    value_hidden=8,
)


def trained(shape: ResNetShape) -> ResNet:
    """A network in which no part is silent, as after training."""
    torch.manual_seed(1)
    network = ResNet(shape)
    with torch.no_grad():
        for name, tensor in network.state_dict().items():
            if tensor.is_floating_point():
                tensor.copy_(
                    torch.rand_like(tensor) + 0.5 if "norm" in name else torch.randn_like(tensor) * 0.1
                )
    return network.eval()


@pytest.mark.parametrize(
    "wider",
    [
        replace(NARROW, channels=12),
        replace(NARROW, channels=16, squeeze=6, value_channels=6, value_hidden=10, planes=21),
        replace(NARROW, channels=12, blocks=3),
        replace(NARROW, attacks=True),
        replace(NARROW, attacks=True, relays_every=1, relay_channels=3),
    ],
)
def test_a_grown_network_says_what_the_small_one_said(wider):
    small, large = trained(NARROW), ResNet(wider).eval()
    fresh = load_fitting(large, grown(state_tensors(model=small, rng=False), large))
    assert all(name.startswith(("blocks.2", "mixes.2", "relays.")) for name in fresh)
    planes = torch.rand(5, wider.planes, 8, 8)
    for before, after in zip(small(planes[:, :18]), large(planes), strict=True):
        assert torch.allclose(before, after, rtol=1e-3, atol=1e-4)


def test_planes_of_attackers_keep_their_weights_where_other_planes_are_added():
    few, more = replace(NARROW, attacks=True), replace(NARROW, attacks=True, planes=21)
    small, large = trained(few), ResNet(more).eval()
    load_fitting(large, grown(state_tensors(model=small, rng=False), large))
    planes = planes_of(torch.tensor(random_positions(5, seed=1)), 21)
    for before, after in zip(small(planes[:, :18]), large(planes), strict=True):
        assert torch.allclose(before, after, rtol=1e-3, atol=1e-4)


def test_squares_may_look_at_each_other_more_often():
    seldom = replace(NARROW, blocks=4, mixing_every=2)
    small, large = trained(seldom), ResNet(replace(seldom, channels=12, mixing_every=1)).eval()
    fresh = load_fitting(large, grown(state_tensors(model=small, rng=False), large))
    assert {name[:7] for name in fresh} == {"mixes.0", "mixes.2"}
    planes = torch.rand(5, 18, 8, 8)
    for before, after in zip(small(planes), large(planes), strict=True):
        assert torch.allclose(before, after, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize(("blocks", "old", "new"), [(4, 2, 4), (6, 3, 2), (11, 4, 1)])
def test_a_place_that_is_lost_or_not_known_is_said(blocks, old, new):
    small = trained(replace(NARROW, blocks=blocks, mixing_every=old))
    large = ResNet(replace(NARROW, blocks=blocks, mixing_every=new))
    with pytest.raises(UserError, match="have no place where mixing_every is"):
        grown(state_tensors(model=small, rng=False), large)


ATTENTIVE = replace(
    NARROW, tower="attention", mixing_every=0, hidden=12, suggestion=(2, 6, 4), attacks=True, relays_every=1
)


@pytest.mark.parametrize("rounds", [2, 3])
def test_a_tower_that_goes_through_its_blocks_again_says_what_it_said_before(rounds):
    small, large = trained(ATTENTIVE), ResNet(replace(ATTENTIVE, rounds=rounds)).eval()
    fresh = load_fitting(large, grown(state_tensors(model=small, rng=False), large))
    assert {name.rpartition(".")[2] for name in fresh} == {"heard", "made"}
    again = large.tower.blocks[1].again[-1].own_norm
    assert torch.equal(again.weight, small.tower.blocks[1].own_norm.weight)
    assert len(again.weight.unique()) > 1
    planes = planes_of(torch.tensor(random_positions(5, seed=1)), 18)
    for before, after in zip(small(planes), large(planes), strict=True):
        assert torch.allclose(before, after, rtol=1e-3, atol=1e-4)
    sum(output.float().square().mean() for output in large(planes)).backward()
    for block in large.tower.blocks:
        for later in block.again:
            assert later.heard.grad.abs().max() > 0
            assert later.made.grad.abs().max() > 0


def test_what_is_new_in_it_learns():
    small, large = trained(NARROW), ResNet(replace(NARROW, channels=12))
    load_fitting(large, grown(state_tensors(model=small, rng=False), large))
    outputs = large(torch.rand(5, 18, 8, 8))
    sum(output.float().square().mean() for output in outputs).backward()
    listening = large.blocks[0].first.weight.grad[:8, 8:]
    assert listening.abs().max() > 0


def test_a_network_does_not_shrink():
    with pytest.raises(UserError, match="does not fit into"):
        grown(state_tensors(model=trained(NARROW), rng=False), ResNet(replace(NARROW, channels=4)))


def test_moves_picked_from_the_head_s_own_order_are_those_of_the_numbering():
    network = trained(NARROW)
    planes = torch.rand(3, 18, 8, 8)
    assert torch.equal(network.learning(planes)[0][:, network.places], network(planes)[0])
    flat = trained(replace(NARROW, move_head="planes"))
    assert flat.places is None
    assert torch.equal(flat.learning(planes)[1], flat(planes)[1])
