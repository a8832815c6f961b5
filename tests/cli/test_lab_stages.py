"""What an experiment does can be handed to processes side by side: `tabiya lab NAME --jobs N`."""

from __future__ import annotations

import argparse
import pickle
from typing import Any

import pytest

pytest.importorskip("torch")

from tabiya.cli import lab_implicit, lab_nnue, lab_resnet, lab_stages


@pytest.mark.parametrize("face", [lab_implicit, lab_nnue, lab_resnet])
def test_every_labs_stages_reach_another_process(face: Any, monkeypatch: pytest.MonkeyPatch):
    """A lambda among them cost the ResNet's labs three minutes of a GPU: it cannot be sent."""
    handed: list[lab_stages.Stages[Any]] = []

    def keep(_args: object, _plan: object, stages: lab_stages.Stages[Any], **_others: object) -> int:
        handed.append(stages)
        return 0

    # Each face has the function by name or by its module.
    for owner in (lab_stages, face):
        if hasattr(owner, "run_stages"):
            monkeypatch.setattr(owner, "run_stages", keep)
    face.run(argparse.Namespace())
    (stages,) = handed
    assert pickle.loads(pickle.dumps(stages)) == stages
