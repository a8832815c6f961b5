"""What the compiler is told about a network: that it leave a tower of attention's tables as they lie."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from torch._inductor import config  # noqa: E402

from tabiya.minds.resnet.compiled import compiled  # noqa: E402
from tabiya.minds.resnet.network import ResNetShape  # noqa: E402


@pytest.mark.parametrize(
    ("tower", "options"), [("attention", {"layout_optimization": False}), ("convolutions", None)]
)
def test_only_a_tower_of_attention_is_not_laid_out_as_images(tower, options, monkeypatch):
    told = []
    monkeypatch.setattr(torch, "compile", lambda made, **given: told.append(given) or made)
    assert compiled(len, ResNetShape(tower=tower)) is len
    assert told == [{"options": options}]


def test_the_compiler_knows_of_it():
    assert isinstance(config.layout_optimization, bool)
    # An option that it does not know is refused when a function is handed over.
    assert compiled(lambda: 1, ResNetShape(tower="attention")) is not None
    with pytest.raises(RuntimeError, match="layout_optimisation"):
        torch.compile(lambda: 1, options={"layout_optimisation": False})
