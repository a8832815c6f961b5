"""Muon: orthogonal steps for matrices, AdamW for the rest."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from tabiya.learn.muon import Muon, orthogonal  # noqa: E402


@pytest.mark.parametrize("shape", [(3, 16, 40), (2, 40, 16)])
def test_singular_values_come_near_one_and_directions_stay(shape):
    torch.manual_seed(0)
    matrices = torch.randn(shape)
    made = orthogonal(matrices)
    values = torch.linalg.svdvals(made)
    assert (values > 0.6).all()
    assert (values < 1.3).all()
    u, _, v = torch.linalg.svd(matrices, full_matrices=False)
    nearest = u @ v
    alike = (made * nearest).sum((1, 2)) / (made.norm(dim=(1, 2)) * nearest.norm(dim=(1, 2)))
    assert (alike > 0.95).all()


def test_parameters_that_are_no_matrices_step_as_adamw_steps():
    torch.manual_seed(1)
    mine = torch.nn.Parameter(torch.randn(7))
    theirs = torch.nn.Parameter(mine.detach().clone())
    ours = Muon([{"params": [mine], "weight_decay": 0.1}], lr=0.01)
    adamw = torch.optim.AdamW([theirs], lr=0.01, weight_decay=0.1)
    for _ in range(20):
        grad = torch.randn(7)
        mine.grad, theirs.grad = grad.clone(), grad.clone()
        ours.step()
        adamw.step()
    assert torch.allclose(mine, theirs, atol=1e-6)


def test_a_convolution_steps_by_the_size_that_adamw_would():
    torch.manual_seed(2)
    weight = torch.nn.Parameter(torch.zeros(16, 8, 3, 3))
    muon = Muon([{"params": [weight], "matrices": True}], lr=1.0)
    weight.grad = torch.randn_like(weight)
    muon.step()
    assert 0.1 < float(weight.detach().square().mean().sqrt()) < 0.3


def test_it_learns():
    torch.manual_seed(3)
    layer = torch.nn.Linear(20, 20)
    target = torch.linalg.qr(torch.randn(20, 20))[0]
    muon = Muon([{"params": [layer.weight], "matrices": True}, {"params": [layer.bias]}], lr=0.05)
    x = torch.randn(256, 20)
    losses = []
    for _ in range(150):
        loss = (layer(x) - x @ target).square().mean()
        losses.append(float(loss))
        muon.zero_grad()
        loss.backward()
        muon.step()
    assert losses[-1] < 0.05 * losses[0]
