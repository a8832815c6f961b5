"""The network: shapes, switches, and that every way of computing it gives the same answers."""

from __future__ import annotations

from collections.abc import Callable

import pytest

torch = pytest.importorskip("torch")

from tabiya import _core  # noqa: E402
from tabiya.errors import UserError  # noqa: E402
from tabiya.minds.transformer.attention import Cut  # noqa: E402
from tabiya.minds.transformer.network import Transformer, parameter_count  # noqa: E402
from tabiya.minds.transformer.raised import feed_forward  # noqa: E402
from tabiya.minds.transformer.shape import TransformerShape, Wire  # noqa: E402
from tabiya.minds.transformer.tokens import tokens_of  # noqa: E402

PACKED = torch.from_numpy(_core.random_positions(3, 3))
SMALL = {"layers": 2, "width": 32, "heads": 4, "mlp_ratio": 2.0, "value_hidden": 8}
VARIANTS = {
    "plain": {},
    "unflipped": {"flipped": False},
    "added": {"pieces": "added"},
    "separate": {"pieces": "separate"},
    "dynamic": {"bias": "dynamic", "policy": "fromto"},
    "no bias": {"bias": "none", "absolute": False},
    "fromto": {"policy": "fromto", "value": "squares"},
    "separate fromto": {"pieces": "separate", "policy": "fromto", "value": "squares", "flipped": False},
    "bare": {"rights_head": False, "refinement": False},
    "refined from cls": {"refined_from": "cls", "activation": "relu"},
    "no mlp bias": {"mlp_bias": False, "activation": "relu"},
    "feedback": {"feedback": (Wire(from_block=2, to_block=1, cycles=2),)},
}


def network(**more) -> Transformer:
    torch.manual_seed(0)
    made = Transformer(TransformerShape(**(SMALL | more))).eval()
    for parameter in made.parameters():  # what begins at zero shall count too
        if not parameter.any():
            torch.nn.init.normal_(parameter, std=0.3)
    return made


def tokens(made: Transformer) -> torch.Tensor:
    return tokens_of(PACKED, made.shape.flipped)


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_variant_has_its_heads_and_every_parameter_learns(variant: str):
    made = network(**VARIANTS[variant]).train()
    shape = made.shape
    seen = tokens(made)
    seen[:, 81:] = torch.tensor([5, 9, 0])
    outputs = made(seen, torch.tensor([[0.5, 0.3, 0.0]]).expand(3, 3))
    sizes = {
        name: None if output is None else tuple(output.shape) for name, output in outputs._asdict().items()
    }
    assert sizes == {
        "policy": (3, 1968),
        "wdl": (3, 3),
        "value_bins": (3, 64),
        "rights": (3, 13) if shape.rights_head else None,
        "refined": (3, 3) if shape.refinement else None,
    }
    assert made.embedding(seen, torch.zeros(3, 3), torch.zeros(3, 3).int()).shape == (3, shape.rows, 32)
    sum(output.square().sum() for output in outputs if output is not None).backward()
    still = [name for name, p in made.named_parameters() if p.grad is None or not p.grad.any()]
    assert still == []


def test_the_main_network_has_about_eight_million_parameters():
    assert 7_500_000 < parameter_count(Transformer(TransformerShape())) < 8_000_000


@pytest.mark.parametrize("variant", ["plain", "dynamic", "no bias", "separate", "feedback"])
@pytest.mark.parametrize(("way", "more"), [("plain", 3), ("sdpa", 0), ("sdpa", 3)])
def test_padding_and_other_kernels_change_nothing_but_rounding(variant: str, way: str, more: int):
    made = network(**VARIANTS[variant])
    seen = tokens(made)
    with torch.no_grad():
        before = made(seen)
        after = made.compute(way, made.shape.rows + more)(seen)
    for one, other in zip(before, after, strict=True):
        assert torch.allclose(one, other, atol=1e-4)


@pytest.mark.parametrize("variant", ["plain", "fromto", "dynamic", "separate", "feedback"])
@pytest.mark.parametrize("way", ["plain", "sdpa"])
def test_rows_that_no_head_reads_can_be_left_out_of_the_last_block(variant: str, way: str):
    made = network(**VARIANTS[variant])
    seen = tokens(made)
    asked: list[int] = []
    made.last_norm.register_forward_hook(lambda _module, rows, _out: asked.append(rows[0].shape[1]))
    whole = made.compute(way)(seen)
    lean = made.compute(way, lean=True)(seen)
    assert asked == [made.shape.rows, made.shape.read_rows]
    assert lean.refined is None
    for name in ("policy", "wdl", "value_bins", "rights"):
        assert torch.allclose(getattr(whole, name), getattr(lean, name), atol=1e-5)
    one, other = (
        torch.autograd.grad(out.policy.square().sum(), list(made.blocks.parameters()))
        for out in (whole, lean)
    )
    assert all(torch.allclose(a, b, atol=1e-4) for a, b in zip(one, other, strict=True))


KERNEL = """
import torch
from tabiya.minds.transformer import kernel
torch.manual_seed(0)
usual, worst = dict(kernel.LAUNCHES), 0.0
for rows, holds in ((85, True), (85, False), (149, False), (40, True)):
    for most, launches in usual.items():
        kernel.LAUNCHES[most] = kernel.Launches(*(each._replace(holds=holds) for each in launches))
    qkv = torch.randn(3, rows, 3, 2, 16, requires_grad=True)
    bias = torch.randn(2, rows, rows, requires_grad=True)
    q, k, v = (qkv[:, :, each].transpose(1, 2) for each in range(3))
    plain = ((q @ k.transpose(-2, -1) * 0.25 + bias).softmax(-1) @ v).transpose(1, 2)
    fused = kernel.board_attention(qkv, bias, 0.25)
    given = torch.randn_like(plain)
    pairs = [(plain, fused), *zip(*(torch.autograd.grad(out, (qkv, bias), given) for out in (plain, fused)))]
    worst = max(worst, *(float((one - other).abs().max()) for one, other in pairs))
print(worst)
"""


PRODUCT = """
import torch
from tabiya.minds.transformer.product_kernel import Tile, product_where_above_zero
torch.manual_seed(0)
left, right, raised = torch.randn(37, 32), torch.randn(32, 48), torch.randn(37, 48).relu()
plain = torch.where(raised > 0, left @ right, 0)
tile = Tile(rows=16, columns=32, inner=16, warps=1, stages=1, each=1)
fused = product_where_above_zero(left, right, raised, tile)
print(float((plain - fused).abs().max()) + float(not plain.any()))
"""


KERNELS = {"attention": KERNEL, "product": PRODUCT}


@pytest.mark.parametrize("program", KERNELS.values(), ids=KERNELS)
def test_the_kernels_give_what_plain_torch_gives(program: str, interpreted: Callable[[str], float]):
    assert interpreted(program) < 1e-5


def test_ways_that_know_no_dynamic_bias_say_so():
    with pytest.raises(UserError, match="knows no dynamic bias"):
        network(bias="dynamic").compute("fused")


def test_a_second_pass_starts_by_confirming_the_first():
    made = Transformer(TransformerShape(**SMALL)).eval()
    seen = tokens(made)
    seen[:, 81:] = torch.tensor([5, 9, 7])
    p = torch.tensor([[0.5, 0.3, 0.1]]).expand(3, 3)
    refined = made(seen, p).refined
    assert torch.allclose(refined.softmax(1), p / p.sum(1, keepdim=True), atol=1e-5)


def test_a_new_wire_carries_nothing_and_a_learned_one_does():
    torch.manual_seed(0)
    made = Transformer(TransformerShape(**SMALL, feedback=VARIANTS["feedback"]["feedback"])).eval()
    plain = Transformer(TransformerShape(**SMALL)).eval()
    plain.load_state_dict({k: v for k, v in made.state_dict().items() if not k.startswith("wires.")})
    seen = tokens(made)
    with torch.no_grad():
        assert torch.allclose(made(seen).policy, plain(seen).policy, atol=1e-5)
        made.wires[0].matrix.weight.normal_()
        assert not torch.allclose(made(seen).policy, plain(seen).policy, atol=1e-3)


def test_a_blanked_row_is_zero_when_the_first_block_sees_it():
    made = network()
    rows = torch.ones(1, 85)
    rows[0, 29] = 0  # e4
    caught = []
    made.blocks[0].register_forward_pre_hook(lambda _module, given: caught.append(given[0]))
    made(tokens(made), rows=rows)
    assert not caught[0][:, 29].any()
    assert bool((caught[0].abs().sum(2) > 0).sum() == 3 * 84)


def test_a_cut_pair_is_not_attended_to_in_the_heads_it_names():
    made = network()
    seen = tokens(made)
    heads = torch.zeros(2, 4)
    heads[1, 2] = 1
    mask = torch.ones(1, 85, 85)
    mask[0, :, 29] = 0  # nobody looks at e4
    caught: dict[int, torch.Tensor] = {}
    for layer, block in enumerate(made.blocks):
        block.attention.gathered.register_forward_hook(
            lambda _m, _i, out, layer=layer: caught.update({layer: out.detach()})
        )
    with torch.no_grad():
        plain = made(seen)
        before = dict(caught)
        made(seen, cut=Cut(mask, heads, torch.tensor(1.0)))
        assert torch.equal(before[0], caught[0])
        assert torch.equal(before[1][:, :, [0, 1, 3]], caught[1][:, :, [0, 1, 3]])
        assert not torch.allclose(before[1][:, :, 2], caught[1][:, :, 2], atol=1e-4)
        assert all(torch.equal(one, other) for one, other in zip(plain, made(seen), strict=True))


def test_blanking_everything_with_and_without_renormalising():
    made = network()
    heads = torch.ones(2, 4)
    mask = torch.zeros(1, 85, 85)
    mask[0, :, 0] = 1  # everyone sees CLS alone
    caught: list[torch.Tensor] = []
    made.blocks[0].attention.gathered.register_forward_hook(lambda _m, _i, out: caught.append(out.detach()))
    for renormalise in (1.0, 0.0):
        made(tokens(made), cut=Cut(mask, heads, torch.tensor(renormalise)))
    # With the weights summing to one, every row gathers the same thing: what CLS has to say.
    assert torch.allclose(caught[0], caught[0][:, :1].expand_as(caught[0]), atol=1e-5)
    assert (caught[1].norm(dim=-1) < caught[0].norm(dim=-1)).all()


@pytest.mark.parametrize("bias", [True, False])
def test_two_layers_as_one_operator_give_the_values_and_gradients_of_both(bias: bool):
    torch.manual_seed(1)
    up, down = torch.nn.Linear(16, 64, bias=bias), torch.nn.Linear(64, 16, bias=bias)
    rows, given = torch.randn(3, 5, 16, requires_grad=True), torch.randn(3, 5, 16)
    inputs = [rows, *up.parameters(), *down.parameters()]
    plain, one = down(torch.relu(up(rows))), feed_forward(rows, up, down)
    assert torch.allclose(plain, one, atol=1e-6)
    for expected, got in zip(
        torch.autograd.grad(plain, inputs, given), torch.autograd.grad(one, inputs, given), strict=True
    ):
        assert bool(expected.any())
        assert torch.allclose(expected, got, atol=1e-5)
